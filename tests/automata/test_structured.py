"""Structured automata: each answer is that of the dense automaton."""

import numpy as np
from hypothesis import given

from automata import short_words
from seqray import WeightedAutomaton
from structured_cases import structured_automata

NEAR = {"rtol": 1e-12, "atol": 1e-12}


@given(structured_automata())
def test_words_have_the_weights_of_the_dense_automaton(wa):
    dense, words = wa.to_dense(), short_words(wa, 4)
    assert type(dense) is WeightedAutomaton
    np.testing.assert_allclose(wa.weights(words), dense.weights(words), **NEAR)
    for mine, other in zip(wa.log_weights(words), dense.log_weights(words), strict=True):
        np.testing.assert_allclose(mine, other, **NEAR)
    np.testing.assert_allclose(wa.prefix_final, dense.prefix_final, **NEAR)
    np.testing.assert_allclose(wa.prefix_weights(words), dense.prefix_weights(words), **NEAR)
    np.testing.assert_allclose(wa.next_symbol(words), dense.next_symbol(words), **NEAR)


@given(structured_automata())
def test_facts_are_those_of_the_dense_automaton(wa):
    dense = wa.to_dense()
    np.testing.assert_allclose(wa.initial, dense.initial, **NEAR)
    np.testing.assert_allclose(wa.final, dense.final, **NEAR)
    np.testing.assert_allclose(wa.total, dense.total, **NEAR)
    np.testing.assert_allclose(wa.spectral_radius, dense.spectral_radius, **NEAR)
    assert wa.n_states == dense.n_states
    assert wa.is_distribution == dense.is_distribution
    assert wa.is_nonnegative == dense.is_nonnegative
    assert wa.edges() == dense.edges()
    assert wa.edges(0.1) == dense.edges(0.1)
    for word in short_words(wa, 2):
        np.testing.assert_allclose(wa.state_after(word), dense.state_after(word), **NEAR)
