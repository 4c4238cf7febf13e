"""The gradient of a fit: of the cross-entropy between the box and a probabilistic automaton."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.probabilities import with_elsewhere
from seqray.automata.tree_batches import Corpus, TreeBatch
from seqray.fidelity.reference import Reference
from seqray.util.arrays import BoolArray, FloatArray, IntArray

MIN_READ_PROBABILITY, MAX_SLOPE = 1e-12, 1e6
"""No probability counts as less, and no derivative as more: both are for float32."""

IMPOSSIBLE_PROBABILITY = 1e-9
"""A symbol of a data set with at most this probability counts as impossible: it is not learnt."""

MAX_MATRIX_NUMBERS = 2**17
"""Up to so many numbers in the matrices of a level, each node gets a matrix of its own: that is
cheaper than one product per symbol."""

LogParameters = tuple[FloatArray, FloatArray]
"""Logarithms: of how a word begins, ``(n_states,)``; of what comes next, ``(n_states, n_symbols ×
n_states + 1)``, with each symbol and into each state, and then the end; of a box that leaks there
is one more column, elsewhere, which leads nowhere."""


class BatchLevel(NamedTuple):
    """The nodes of one level of a batch's tree, below the root."""

    nodes: slice
    parents: IntArray
    symbols: IntArray
    by_symbol: Sequence[tuple[int, IntArray]]  # each symbol, and which of the nodes it leads to
    families: IntArray  # where the children of another parent begin


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
    levels = []
    for begin, end in pairwise(np.cumsum(batch.sizes).tolist()):
        parents, symbols = batch.parents[begin:end], batch.symbols[begin:end]
        by_symbol = [(int(symbol), np.flatnonzero(symbols == symbol)) for symbol in set(symbols)]
        families = np.flatnonzero(np.diff(parents, prepend=-1))
        levels.append(BatchLevel(slice(begin, end), parents, symbols, by_symbol, families))
    steps = []
    for symbol in range(batch.n_columns - 1):
        children = np.flatnonzero(batch.symbols == symbol)
        steps.append((symbol, children, batch.parents[children]))
    return FitBatch(levels, steps, follows)


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
        moved = _moved(states[level.parents], matrices, level)
        probability[level.nodes] = np.maximum(
            moved.sum(axis=1, keepdims=True), MIN_READ_PROBABILITY
        )
        states[level.nodes] = moved / probability[level.nodes]
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
        change = by_own - np.einsum("ij,ij->i", by_own, own)[:, None]
        change = (change / probability[level.nodes]).clip(-MAX_SLOPE, MAX_SLOPE)
        by_moved[level.nodes] = change
        back = np.add.reduceat(_moved(change, backwards, level), level.families, axis=0)
        by_state[level.parents[level.families]] += back
    by_matrix = np.repeat(by_reader[:, :n_symbols].T[:, :, None], n, axis=2)
    for symbol, children, parents in batch.steps:
        by_matrix[symbol] += states[parents].T @ by_moved[children]
    by_moves = by_matrix.transpose(1, 0, 2).reshape(n, -1)
    by_goes_on = np.column_stack([by_moves, by_reader[:, n_symbols:]])
    return loss, (by_logarithm(begin, by_state[0]), by_logarithm(goes_on, by_goes_on))


def _moved(vectors: FloatArray, matrices: FloatArray, level: BatchLevel) -> FloatArray:
    """Multiply each vector of a level by the matrix of its symbol."""
    if vectors.size * vectors.shape[1] <= MAX_MATRIX_NUMBERS:
        moved: FloatArray = np.matmul(vectors[:, None], matrices[level.symbols])[:, 0]
        return moved
    moved = np.empty_like(vectors)
    for symbol, which in level.by_symbol:
        moved[which] = vectors[which] @ matrices[symbol]
    return moved


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
