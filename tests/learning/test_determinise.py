"""Deterministic approximations, and what they lose."""

import pytest

import seqray
from deterministic_cases import random_pdfa, same_predictions
from seqray import (
    ArgumentError,
    ClassifierAutomaton,
    DeterministicAutomaton,
    WeightedAutomaton,
    determinise,
)
from seqray.automata.generators import random_machine

MIXED = WeightedAutomaton("a", [0.5, 0.5], [[[0.5, 0], [0, 0.25]]], [0.5, 0.75])


def test_a_deterministic_machine_stays_as_it_is():
    machine = random_pdfa(20, 2, 0)
    result = determinise(machine.to_dense(), tolerance=1e-6)
    assert same_predictions(machine, result.automaton)
    assert result.fidelity["kl_per_symbol"] < 1e-9
    assert result.best() is result.automaton
    assert f"for {machine.n_states}" in result.report


def test_a_smaller_tolerance_loses_less():
    machine = random_machine("pfa", 6, 3, seed=3)
    rough, fine = (determinise(machine, tolerance=each) for each in (0.4, 0.2))
    assert rough.automaton.n_states < fine.automaton.n_states
    assert fine.fidelity["kl_per_symbol"] < rough.fidelity["kl_per_symbol"]
    assert "bits per symbol" in repr(fine)


def test_what_was_lost_is_measured_on_given_words():
    result = determinise(MIXED, words=["", "a", "aa"])
    assert result.n_words == 3
    assert result.fidelity.n_words == 3


def test_a_threshold_gives_a_dfa_of_what_weighs_enough():
    result = determinise(MIXED, threshold=0.01)
    words = ["a" * n for n in range(20)]
    assert isinstance(result.automaton, DeterministicAutomaton)
    assert result.automaton.weights(words).tolist() == (MIXED.weights(words) >= 0.01).tolist()
    assert result.agreement == 1
    assert "decides 100 % of 2,000 words alike" in result.report
    assert determinise(MIXED, threshold=0.01, words=words).n_words == 20


def test_what_is_deterministic_is_made_minimal_and_nothing_is_queried(tmp_path):
    even = DeterministicAutomaton("ab", [[1, 0], [2, 1], [3, 2], [0, 3]], [1, 0, 1, 0])
    result = determinise(even)
    assert result.automaton.allclose(even.minimised())
    assert result.report == "2 deterministic states for 4: decides 100 % of 2,000 words alike"
    assert result.learned.n_queries == 0
    assert [*result.learned.access_words] == [(), ("a",)]
    assert determinise(even, threshold=0.5).automaton.allclose(even.minimised())
    thirds = DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [0, 1, 2], "xyz")
    thirds.save(tmp_path / "thirds.json")
    for each in (thirds, tmp_path / "thirds.json"):
        result = determinise(each, words=["", "a", "aa"])
        assert result.automaton.allclose(thirds)
        assert result.agreement == 1


def test_a_deterministic_automaton_with_too_many_states_loses_some():
    long = DeterministicAutomaton("a", [[(n + 1) % 9] for n in range(9)], [1] + [0] * 8)
    result = determinise(long, max_states=3)
    assert result.automaton.n_states <= 3
    assert result.agreement < 1


def test_a_classifier_is_determinised_by_its_decisions():
    swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    outputs = [[0.7, 0.3], [0.2, 0.8]]
    parity = ClassifierAutomaton("ab", [1, 0], [swap, stay], outputs, classes=["even", "odd"])
    result = determinise(parity)
    assert result.automaton.decide(["", "a", "aab"]) == ["even", "odd", "even"]
    assert result.agreement == 1
    low = ClassifierAutomaton(
        "ab", [1, 0], [swap, stay], outputs, classes=["even", "odd"], threshold=0.25
    )
    assert determinise(low).automaton.decide(["", "a"]) == ["odd", "odd"]


def test_an_automaton_with_classes_has_no_threshold_beside():
    thirds = DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [0, 1, 2], "xyz")
    even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    with pytest.raises(ArgumentError, match="none for an automaton with the classes x, y, z, got"):
        determinise(thirds, threshold=0.5)
    with pytest.raises(ArgumentError, match=r"threshold: expected none for .* no, yes, got 1\.5"):
        determinise(even, threshold=1.5)


def test_too_few_states_are_reported():
    result = determinise(random_machine("pfa", 6, 3, seed=3), tolerance=0.001, max_states=5)
    assert "incomplete: there are as many states as there may be" in result.report


def test_an_automaton_that_is_no_distribution_needs_a_threshold():
    with pytest.raises(ArgumentError, match="give a threshold"):
        determinise(seqray.WeightedAutomaton("a", [1], [[[-3]]], [2]))
