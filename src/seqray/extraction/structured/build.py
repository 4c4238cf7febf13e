"""The structured automaton of a fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.grouping import Grouping, PairMatrices
from seqray.automata.ranks import MIN_ENDING
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Alphabet
from seqray.extraction.conditional.gradient import softmax
from seqray.extraction.structured.gradient import FitNumbers
from seqray.extraction.structured.layout import FitLayout
from seqray.extraction.structured.positions import classes_of
from seqray.util.arrays import FloatArray, IntArray


class _Places(NamedTuple):
    """The groups that words can lead to: their contexts and positions, and what follows them."""

    contexts: IntArray
    positions: IntArray
    next_group: IntArray


def to_automaton(
    alphabet: Alphabet, layout: FitLayout, logarithms: FitNumbers
) -> StructuredAutomaton:
    """Return the automaton of the probabilities of a fit; every state ends with some probability.

    A group is a context, or where there are position classes a context at a position.
    """
    places = _places(layout)
    sizes = layout.sizes[places.contexts]
    classes = classes_of(places.positions, layout.position_begins)
    groups = classes * len(layout.contexts) + places.contexts
    begins = layout.group_offsets[groups]
    rows = np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    emission = _ending(softmax(logarithms.emission.astype(np.float64)), layout.n_symbols)
    entry = softmax(logarithms.entry.astype(np.float64))[places.contexts]
    columns = emission[rows]
    return StructuredAutomaton(
        alphabet,
        Grouping(places.next_group, sizes, 0),
        softmax(logarithms.begin.astype(np.float64)),
        columns[:, : layout.n_symbols + 1],
        entry[layout.has_state[places.contexts]],
        _matrices(layout, places, groups, emission, logarithms.moves),
        columns[:, -1] if layout.n_outcomes > layout.n_symbols + 1 else None,
    )


def _places(layout: FitLayout) -> _Places:
    """Walk from the beginning of a word through all contexts and positions."""
    last = int(layout.position_begins[-1]) if layout.n_classes > 1 else 0
    table, n_contexts = layout.contexts.next_context, len(layout.contexts)
    number = np.full((last + 1) * n_contexts, -1)
    number[layout.contexts.start] = 0
    reached = np.array([layout.contexts.start])
    fresh = reached
    while len(fresh):
        positions, contexts = np.divmod(fresh, n_contexts)
        after = np.minimum(positions + 1, last)[:, None] * n_contexts + table[contexts]
        fresh = np.unique(after)
        fresh = fresh[number[fresh] < 0]
        number[fresh] = len(reached) + np.arange(len(fresh))
        reached = np.concatenate([reached, fresh])
    positions, contexts = np.divmod(reached, n_contexts)
    after = np.minimum(positions + 1, last)[:, None] * n_contexts + table[contexts]
    return _Places(contexts, positions, number[after])


def _ending(emission: FloatArray, end: int) -> FloatArray:
    """Give every state some probability to end."""
    emission[:, end] = np.maximum(emission[:, end], MIN_ENDING)
    return np.asarray(emission / emission.sum(axis=1, keepdims=True))


def _matrices(
    layout: FitLayout, places: _Places, groups: IntArray, emission: FloatArray, moves: FloatArray
) -> PairMatrices:
    """Return the matrices of the remembering transitions; groups at several positions share them.

    A matrix is the emission of its symbol, row by row, times the moves, given by logarithms.
    """
    pairs = layout.pair_of[places.contexts]
    origins, symbols = np.nonzero(pairs >= 0)
    keys = groups[origins] * len(layout.pairs) + pairs[origins, symbols]
    distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)  # pair by pair, so that matrices that nobody shares need no number
    flat = []
    for key in distinct[order].tolist():
        group, pair = divmod(key, len(layout.pairs))
        rows = layout.rows_of(group)
        matrix = softmax(layout.matrix(moves, pair).astype(np.float64))
        flat.append((emission[rows, layout.pairs[pair, 1], None] * matrix).ravel())
    values = np.concatenate(flat) if flat else np.empty(0)
    return PairMatrices(origins, symbols, values, np.argsort(order)[which])
