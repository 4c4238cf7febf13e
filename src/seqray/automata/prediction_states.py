"""Prediction states: the states of an automaton after words, each scaled so that it predicts.

The state after a word, α₀M_w, shrinks with the word's probability. Divided by its prefix weight,
α₀M_w·α̃∞, it holds only what the word says about what follows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import read_each
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray


class ScaledStates(NamedTuple):
    """States that are ``vectors * exp(log_scales)``: no word is too long for them."""

    vectors: FloatArray  # (n_words, n_states)
    log_scales: FloatArray  # (n_words,)


def states_after(a: WeightedAutomaton, words: Words) -> FloatArray:
    """Return the state after each word, shape ``(n_words, n_states)``.

    >>> wa = WeightedAutomaton("a", [1], [[[0.5]]], [2])
    >>> states_after(wa, wa.alphabet.words(["", "aa"]))
    array([[1.  ],
           [0.25]])
    """
    return read_each(a, words, a.state_vectors)


def scaled_states(a: WeightedAutomaton, words: Words) -> ScaledStates:
    """Return the state after each word, as a vector and the logarithm of its scale.

    >>> wa = WeightedAutomaton("a", [1], [[[0.5]]], [2])
    >>> scaled_states(wa, wa.alphabet.words(["", "aa"])).vectors
    array([[1.  ],
           [0.25]])
    """
    read = read_each(a, words, lambda states: np.column_stack(a.split_states(states)))
    return ScaledStates(read[:, :-1], read[:, -1])


def prediction_states(a: WeightedAutomaton, vectors: FloatArray) -> FloatArray:
    """Divide states by their prefix weights, shape ``(n, n_states)``; where that is 0, return 0.

    >>> wa = WeightedAutomaton("a", [1], [[[0.5]]], [0.25])
    >>> prediction_states(wa, np.array([[0.125], [0.0]]))
    array([[2.],
           [0.]])
    """
    total = (vectors @ a.prefix_final)[:, None]
    return np.asarray(np.divide(vectors, total, out=np.zeros_like(vectors), where=total != 0))
