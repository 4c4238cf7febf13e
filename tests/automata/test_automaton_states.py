"""Batches of states, stepped together."""

import numpy as np
import pytest

from automata import FIGURE_1, random_automaton
from seqray import WeightedAutomaton
from seqray.automata.automaton_states import max_age


def test_a_dead_state_is_left_alone():
    wa = WeightedAutomaton("ab", [1], [[[0.0]], [[1.0]]], [1])
    assert wa.weights(["a", "ab", "b"]).tolist() == [0, 0, 1]


def test_more_symbols_than_sixteen_bits_hold_are_distinguished():
    n = 2**16 + 3
    wa = WeightedAutomaton(range(n), [1], np.arange(n)[:, None, None], [1])
    words = [(n - 1,), (1,), (2**16,), (2, n - 2), (0,)]
    assert wa.weights(words).tolist() == [n - 1, 1, 2**16, 2 * (n - 2), 0]


@pytest.mark.parametrize("n_symbols", [3, 2**16 + 3])
def test_many_states_stepped_at_once_are_each_stepped_alone(n_symbols):
    rng = np.random.default_rng(0)
    n = 3 if n_symbols > 100 else 40
    transitions = rng.normal(size=(n_symbols, n, n))
    wa = WeightedAutomaton(range(n_symbols), rng.normal(size=n), transitions, rng.normal(size=n))
    first, second = rng.integers(n_symbols, size=(2, 5000))
    first[:2] = second[:2] = 0, n_symbols - 1
    parents = rng.permutation(5000)
    states = wa.step(wa.step(wa.start(), np.zeros(5000, int), first), parents, second)
    forward = (wa.initial @ transitions[first])[parents]
    backward = transitions[second] @ wa.final
    brute = np.einsum("ij,ij->i", forward, backward)
    np.testing.assert_allclose(wa.state_weights(states), brute, rtol=1e-9, atol=1e-9)


def test_stepping_no_states_gives_none():
    wa = FIGURE_1
    none = np.zeros(0, int)
    states = wa.step(wa.start(), none, none)
    assert wa.state_weights(states).shape == (0,)
    assert wa.state_next_symbol(states).shape == (0, 3)


def test_state_vectors_are_the_states_after_each_word():
    wa = random_automaton(2)
    states = wa.step(wa.start(), np.array([0, 0, 0]), np.array([1, 0, 1]))
    expected = [wa.state_after([symbol]) for symbol in (1, 0, 1)]
    np.testing.assert_allclose(wa.state_vectors(states), expected)


def test_weights_at_both_ends_of_what_a_number_can_hold_are_stepped_without_overflow():
    wa = WeightedAutomaton("ab", [1], [[[1e-300]], [[1e300]]], [1])
    states = wa.step(wa.start(), np.zeros(2, int), np.arange(2))
    assert wa.state_weights(states).tolist() == pytest.approx([1e-300, 1e300])
    assert wa.weight("ab" * 50) == pytest.approx(1)


def test_weights_of_a_ratio_beyond_all_numbers_allow_one_step_without_a_warning():
    assert max_age(np.array([[[1e200]], [[1e-200]]])) == 1
    assert max_age(np.array([[[0.5]]])) == 16


def test_a_coordinate_that_one_step_makes_vanish_beside_another_comes_back():
    wa = WeightedAutomaton("ab", [1, 1], [np.diag([1e200, 1e-200]), np.diag([0, 1e200])], [1, 1])
    sign, log = wa.log_weights(["ab", "aab", "a"])
    assert sign.tolist() == [1, 1, 1]
    assert log == pytest.approx([0, -200 * np.log(10), 200 * np.log(10)], abs=1e-9)
