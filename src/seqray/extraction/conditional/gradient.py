"""The gradient of a fit: of the cross-entropy between the box and a probabilistic automaton."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqray.automata.probabilities import with_elsewhere
from seqray.automata.tree_batches import Corpus, TreeBatch
from seqray.fidelity.reference import Reference
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.row_sums import summing_matrix

if TYPE_CHECKING:
    from scipy.sparse import csc_array

MIN_READ_PROBABILITY, MAX_SLOPE = 1e-12, 1e6
"""No probability counts as less, and no derivative as more: both are for float32."""

IMPOSSIBLE_PROBABILITY = 1e-9
"""A symbol of a data set with at most this probability counts as impossible: it is not learnt."""

LogParameters = tuple[FloatArray, FloatArray]
"""Logarithms: of how a word begins, ``(n_states,)``; of what comes next, ``(n_states, n_symbols ×
n_states + 1)``, with each symbol and into each state, and then the end; of a box that leaks there
is one more column, elsewhere, which leads nowhere."""


class BatchLevel(NamedTuple):
    """The nodes of one level of a batch's tree, below the root, sorted by symbol."""

    nodes: slice
    parents: IntArray
    above: slice  # the nodes of the level above
    runs: Sequence[tuple[int, int, int]]  # each symbol and its nodes, counted from the first
    over_children: csc_array  # sums what the nodes have over the children of each node above


class FitBatch(NamedTuple):
    """A batch: the levels of its tree, and how often what comes next, ``(n_nodes, …)``."""

    levels: Sequence[BatchLevel]
    steps: Sequence[tuple[int, IntArray, IntArray]]  # each symbol, its children and their parents
    follows: FloatArray


def fit_batches(
    reference: Reference,
    n_words: int,
    batch_size: int,
    rng: np.random.Generator,
    *,
    max_stay: float | None = None,
) -> list[FitBatch]:
    """Cut the first words into batches, each a tree with what the box predicts.

    ``max_stay`` is that of the conditional blocks where the box leaks.
    """
    assert reference.next_symbol is not None
    corpus = Corpus(reference.words)
    possible = reachable(reference)
    order = rng.permutation(min(n_words, len(corpus)))
    batches = []
    size = min(batch_size, max(32, len(order) // 8))
    for begin in range(0, len(order), size):
        batch = corpus.batch(order[begin : begin + size])
        visits = batch.visits * possible[batch.nodes]
        follows = reference.next_symbol[:, batch.nodes].T
        if max_stay is not None:
            follows = with_elsewhere(follows / max_stay)
        follows = follows * (visits / batch.n_letters)[:, None]
        batches.append(_fit_batch(batch, follows.astype(np.float32)))
    return batches


def reachable(reference: Reference) -> BoolArray:
    """Return which nodes the box says are possible; nothing is learnt after the others."""
    assert reference.next_symbol is not None
    tree = reference.tree
    probability = reference.next_symbol[tree.symbol, tree.parent]
    possible = probability > IMPOSSIBLE_PROBABILITY
    possible[0] = True
    for start, stop in pairwise(tree.levels[1:].tolist()):
        possible[start:stop] &= possible[tree.parent[start:stop]]
    return possible


def _fit_batch(batch: TreeBatch, follows: FloatArray) -> FitBatch:
    """Sort the nodes of each level by symbol, so that one product reads a slice of them."""
    depth = np.repeat(np.arange(len(batch.sizes)), batch.sizes)
    order = np.lexsort((batch.symbols, depth))
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(len(order))
    parents, symbols = place[batch.parents[order]], batch.symbols[order]
    ends = [0, *np.cumsum(batch.sizes).tolist()]
    slices = pairwise([slice(*each) for each in pairwise(ends)])
    levels = [_level(above, here, parents, symbols) for above, here in slices]
    steps = []
    for symbol in range(batch.n_columns - 1):
        children = np.flatnonzero(symbols == symbol)
        steps.append((symbol, children, parents[children]))
    return FitBatch(levels, steps, follows[order])


def _level(above: slice, nodes: slice, parents: IntArray, symbols: IntArray) -> BatchLevel:
    parents, symbols = parents[nodes], symbols[nodes]
    bounds = [*np.flatnonzero(np.diff(symbols, prepend=-1)).tolist(), len(symbols)]
    runs = [(int(symbols[begin]), begin, end) for begin, end in pairwise(bounds)]
    over_children = summing_matrix(parents - above.start, above.stop - above.start)
    return BatchLevel(nodes, parents, above, runs, over_children)


def gradient(parameters: LogParameters, batch: FitBatch) -> tuple[float, LogParameters]:
    """Return the cross-entropy of a batch, in nats per symbol, and its gradient."""
    begin, goes_on = (softmax(each) for each in parameters)
    n, n_symbols = len(begin), len(batch.steps)
    moves, leaves = goes_on[:, : n * n_symbols], goes_on[:, n * n_symbols :]
    matrices = np.ascontiguousarray(moves.reshape(n, n_symbols, n).transpose(1, 0, 2))
    readers = np.column_stack([matrices.sum(axis=2).T, leaves])
    states = np.empty((len(batch.follows), n), begin.dtype)
    probability = np.empty((len(states), 1), begin.dtype)
    states[0] = begin
    for level in batch.levels:
        moved = states[level.nodes]
        _move(states[level.parents], matrices, level, moved)
        total = moved.sum(axis=1, keepdims=True)
        moved /= np.maximum(total, MIN_READ_PROBABILITY, out=probability[level.nodes])
    read = states @ readers + MIN_READ_PROBABILITY
    loss = -float((batch.follows * np.log(read)).sum())
    # Backwards: the derivative of the loss by each number.
    by_read = -batch.follows / read
    by_state = by_read @ readers.T
    by_reader = states.T @ by_read
    by_moved = np.zeros_like(states)
    backwards = matrices.transpose(0, 2, 1)
    for level in reversed(batch.levels):
        own, by_own = states[level.nodes], by_state[level.nodes]
        change = by_moved[level.nodes]
        np.subtract(by_own, np.einsum("ij,ij->i", by_own, own)[:, None], out=change)
        change /= probability[level.nodes]
        np.clip(change, -MAX_SLOPE, MAX_SLOPE, out=change)
        back = np.empty_like(change)
        _move(change, backwards, level, back)
        by_state[level.above] += level.over_children @ back
    by_matrix = np.repeat(by_reader[:, :n_symbols].T[:, :, None], n, axis=2)
    for symbol, children, parents in batch.steps:
        by_matrix[symbol] += states[parents].T @ by_moved[children]
    by_moves = by_matrix.transpose(1, 0, 2).reshape(n, -1)
    by_goes_on = np.column_stack([by_moves, by_reader[:, n_symbols:]])
    return loss, (by_logarithm(begin, by_state[0]), by_logarithm(goes_on, by_goes_on))


def _move(vectors: FloatArray, matrices: FloatArray, level: BatchLevel, moved: FloatArray) -> None:
    """Multiply each vector of a level by the matrix of its symbol."""
    for symbol, begin, end in level.runs:
        vectors[begin:end].dot(matrices[symbol], moved[begin:end])


def softmax(logarithms: FloatArray) -> FloatArray:
    """Return the softmax of logarithms along the last axis."""
    probabilities: FloatArray = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return probabilities


def by_logarithm(probabilities: FloatArray, by_probability: FloatArray) -> FloatArray:
    """Return the gradient by the logarithms, from that by the probabilities."""
    moved = probabilities * by_probability
    moved -= probabilities * moved.sum(axis=-1, keepdims=True)
    return moved
