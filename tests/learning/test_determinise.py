"""Deterministic approximations, and what they lose."""

import pytest

import seqray
from deterministic_cases import random_pdfa, same_predictions
from seqray import ArgumentError, DeterministicAutomaton, WeightedAutomaton, determinise
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
    rough, fine = (determinise(machine, tolerance=each) for each in (0.4, 0.1))
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


def test_a_dfa_is_determinised_by_its_numbers():
    even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    assert determinise(even, threshold=0.5).automaton.allclose(even)


def test_too_few_states_are_reported():
    result = determinise(random_machine("pfa", 6, 3, seed=3), tolerance=0.001, max_states=5)
    assert "incomplete: there are as many states as there may be" in result.report


def test_an_automaton_that_is_no_distribution_needs_a_threshold():
    with pytest.raises(ArgumentError, match="give a threshold"):
        determinise(seqray.WeightedAutomaton("a", [1], [[[-3]]], [2]))
