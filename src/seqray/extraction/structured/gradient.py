"""The gradient of a structured fit: of the cross-entropy between box and automaton.

A state emits a symbol, and then moves: ``u = v · emission / p`` is the state given the symbol,
where ``p`` is its probability, and ``u · moves`` is the next state. Nodes that one matrix leads to
are multiplied together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.extraction.conditional.gradient import (
    MAX_SLOPE,
    MIN_READ_PROBABILITY,
    by_logarithm,
    softmax,
)
from seqray.extraction.structured.batches import GroupBatch
from seqray.extraction.structured.layout import FitLayout
from seqray.util.arrays import FloatArray, IntArray


class FitNumbers(NamedTuple):
    """Three arrays of numbers: logarithms of probabilities, these themselves, or a gradient.

    Parameters
    ----------
    emission
        Of each outcome in each state, ``(n_rows, n_outcomes)``.
    moves
        Which state follows which: all matrices and entries, see `FitLayout`.
    begin
        In which state of the first context a word begins.
    """

    emission: FloatArray
    moves: FloatArray
    begin: FloatArray


class _Passed(NamedTuple):
    """What a batch's nodes have: states, the parent's state given the symbol, its probability."""

    states: FloatArray
    given: FloatArray
    probability: FloatArray


class Tables(NamedTuple):
    """Probabilities, and what is looked up in them."""

    probabilities: FitNumbers
    columns: FloatArray  # the emissions of each step, (n_steps, max_size)
    matrices: list[FloatArray]
    entries: FloatArray


def tables(layout: FitLayout, logarithms: FitNumbers, columns: IntArray) -> Tables:
    """Return the probabilities of logarithms; ``columns`` are those of the steps."""
    emission, moves = softmax(logarithms.emission), np.empty_like(logarithms.moves)
    for target in layout.targets:
        rows = logarithms.moves[target.numbers].reshape(target.n_rows, target.n_columns)
        moves[target.numbers] = softmax(rows).ravel()
    numbers = FitNumbers(emission, moves, softmax(logarithms.begin))
    of_steps = np.append(emission.ravel(), np.float32(0))[columns]
    return Tables(numbers, of_steps, layout.matrices(moves), layout.entries(moves))


def predictions(layout: FitLayout, known: Tables, batch: GroupBatch) -> FloatArray:
    """Return the probability of every outcome at each node, ``(n_nodes, n_outcomes)``."""
    return _read(layout, known, batch, _forward(known, batch).states)


def gradient(
    layout: FitLayout, known: Tables, columns: IntArray, batch: GroupBatch, follows: FloatArray
) -> tuple[float, FitNumbers]:
    """Return the cross-entropy of a batch, in nats per symbol, and its gradient by logarithms.

    ``follows`` says how often each outcome comes next at each node.
    """
    passed = _forward(known, batch)
    read = _read(layout, known, batch, passed.states) + np.float32(MIN_READ_PROBABILITY)
    loss = -float(np.einsum("ij,ij->", follows, np.log(read)))
    by_read = -follows / read
    by_emission = np.zeros_like(known.probabilities.emission)
    by_state = np.zeros_like(passed.states)
    for group, nodes in batch.by_group:
        rows = slice(int(layout.group_offsets[group]), int(layout.group_offsets[group + 1]))
        size = rows.stop - rows.start
        some = by_read[nodes]
        by_state[nodes, :size] = some @ known.probabilities.emission[rows].T
        by_emission[rows] = passed.states[nodes, :size].T @ some
    by_column = _backward(known, batch, passed, by_state)
    by_steps = batch.by_step.sums(by_column[batch.by_step.nodes])
    flat = np.append(by_emission.ravel(), np.float32(0))
    flat[columns[batch.by_step.keys]] += by_steps
    by_moves = _by_moves(layout, batch, passed, by_state)
    by_begin = by_state[0, : len(known.probabilities.begin)]
    by_probability = FitNumbers(flat[:-1].reshape(by_emission.shape), by_moves, by_begin)
    return loss, _by_logarithms(layout, known.probabilities, by_probability)


def _forward(known: Tables, batch: GroupBatch) -> _Passed:
    """Read all nodes, level by level."""
    n, size = len(batch.nodes), known.entries.shape[1]
    states = np.zeros((n, size), np.float32)
    states[0, : len(known.probabilities.begin)] = known.probabilities.begin
    given = known.columns[batch.steps]
    probability = np.ones((n, 1), np.float32)
    for level in batch.levels:
        here = level.nodes
        given[here] *= states[batch.parents[here]]
        total = given[here].sum(axis=1, keepdims=True) + np.float32(MIN_READ_PROBABILITY)
        given[here] /= total
        probability[here] = total
        before, after = given[here], states[here]
        if level.n_forgetful:
            after[: level.n_forgetful] = known.entries[batch.contexts[here][: level.n_forgetful]]
        for pair, begin, end in level.pairs:
            matrix = known.matrices[pair]
            n_rows, n_columns = matrix.shape
            np.matmul(before[begin:end, :n_rows], matrix, out=after[begin:end, :n_columns])
    return _Passed(states, given, probability)


def _read(layout: FitLayout, known: Tables, batch: GroupBatch, states: FloatArray) -> FloatArray:
    """Return the probability of every outcome at each node."""
    read = np.empty((len(states), layout.n_outcomes), np.float32)
    for group, nodes in batch.by_group:
        rows = slice(int(layout.group_offsets[group]), int(layout.group_offsets[group + 1]))
        size = rows.stop - rows.start
        read[nodes] = states[nodes, :size] @ known.probabilities.emission[rows]
    return read


def _backward(
    known: Tables, batch: GroupBatch, passed: _Passed, by_state: FloatArray
) -> FloatArray:
    """Add to the derivative by each state what its children bring; return that by their columns."""
    by_column = np.zeros_like(by_state)
    for level in reversed(batch.levels):
        here, after = level.nodes, by_state[level.nodes]
        change = np.zeros_like(after)
        for pair, begin, end in level.pairs:
            matrix = known.matrices[pair]
            n_rows, n_columns = matrix.shape
            np.matmul(after[begin:end, :n_columns], matrix.T, out=change[begin:end, :n_rows])
        given = passed.given[here]
        change -= np.einsum("ij,ij->i", change, given)[:, None]
        change[: level.n_forgetful] = 0
        change /= passed.probability[here]
        np.clip(change, -MAX_SLOPE, MAX_SLOPE, out=change)
        parents = batch.parents[here]
        by_column[here] = change * passed.states[parents]
        change *= known.columns[batch.steps[here]]
        by_state[level.families.keys] += level.families.sums(change[level.families.nodes])
    return by_column


def _by_moves(
    layout: FitLayout, batch: GroupBatch, passed: _Passed, by_state: FloatArray
) -> FloatArray:
    """Return the derivative by all matrices and entries."""
    by_moves = np.zeros(layout.n_moves, np.float32)
    matrices = layout.matrices(by_moves)
    for pair, nodes in batch.by_pair:
        n_rows, n_columns = matrices[pair].shape
        given, after = passed.given[nodes, :n_rows], by_state[nodes, :n_columns]
        np.matmul(given.T, after, out=matrices[pair])
    entered = batch.by_entry.sums(by_state[batch.by_entry.nodes])
    for context, row in zip(batch.by_entry.keys.tolist(), entered, strict=True):
        begin, size = int(layout.entry_offsets[context]), int(layout.sizes[context])
        by_moves[begin : begin + size] += row[:size]
    return by_moves


def _by_logarithms(
    layout: FitLayout, probabilities: FitNumbers, by_probability: FitNumbers
) -> FitNumbers:
    """Return the gradient by the logarithms, from that by the probabilities."""
    moves = np.empty_like(probabilities.moves)
    for target in layout.targets:
        shape = target.n_rows, target.n_columns
        rows = probabilities.moves[target.numbers].reshape(shape)
        slopes = by_probability.moves[target.numbers].reshape(shape)
        moves[target.numbers] = by_logarithm(rows, slopes).ravel()
    return FitNumbers(
        by_logarithm(probabilities.emission, by_probability.emission),
        moves,
        by_logarithm(probabilities.begin, by_probability.begin),
    )
