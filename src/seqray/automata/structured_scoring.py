"""Weights of many words at once by a structured automaton."""

from __future__ import annotations

import numpy as np

from seqray.automata.scoring import WordProducts
from seqray.automata.structured_states import StepTables
from seqray.automata.tree import grow
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray

_BATCH_WORDS = 2**16  # words scored at once, so that memory is bounded


def structured_products(
    tables: StepTables, initial: FloatArray, final: FloatArray, words: Words
) -> WordProducts:
    """Return the weights of words as products.

    Parameters
    ----------
    tables
        What the steps look up.
    initial
        The vector of the start group.
    final
        What is read at the end of a word, one number per state.
    words
        The words.
    """
    products, log_scale = np.empty(len(words)), np.empty(len(words))
    wide = np.empty(len(words), bool)
    for begin in range(0, len(words), _BATCH_WORDS):
        here = slice(begin, begin + _BATCH_WORDS)
        products[here], log_scale[here], wide[here] = _products(tables, initial, final, words[here])
    return WordProducts(products, log_scale, wide)


def _products(
    tables: StepTables, initial: FloatArray, final: FloatArray, words: Words
) -> WordProducts:
    products, log_scale = np.empty(len(words)), np.empty(len(words))
    wide = np.empty(len(words), bool)
    states = tables.start(initial)
    for level in grow(words, words.offsets[:-1], words.lengths, by="symbol"):
        if level.symbols[0] >= 0:  # not at the root
            states = tables.step(states, level.origins, level.symbols)
        rows = states.rows[level.ended_at]
        products[level.ended] = tables.read(states, final[:, None])[rows, 0]
        log_scale[level.ended], wide[level.ended] = states.log_scale[rows], states.wide[rows]
    return WordProducts(products, log_scale, wide)
