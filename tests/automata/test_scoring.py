"""Weights of many words at once, however long."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FIGURE_1, random_automaton, short_words
from seqray import WeightedAutomaton


def brute_weight(automaton, word):
    state = automaton.initial
    for symbol in word:
        state = state @ automaton.transitions[automaton.alphabet.codes[symbol]]
    return state @ automaton.final


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=30)
def test_a_batch_gives_what_each_word_gives_alone(seed, n_states, n_symbols):
    wa = random_automaton(seed, n_states, n_symbols, size=1.5)
    words = short_words(wa, 4)[::-1]
    brute = [brute_weight(wa, word) for word in words]
    np.testing.assert_allclose(wa.weights(words), brute, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose([wa.weight(word) for word in words[:20]], brute[:20], atol=1e-13)
    sign, log = wa.log_weights(words)
    np.testing.assert_allclose(sign * np.exp(log), brute, rtol=1e-9, atol=1e-13)
    for word in words[:5]:
        np.testing.assert_allclose(wa.state_after(word) @ wa.final, brute_weight(wa, word))


def test_no_words_have_no_weights():
    wa = FIGURE_1
    assert wa.weights([]).shape == (0,)
    assert wa.next_symbol([]).shape == (0, 3)
    assert [part.shape for part in wa.log_weights([])] == [(0,), (0,)]


@pytest.mark.parametrize("weight", [0.01, -100.0])
def test_logarithms_of_very_long_words_neither_underflow_nor_overflow(weight):
    wa = WeightedAutomaton("ab", [1, 0], [weight * np.eye(2), np.eye(2)[::-1]], [2, -3])
    words = ["a" * 9999, "a" * 9999 + "b", "a" * 10_000]
    sign, log = wa.log_weights(words)
    lengths = np.array([9999, 9999, 10_000])
    np.testing.assert_allclose(log, np.log([2, 3, 2]) + np.log(abs(weight)) * lengths)
    assert sign.tolist() == [np.sign(weight), -np.sign(weight), 1]
    large = abs(weight) > 1
    expected = [math.inf * s if large else 0 for s in sign]
    np.testing.assert_array_equal(wa.weights(words), expected)


def test_a_weight_of_zero_stays_zero_however_large_the_state():
    wa = WeightedAutomaton("a", [1, 0], [100.0 * np.eye(2)], [0, 1])
    assert wa.weight("a" * 10_000) == 0
    sign, log = wa.log_weights(["a" * 10_000])
    assert (sign[0], log[0]) == (0, -math.inf)


def test_a_weight_within_range_is_found_where_the_state_is_not():
    wa = WeightedAutomaton("a", [1], [[[1e10]]], [1e-300])
    assert wa.weight("a" * 40) == pytest.approx(1e100)
    assert wa.weight("a" * 5) == pytest.approx(1e-250)
