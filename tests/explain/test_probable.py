from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FIGURE_1
from large_alphabets import zipf_machine
from memory import peak_bytes
from seqray import WeightedAutomaton
from seqray.automata.algebra import change_basis, scale
from seqray.automata.generators import random_automaton, random_machine
from seqray.explain.probable import (
    MAX_GROWN_LENGTH,
    MAX_PREFIX_LENGTH,
    N_SHORT_WORDS,
    grown_prefixes,
    heaviest_words,
    spanning_prefixes,
    sums,
)
from seqray.util.errors import ArgumentError


def short_words(alphabet, length):
    return alphabet.words([w for n in range(length + 1) for w in product(alphabet, repeat=n)])


@settings(max_examples=40)
@given(st.sampled_from(["dpfa", "pfa", "hmm"]), st.integers(0, 999))
def test_the_heaviest_words_are_found(kind, seed):
    machine = random_machine(
        kind, 4, 3, seed=np.random.default_rng(seed), stopping=1, stop_probabilities=(0.3, 0.5)
    )
    found = heaviest_words(machine, 5)
    assert found.exact
    np.testing.assert_allclose(found.weights, machine.weights(found.words))
    every = np.sort(machine.weights(short_words(machine.alphabet, 6)))[::-1]
    assert (found.weights >= every[:5] - 1e-15).all()
    assert len(found.words.unique()[0]) == 5


def test_a_search_that_ends_early_says_so():
    machine = random_machine("pfa", 4, 3, seed=np.random.default_rng(0))
    found = heaviest_words(machine, 1000, effort=1)
    assert not found.exact
    assert repr(found).endswith("; others may be heavier)")


def test_words_of_weight_0_are_none():
    only = WeightedAutomaton("ab", [1, 0], [[[0, 1], [0, 0]], [[0, 0], [0, 0]]], [0, 1])
    assert [*heaviest_words(only, 5).words] == [("a",)]
    assert len(heaviest_words(scale(only, 0.0)).words) == 0


def test_negative_weights_leave_it_open_whether_others_are_heavier():
    hidden = change_basis(FIGURE_1, [[1, 2], [1, -1]])
    one, other = heaviest_words(FIGURE_1, 5), heaviest_words(hidden, 5)
    assert [*one.words] == [*other.words]
    assert one.exact
    assert not other.exact
    assert not heaviest_words(FIGURE_1, 5, initial=[1, -0.5]).exact


@settings(max_examples=30)
@given(st.integers(0, 999), st.floats(0.3, 0.6))
def test_where_squares_sum_the_largest_words_of_any_sign_are_found(seed, size):
    wa = random_automaton(3, 2, seed=np.random.default_rng(seed))
    wa = WeightedAutomaton("ab", wa.initial, wa.transitions * size, wa.final)
    words = short_words(wa.alphabet, 9)
    weights = wa.weights(words)
    found = heaviest_words(wa, 5)
    if sums(wa) or not found.exact:
        return
    assert found.weights == pytest.approx(wa.weights(found.words), rel=1e-12)
    every = np.sort(np.abs(weights))[::-1]
    assert (np.abs(found.weights) >= every[:5] * (1 - 1e-9)).all()
    short = found.words.lengths <= 9
    assert set(np.abs(found.weights)[short].round(12)) <= set(every.round(12))


def test_a_word_that_is_not_short_is_found_by_its_size():
    chain = np.zeros((2, 14, 14))  # only "a" thirteen times, with a weight below 0
    chain[0, np.arange(13), np.arange(1, 14)] = -1.1
    wa = WeightedAutomaton("ab", np.eye(14)[0], chain, np.eye(14)[13])
    found = heaviest_words(wa, 3)
    assert not sums(wa)
    assert [*found.words] == [("a",) * 13]
    assert found.weights[0] == pytest.approx(-(1.1**13))
    assert found.exact


def test_where_weights_grow_short_words_of_any_sign_are_found():
    wa = random_automaton(3, 2, seed=np.random.default_rng(3))
    wa = WeightedAutomaton("ab", wa.initial, wa.transitions * 4, wa.final)
    assert not sums(wa)
    found = heaviest_words(wa, 3)
    weights = wa.weights(grown_prefixes(wa, N_SHORT_WORDS))
    assert np.abs(found.weights).tolist() == np.sort(np.abs(weights))[::-1][:3].tolist()
    assert not found.exact


def test_numbers_are_checked():
    for name in ("n_words", "effort"):
        with pytest.raises(ArgumentError, match=f"{name}: expected a whole number from 1"):
            heaviest_words(FIGURE_1, **{name: 0})
    with pytest.raises(ArgumentError, match="initial: expected shape"):
        heaviest_words(FIGURE_1, initial=[1])


def test_grown_prefixes_are_the_most_probable_ones():
    machine = random_machine("pfa", 4, 3, seed=np.random.default_rng(0))
    grown = grown_prefixes(machine, 60)
    assert len(grown) == len(grown.unique()[0]) == 60
    found = {*grown}
    every = short_words(machine.alphabet, 7)
    order = np.argsort(-machine.prefix_weights(every), kind="stable")
    assert {every[i] for i in order[:30]} <= found
    assert {*short_words(machine.alphabet, 2)} <= found


def test_grown_prefixes_are_the_shortest_where_weights_do_not_sum():
    wa = random_automaton(3, 2, seed=np.random.default_rng(3))
    assert grown_prefixes(wa, 31) == short_words(wa.alphabet, 4)
    assert len(grown_prefixes(wa, 33)) == 33
    assert len(grown_prefixes(wa, 1)) == 1


def test_prefixes_do_not_run_away():
    # All words sum to 1, but a prefix of b is heavier the longer it is.
    wa = WeightedAutomaton("ab", [1, 0], [[[0, 0], [0, 0]], [[2, 0], [0, 0]]], [-1, 0])
    assert wa.total == 1
    assert grown_prefixes(wa, 100).lengths.max() <= MAX_PREFIX_LENGTH


def test_prefixes_over_one_symbol_stay_short_enough_to_look_at():
    flips = WeightedAutomaton("a", [1], [[[-1]]], [1])
    assert grown_prefixes(flips, N_SHORT_WORDS).lengths.max() == MAX_GROWN_LENGTH


def test_few_words_are_all_there_is():
    only = WeightedAutomaton("a", [1, 0], [[[0, 1], [0, 0]]], [0, 1])
    assert [*grown_prefixes(only, 2)] == [(), ("a",)]


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 99))
def test_spanning_prefixes_span_what_all_words_reach(n_states, n_symbols, seed):
    wa = random_automaton(n_states, n_symbols, seed=np.random.default_rng(seed))
    found = spanning_prefixes(wa)
    states = np.array([wa.state_after(word) for word in short_words(wa.alphabet, 6)])
    chosen = np.array([wa.state_after(word) for word in found])
    rank = np.linalg.matrix_rank(states / np.linalg.norm(states, axis=1, keepdims=True), 1e-9)
    assert len(found) == np.linalg.matrix_rank(chosen) >= rank
    assert all(word[:-1] in {*found} for word in found)


def test_nothing_spans_nothing():
    assert len(spanning_prefixes(WeightedAutomaton("a", [0], [[[1]]], [1]))) == 0


def test_searches_over_thousands_of_symbols_store_only_what_can_matter():
    machine = zipf_machine()
    assert peak_bytes(lambda: grown_prefixes(machine, 600)) < 20e6
    assert peak_bytes(lambda: heaviest_words(machine, 30)) < 250e6


def test_the_most_probable_prefixes_of_thousands_of_symbols_are_found():
    machine = zipf_machine()
    prefixes = grown_prefixes(machine, 600)
    short = machine.alphabet.words(
        [(), *product(range(40), repeat=1), *product(range(40), repeat=2)]
    )
    totals = WeightedAutomaton(
        machine.alphabet, machine.initial, machine.transitions, machine.prefix_final
    )
    found = set(prefixes)
    least = totals.weights(prefixes).min()
    assert all(
        word in found
        for word, total in zip(short, totals.weights(short), strict=True)
        if total > least
    )


def test_a_search_with_little_effort_over_thousands_of_symbols_is_not_exact(monkeypatch):
    machine = zipf_machine(500)
    exact = heaviest_words(machine, 30)
    assert exact.exact
    monkeypatch.setattr("seqray.explain.probable.MAX_SEARCHED_NUMBERS", 3000)
    rough = heaviest_words(machine, 30)
    assert not rough.exact
    assert (rough.weights <= exact.weights).all()


def test_short_words_over_thousands_of_symbols_are_not_all_listed():
    growing = WeightedAutomaton(range(3000), [1], np.full((3000, 1, 1), 2.0), [1])
    assert len(grown_prefixes(growing, N_SHORT_WORDS)) == N_SHORT_WORDS
