"""Weights of many words at once, as products that neither overflow nor underflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.automaton_states import AutomatonStates
from seqray.automata.stepper import Stepper
from seqray.automata.tree import grow
from seqray.automata.words import Words
from seqray.util.arrays import BoolArray, FloatArray, IntArray

BATCH_WORDS = 2**16
"""Words scored at once, so that memory is bounded."""


class WordProducts(NamedTuple):
    """Weights of words: word ``i`` weighs ``products[i] * exp(log_scale[i])``.

    ``wide[i]`` says that a state on its path has coordinates of very different sizes.
    """

    products: FloatArray
    log_scale: FloatArray
    wide: BoolArray


def word_products(forward: Stepper, backward: Stepper, words: Words) -> WordProducts:
    """Return the weights of words as products.

    A word is read from both ends to its middle, (α₀ᵀ M_u) · (M_v α∞): far more words share a half
    than a prefix of full length.

    Parameters
    ----------
    forward, backward
        An automaton and its mirror.
    words
        The words.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("a", [1], [[[0.5]]], [2])
    >>> word_products(wa, wa.mirror, wa.alphabet.words(["", "aa"])).products
    array([2. , 0.5])
    """
    products, log_scale = np.empty(len(words)), np.empty(len(words))
    wide = np.empty(len(words), bool)
    for begin in range(0, len(words), BATCH_WORDS):
        here = slice(begin, begin + BATCH_WORDS)
        some = words[here]
        half = some.lengths // 2
        left = _end_states(forward, some, some.offsets[:-1], half, 1)
        right = _end_states(backward, some, some.offsets[1:] - 1, some.lengths - half, -1)
        products[here] = np.einsum("ij,ij->i", left.vectors, right.vectors)
        log_scale[here] = left.log_scale + right.log_scale
        wide[here] = left.wide | right.wide
    return WordProducts(products, log_scale, wide)


def _end_states(
    stepper: Stepper, words: Words, starts: IntArray, lengths: IntArray, direction: int
) -> AutomatonStates:
    """Return the state that reading part of each word leads to."""
    states: AutomatonStates = stepper.start()
    vectors = np.empty((len(words), states.vectors.shape[1]))
    log_scale, wide = np.empty(len(words)), np.empty(len(words), bool)
    for level in grow(words, starts, lengths, direction=direction, by="symbol"):
        if level.symbols[0] >= 0:  # not at the root
            states = stepper.step(states, level.origins, level.symbols)
        rows = states.rows[level.ended_at]
        vectors[level.ended] = states.vectors.take(rows, axis=0)
        log_scale[level.ended], wide[level.ended] = states.log_scale[rows], states.wide[rows]
    return AutomatonStates(vectors, log_scale, wide, np.arange(len(words)))
