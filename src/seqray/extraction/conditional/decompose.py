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
from seqray.extraction.conditional.every_symbol import Following, StateSpace, every_transition
from seqray.extraction.svd import truncated_svd
from seqray.util.arrays import FloatArray, read_only

MIN_SINGULAR_VALUE = 1e-11
"""Smaller ones, relative to the largest, are rounding where rare symbols are followed."""


def decompose_conditional(
    blocks: ConditionalBlocks, *, max_rank: int = 100, following: Following | None = None
) -> RankedAutomata:
    """Factor conditional blocks into weighted automata of every rank up to ``max_rank``.

    Contexts count as often as they were met. Over the contexts, the coordinates of the states are
    uncorrelated and of size 1. Where rare symbols are frequent together, ``following`` says how
    they are queried; without it they are left out.
    """
    share = blocks.visits / blocks.visits.sum()
    follows_rare = following is not None and blocks.rare_matter
    weighted = np.sqrt(share)[:, None] * blocks.features[blocks.contexts]
    _, sizes, right = truncated_svd(weighted, max_rank, seed=np.random.default_rng(0))
    if follows_rare:
        right = right[: (sizes > MIN_SINGULAR_VALUE * sizes[0]).sum()]
        sizes = sizes[: len(right)]
    space = StateSpace.of(blocks, right.T / sizes)
    if following is not None and follows_rare:
        transitions = every_transition(space, following)
    else:
        transitions = _frequent_transitions(space)
    n_symbols, before = len(blocks.rows.alphabet), space.before
    prefix_final = before.sum(axis=0)
    start = space.of_contexts[0]
    final, elsewhere = np.zeros(len(sizes)), None
    if blocks.leaks:  # `ending` counts what goes elsewhere
        transitions *= blocks.max_stay
        final, elsewhere = blocks.max_stay * (before.T @ blocks.probabilities[:, n_symbols]), final
    open_end = WeightedAutomaton(blocks.rows.alphabet, start, transitions, final, elsewhere)
    largest = ending(open_end, prefix_final)
    return RankedAutomata(largest, read_only(prefix_final), singular_values=read_only(sizes))


def _frequent_transitions(space: StateSpace) -> FloatArray:
    """Return the matrix of every symbol, with 0 for what is rare."""
    blocks, n_states = space.blocks, space.states.shape[1]
    transitions = np.empty((len(blocks.rows.alphabet), n_states, n_states))
    for symbol, matrix in enumerate(transitions):
        child = blocks.children[:, symbol]
        frequent = child >= 0
        after = blocks.probabilities[frequent, symbol, None] * space.states[child[frequent]]
        matrix[:] = space.before[frequent].T @ after
    return transitions
