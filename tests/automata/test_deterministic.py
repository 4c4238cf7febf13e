"""Deterministic automata: decisions, minimal ones, separating words, files."""

import numpy as np
import pytest

import seqray
from deterministic_cases import all_words
from seqray import ArgumentError, DeterministicAutomaton, WeightedAutomaton, separating_word
from seqray.automata.deterministic import (
    breadth_first,
    deterministic_pfa,
    groups_after,
    is_deterministic,
)

EVEN = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
THIRDS = DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [0, 1, 2], ["x", "y", "z"])


def random_dfa(seed, n_states=8, n_outputs=2):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, n_states, (n_states, 2))
    names = [f"c{i}" for i in range(n_outputs)]
    return DeterministicAutomaton("ab", table, rng.integers(0, n_outputs, n_states), names, 3)


def test_words_are_decided_by_the_state_that_they_lead_to():
    assert THIRDS.decide(["", "a", "baab", "aaa"]) == ["x", "y", "z", "x"]
    assert THIRDS.states(["", "a", "baab"]).tolist() == [0, 1, 2]
    assert THIRDS.weights(["a", "aa"]).tolist() == [1, 2]
    assert THIRDS.scores(["aa"]).tolist() == [[0, 0, 1]]
    assert THIRDS.classes == ("x", "y", "z")


def test_it_computes_the_same_function_as_its_weighted_automaton():
    words = all_words("ab", 6)
    for seed in range(5):
        dfa = random_dfa(seed, n_outputs=3)
        assert dfa.to_weighted().weights(words).tolist() == dfa.weights(words).tolist()
        assert dfa.to_weighted().to_dense().weights(words) == pytest.approx(dfa.weights(words))
        one = dfa.to_weighted("c1").weights(words)
        assert one.tolist() == [float(name == "c1") for name in dfa.decide(words)]


def test_it_is_a_box_of_numbers_that_does_not_predict():
    assert isinstance(EVEN, seqray.BlackBox)
    assert seqray.compare(EVEN, EVEN.to_weighted(), all_words("ab", 4))["relative_error"] == 0


def test_an_unknown_output_is_refused():
    with pytest.raises(ArgumentError, match="expected one of no, yes, got 'maybe'"):
        EVEN.to_weighted("maybe")


@pytest.mark.parametrize("seed", range(10))
def test_the_minimal_automaton_has_one_state_for_each_behaviour(seed):
    dfa = random_dfa(seed)
    minimal, words = dfa.minimised(), all_words("ab", 7)
    assert minimal.decide(words) == dfa.decide(words)
    # By definition: states differ if some word leads to different outputs.
    behaviours = {
        tuple(dfa.decide([access + word for word in words])) for access in all_words("ab", 7)
    }
    assert minimal.n_states == len(behaviours)


@pytest.mark.parametrize("seed", range(10))
def test_minimal_automata_of_the_same_decisions_are_equal(seed):
    dfa = random_dfa(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(dfa.n_states)
    place = np.argsort(order)
    shuffled = DeterministicAutomaton(
        "ab",
        place[dfa.next_state[order]],
        dfa.outputs[order],
        dfa.output_names,
        int(place[dfa.start_state]),
    )
    assert shuffled.minimised().allclose(dfa.minimised())
    assert separating_word(shuffled, dfa) is None


@pytest.mark.parametrize("seed", range(10))
def test_a_separating_word_is_a_shortest_one(seed):
    a, b = random_dfa(seed), random_dfa(seed + 100)
    words = all_words("ab", 8)
    differing = [
        w for w, x, y in zip(words, a.decide(words), b.decide(words), strict=True) if x != y
    ]
    word = separating_word(a, b)
    assert word is not None
    assert a.decide([word]) != b.decide([word])
    assert len(word) == len(differing[0])


def test_automata_over_different_symbols_are_not_compared():
    with pytest.raises(ArgumentError, match="expected the same symbols"):
        separating_word(EVEN, DeterministicAutomaton("ba", [[0, 0]], [1]))


def test_states_come_in_the_order_of_short_words():
    assert breadth_first(np.array([[2, 1], [1, 1], [0, 1]]), 0).tolist() == [0, 2, 1]
    assert THIRDS.minimised().next_state.tolist() == [[1, 0], [2, 1], [0, 2]]


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_files_keep_outputs_and_names(tmp_path, suffix):
    path = tmp_path / f"thirds{suffix}"
    THIRDS.save(path)
    again = WeightedAutomaton.load(path)
    assert isinstance(again, DeterministicAutomaton)
    assert again.allclose(THIRDS)
    assert again.output_names == ("x", "y", "z")
    assert seqray.open_black_box(path).weights(["a"]).tolist() == [1]


def test_npz_content_comes_back():
    again = WeightedAutomaton.from_npz(EVEN.to_npz())
    assert again.allclose(EVEN)


def test_it_is_close_to_what_has_the_same_numbers():
    other = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0], ["x", "y"])
    assert not EVEN.allclose(other)
    assert EVEN.allclose(EVEN.to_weighted())
    assert EVEN.allclose(EVEN.to_weighted().to_dense())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0]], [0, 1]), "outputs: expected one for each of 1 states, got 2"),
        (([[0]], [2]), "outputs: expected 0 … 1, got 2"),
        (([[1]], [0]), "next_group: expected 0 … 0, got 1"),
        (([[0]], [0], ["x", "x"]), "expected different names"),
    ],
)
def test_wrong_tables_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        DeterministicAutomaton("a", *arguments)


def test_a_pdfa_is_a_deterministic_structured_automaton():
    pdfa = deterministic_pfa("ab", [[0, 1], [1, 0]], [[0.5, 0.25, 0.25], [0, 0.5, 0.25]])
    assert is_deterministic(pdfa)
    assert pdfa.elsewhere.tolist() == [0, 0.25]
    assert pdfa.next_symbol(["b"]).tolist() == [[0, 0.5, 0.25]]
    assert not is_deterministic(pdfa.to_dense())
    assert groups_after(pdfa, pdfa.alphabet.words(["", "b", "bab"])).tolist() == [0, 1, 0]
    assert is_deterministic(EVEN)


def test_as_a_classifier_it_decides_the_same():
    thirds = DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [2, 0, 1], ["x", "y", "z"])
    words = ["", "a", "ab", "aba", "aaab"]
    assert thirds.to_classifier().classify(words) == thirds.decide(words)


def test_with_one_output_only_it_can_be_drawn_and_explained():
    one = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [0, 0], ["x"])
    assert one.to_classifier().classes == ("x", "not x")
    assert one.to_classifier().classify(["", "a"]) == ["x", "x"]
    assert "<svg" in seqray.to_svg(one)
