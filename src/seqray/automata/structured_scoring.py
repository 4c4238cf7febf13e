"""Weights of many words at once by a structured automaton.

Words are read forwards along their prefix tree. To read them from both ends, as `word_products`
does, saves few products here: a suffix is shared only by words that come to it in the same group.
"""

from __future__ import annotations

import numpy as np

from seqray.automata.scoring import BATCH_WORDS, WordProducts
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.tree import grow
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray


def structured_products(
    steps: StructuredSteps, initial: FloatArray, final: FloatArray, words: Words
) -> WordProducts:
    """Return the weights of words as products.

    Parameters
    ----------
    steps
        The steps of the automaton.
    initial
        The vector of the start group.
    final
        What is read at the end of a word, one number per state.
    words
        The words.
    """
    products, log_scale = np.empty(len(words)), np.empty(len(words))
    wide = np.empty(len(words), bool)
    n_together = min(BATCH_WORDS, steps.max_states)
    for begin in range(0, len(words), n_together):
        here = slice(begin, begin + n_together)
        some, states = words[here], steps.start(initial)
        for level in grow(some, some.offsets[:-1], some.lengths, by="symbol"):
            if level.symbols[0] >= 0:  # not at the root
                states = steps.step(states, level.origins, level.symbols)
            rows, ended = states.rows.take(level.ended_at), begin + level.ended
            products[ended] = steps.read_rows(states, rows, final)
            log_scale[ended], wide[ended] = states.log_scale.take(rows), states.wide.take(rows)
    return WordProducts(products, log_scale, wide)
