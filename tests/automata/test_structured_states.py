"""Batches of states of a structured automaton."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray import Grouping, StructuredAutomaton
from seqray.automata import structured_states
from seqray.automata.generators import random_structured
from seqray.automata.prediction_states import scaled_states, states_after
from structured_cases import NEAR, random_case, structured_automata


@given(structured_automata(), st.integers(0, 2**32 - 1))
def test_states_are_those_of_the_dense_automaton(wa, seed):
    rng, dense = np.random.default_rng(seed), wa.to_dense()
    mine, other = wa.start(), dense.start()
    n = 1
    for size in (5, 40, 7):
        parents = rng.integers(n, size=size)
        symbols = rng.integers(len(wa.alphabet), size=size)
        n = size
        mine, other = wa.step(mine, parents, symbols), dense.step(other, parents, symbols)
        np.testing.assert_allclose(wa.state_vectors(mine), dense.state_vectors(other), **NEAR)
        np.testing.assert_allclose(wa.state_weights(mine), dense.state_weights(other), **NEAR)
        for one, two in zip(wa.read_states(mine), dense.read_states(other), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


def test_stepping_no_states_gives_none():
    wa = random_case(0)
    none = np.zeros(0, int)
    states = wa.step(wa.start(), none, none)
    assert wa.state_weights(states).shape == (0,)
    assert wa.state_next_symbol(states).shape == (0, len(wa.alphabet) + 1)
    assert wa.state_vectors(states).shape == (0, wa.n_states)


def test_more_pairs_than_sixteen_bits_hold_are_distinguished():
    n_symbols = 300
    grouping = Grouping.by_last_symbol([1] * n_symbols)
    rng = np.random.default_rng(0)
    emission = rng.dirichlet(np.ones(n_symbols + 1), grouping.n_states)
    wa = StructuredAutomaton(range(n_symbols), grouping, [1], emission, np.ones(301))
    words = [[299, 0, 299], [0, 0], [1, 298]]
    expected = [
        emission[0, 299] * emission[300, 0] * emission[1, 299] * emission[300, -1],
        emission[0, 0] * emission[1, 0] * emission[1, -1],
        emission[0, 1] * emission[2, 298] * emission[299, -1],
    ]
    np.testing.assert_allclose(wa.weights(words), expected, rtol=1e-12)


def test_states_after_words_are_those_of_the_dense_automaton():
    wa = random_case(1)
    dense, words = wa.to_dense(), wa.alphabet.words([[0, 0], [], [0]])
    np.testing.assert_allclose(states_after(wa, words), states_after(dense, words), **NEAR)
    vectors, scales = scaled_states(wa, words)
    np.testing.assert_allclose(
        vectors * np.exp(scales)[:, None], states_after(dense, words), **NEAR
    )


def test_large_groups_are_stepped_in_small_batches():
    small = random_structured("ab", 2, seed=0)
    assert small.max_states > 2**20
    n = 2**22
    large = StructuredAutomaton(
        "a", Grouping([[0]], [n]), np.zeros(n), np.zeros((n, 2)), np.zeros(n)
    )
    assert large.max_states == 4


@pytest.mark.parametrize("n_symbols", [1, 7])
def test_steps_of_many_states_are_those_of_each_alone(n_symbols):
    wa = random_structured(range(n_symbols), 9, seed=3, remembering=0.5)
    rng = np.random.default_rng(1)
    first, second = rng.integers(n_symbols, size=(2, 3000))
    states = wa.step(wa.start(), np.zeros(3000, int), first)
    weights = wa.state_weights(wa.step(states, np.arange(3000), second))
    words = np.column_stack([first, second]).tolist()
    np.testing.assert_allclose(weights, wa.to_dense().weights(words), rtol=1e-12)


@pytest.mark.parametrize("remembered", [0, 0.5, 1])
@pytest.mark.parametrize("max_size", [5, 40])
def test_small_matrices_in_one_call_give_what_they_give_one_by_one(
    monkeypatch, remembered, max_size
):
    make = {"remembered": remembered, "max_size": max_size, "n_groups": 30}
    monkeypatch.setattr(structured_states, "MAX_STACKED_SIZE", 40)
    together = random_case(5, **make)
    rng = np.random.default_rng(2)
    words = [
        rng.integers(len(together.alphabet), size=n).tolist() for n in rng.integers(9, size=99)
    ]
    weights, predicted = together.weights(words), together.next_symbol(words)
    monkeypatch.setattr(structured_states, "MAX_STACKED_SIZE", 0)
    single = random_case(5, **make)
    np.testing.assert_allclose(single.weights(words), weights, rtol=1e-12)
    np.testing.assert_allclose(single.next_symbol(words), predicted, rtol=1e-12)
    np.testing.assert_allclose(single.to_dense().weights(words), weights, rtol=1e-12)


def test_runs_of_no_numbers_are_none():
    none = np.zeros(0, int)
    assert structured_states.runs_of(none) == []
    assert len(structured_states.run_begins(none)) == 0
