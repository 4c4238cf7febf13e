"""States after words, scaled so that they predict."""

import numpy as np
import pytest

from seqray.automata.generators import random_machine
from seqray.automata.prediction_states import prediction_states, scaled_states, states_after


@pytest.fixture
def pfa():
    return random_machine("pfa", 3, 2, seed=0, symbol_sparsity=1, transition_sparsity=1, stopping=1)


def test_states_are_those_after_each_word(pfa):
    words = pfa.alphabet.words(pfa.sample(5, seed=1).words)
    for word, state in zip(words, states_after(pfa, words), strict=True):
        np.testing.assert_allclose(state, pfa.state_after(word))


def test_scaled_states_are_the_same_however_long_the_word(pfa):
    symbol = pfa.alphabet.symbols[0]
    words = pfa.alphabet.words([[symbol] * 5, [symbol] * 5000])
    vectors, log_scales = scaled_states(pfa, words)
    np.testing.assert_allclose(vectors[0] * np.exp(log_scales[0]), states_after(pfa, words)[0])
    assert np.abs(vectors[1]).max() > 1e-60
    assert log_scales[1] < -300


def test_all_that_follows_a_prediction_state_weighs_1(pfa):
    words = pfa.sample(20, seed=1).words
    states = prediction_states(pfa, states_after(pfa, words))
    np.testing.assert_allclose(states @ pfa.prefix_final, 1)
    follows = (states @ pfa.transitions @ pfa.prefix_final).T
    np.testing.assert_allclose(follows, pfa.next_symbol(words)[:, :-1])


def test_a_state_that_nothing_follows_is_0(pfa):
    np.testing.assert_array_equal(prediction_states(pfa, np.zeros((2, 3))), 0)
