"""Weighted automata of every rank from conditional blocks.

They come from an SVD, as from Hankel blocks, with one difference: states are scaled so that
state(u)·1̂ = 1 for one vector 1̂. The weight of all that can follow a state is then known without a
sum over all words, and the end is what no symbol takes: α∞ = (I − ΣMσ) 1̂. Of a box that leaks,
(I − ΣMσ) 1̂ − α∞ goes elsewhere.
"""

from __future__ import annotations

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata, ending
from seqray.extraction.conditional.blocks import ConditionalBlocks
from seqray.extraction.svd import truncated_svd
from seqray.util.arrays import read_only


def decompose_conditional(blocks: ConditionalBlocks, *, max_rank: int = 100) -> RankedAutomata:
    """Factor conditional blocks into weighted automata of every rank up to ``max_rank``.

    Contexts count as often as they were met. Over the contexts, the coordinates of the states are
    uncorrelated and of size 1.
    """
    share = blocks.visits / blocks.visits.sum()
    features = blocks.features
    weighted = np.sqrt(share)[:, None] * features[blocks.contexts]
    _, sizes, right = truncated_svd(weighted, max_rank, seed=np.random.default_rng(0))
    states = features @ (right.T / sizes)
    n_symbols = len(blocks.rows.alphabet)
    transitions = np.empty((n_symbols, len(sizes), len(sizes)))
    before = share[:, None] * states[blocks.contexts]
    for symbol in range(n_symbols):
        child = blocks.children[:, symbol]
        frequent = child >= 0
        after = blocks.probabilities[frequent, symbol, None] * states[child[frequent]]
        transitions[symbol] = before[frequent].T @ after
    prefix_final = before.sum(axis=0)
    start = states[blocks.contexts[0]]
    final, elsewhere = np.zeros(len(sizes)), None
    if blocks.leaks:  # `ending` counts what goes elsewhere
        transitions *= blocks.max_stay
        final, elsewhere = blocks.max_stay * (before.T @ blocks.probabilities[:, n_symbols]), final
    open_end = WeightedAutomaton(blocks.rows.alphabet, start, transitions, final, elsewhere)
    largest = ending(open_end, prefix_final)
    return RankedAutomata(largest, read_only(prefix_final), singular_values=read_only(sizes))
