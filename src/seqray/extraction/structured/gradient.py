"""The gradient of a structured fit: of the cross-entropy between box and automaton.

A state emits a symbol, and then moves: ``u = v · emission / p`` is the state given the symbol,
where ``p`` is its probability, and ``u · moves`` is the next state. Nodes that one matrix leads to
are multiplied together, or each with a copy of its matrix where they are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqray.extraction.conditional.gradient import MAX_SLOPE, MIN_READ_PROBABILITY
from seqray.extraction.structured.batches import GroupBatch, GroupLevel, Runs
from seqray.extraction.structured.layout import FitLayout
from seqray.util.arrays import FloatArray, IntArray

MIN_FLOAT32 = np.finfo(np.float32).min

COPIED_AT_ONCE = 2**18
"""How many numbers of matrices are copied at once: they stay in the processor's cache."""


class FitNumbers(NamedTuple):
    """Four arrays of numbers: logarithms of probabilities, these themselves, or a gradient.

    A context may have fewer states than the largest one. The logarithms of what it has not are
    negative infinity.

    Parameters
    ----------
    emission
        Of each outcome in each state, ``(n_rows, n_outcomes)``.
    moves
        Which state follows which: the matrix of each pair, ``(n_pairs, max_size, max_size)``.
    entry
        In which state each context is entered where nothing is remembered,
        ``(n_contexts, max_size)``.
    begin
        In which state of the first context a word begins.
    """

    emission: FloatArray
    moves: FloatArray
    entry: FloatArray
    begin: FloatArray

    @classmethod
    def shapes(cls, layout: FitLayout) -> FitShapes:
        """Return the shapes of all arrays."""
        size = layout.max_size
        n_first = int(layout.sizes[layout.contexts.start])
        moves, entry = (len(layout.pairs), size, size), (len(layout.contexts), size)
        return FitShapes((layout.n_rows, layout.n_outcomes), moves, entry, (n_first,))


class FitShapes(NamedTuple):
    """The shapes of `FitNumbers`."""

    emission: tuple[int, int]
    moves: tuple[int, int, int]
    entry: tuple[int, int]
    begin: tuple[int]


class _Passed(NamedTuple):
    """What the nodes of a batch have, and their parents had.

    Their states; the emissions of what was read, by the parent's states; the parent's state given
    what was read, and the probability of that.
    """

    states: FloatArray
    columns: FloatArray
    given: FloatArray
    probability: FloatArray


class Slopes(NamedTuple):
    """The derivatives of the cross-entropy of a batch by the probabilities of a fit.

    Those by the matrices are by far the most: they are computed piece by piece when they are used.
    Where a batch has several parts, ``given`` and ``after`` are those of all parts.

    Parameters
    ----------
    emission, entry, begin
        By the probabilities of these names.
    given, after
        Of each node that a pair leads to, sorted by pair: the state of its parent given what was
        read, and the derivatives by its own state. There may be room for more nodes.
    """

    emission: FloatArray
    entry: FloatArray
    begin: FloatArray
    given: FloatArray
    after: FloatArray


class Tables(NamedTuple):
    """What a gradient needs of the numbers of a fit.

    Parameters
    ----------
    probabilities
        The probabilities of the logarithms.
    places
        Where the emissions of each step lie, see `StepTable.columns`.
    """

    probabilities: FitNumbers
    places: IntArray

    @property
    def columns(self) -> FloatArray:
        """The emissions of each step, ``(n_steps, max_size)``."""
        return np.append(self.probabilities.emission.ravel(), np.float32(0))[self.places]


def tables(logarithms: FitNumbers, places: IntArray) -> Tables:
    """Return the probabilities of logarithms, and where the emissions of steps lie."""
    probabilities = FitNumbers(*(softmax(each, np.empty_like(each)) for each in logarithms))
    return Tables(probabilities, places)


def predictions(layout: FitLayout, known: Tables, batch: GroupBatch) -> FloatArray:
    """Return the probability of every outcome at each node, ``(n_nodes, n_outcomes)``."""
    states = _forward(known, batch).states
    predicted = np.empty((len(states), layout.n_outcomes), np.float32)
    predicted[batch.by_group.nodes] = _read(layout, known, batch, states[batch.by_group.nodes])
    return predicted


def gradient(
    layout: FitLayout, known: Tables, batch: GroupBatch, rows: FloatArray
) -> tuple[float, FitNumbers]:
    """Return the cross-entropy of a batch, in nats per symbol, and its gradient by logarithms.

    ``rows`` says what comes next at each node of the tree of all words.
    """
    emission, _, entry, begin = FitNumbers.shapes(layout)
    by_node = len(batch.by_pair.nodes), layout.max_size
    shapes = emission, entry, begin, by_node, by_node
    slopes = Slopes(*(np.empty(shape, np.float32) for shape in shapes))
    loss = write_slopes(layout, known, batch, rows, slopes, np.arange(by_node[0]))
    numbers = known.probabilities._asdict().items()
    return loss, FitNumbers(
        *(
            by_logarithm(each, summed_slopes(name, slice(0, len(each)), [slopes], batch.by_pair))
            for name, each in numbers
        )
    )


def write_slopes(
    layout: FitLayout,
    known: Tables,
    batch: GroupBatch,
    rows: FloatArray,
    slopes: Slopes,
    places: IntArray,
) -> float:
    """Write the derivatives by probabilities to the slopes; return the cross-entropy.

    ``places`` says where in the slopes the nodes are that a pair leads to.
    """
    passed = _forward(known, batch)
    by_state = passed.states.copy()
    slopes.emission[:] = 0
    loss = _emitted(layout, known, batch, rows, by_state, slopes.emission)
    by_column = _backward(known, batch, passed, by_state)
    flat = np.append(slopes.emission.ravel(), np.float32(0))
    flat[known.places] += batch.over_steps @ by_column
    slopes.emission[:] = flat[:-1].reshape(slopes.emission.shape)
    slopes.entry[:] = batch.over_entries @ by_state
    slopes.begin[:] = by_state[0, : len(slopes.begin)]
    slopes.given[places] = passed.given.take(batch.by_pair.nodes, axis=0)
    slopes.after[places] = by_state.take(batch.by_pair.nodes, axis=0)
    return loss


def summed_slopes(name: str, here: slice, slopes: Sequence[Slopes], by_pair: Runs) -> FloatArray:
    """Return the derivatives by some rows of an array of a fit, summed over the parts of a batch.

    ``by_pair`` holds the nodes of all parts that pairs lead to.
    """
    if name != "moves":
        by_name: FloatArray = sum(getattr(each, name)[here] for each in slopes)
        return by_name
    given, after = slopes[0].given, slopes[0].after
    by_moves = np.zeros((here.stop - here.start, *2 * given.shape[1:]), np.float32)
    for pair, nodes in by_pair.each(here):
        given[nodes].T.dot(after[nodes], by_moves[pair - here.start])
    return by_moves


def softmax(logarithms: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Write the softmax along the last axis to ``probabilities``, and return them.

    The largest of all numbers is subtracted, not that of each row, and rows are summed by a product
    of matrices: that is several times as fast for short rows. Those of a fit are never so different
    that one of them vanishes.
    """
    np.subtract(logarithms, logarithms.max(initial=MIN_FLOAT32), out=probabilities)
    np.exp(probabilities, out=probabilities)
    probabilities /= np.maximum(_row_sums(probabilities), np.float32(1e-30))
    return probabilities


def by_logarithm(probabilities: FloatArray, by_probability: FloatArray) -> FloatArray:
    """Return the gradient by the logarithms, in place of that by the probabilities."""
    by_probability -= np.einsum("...i,...i->...", probabilities, by_probability)[..., None]
    by_probability *= probabilities
    return by_probability


def _row_sums(numbers: FloatArray) -> FloatArray:
    """Return the sums along the last axis, which stays."""
    return numbers @ np.ones((numbers.shape[-1], 1), numbers.dtype)


def _forward(known: Tables, batch: GroupBatch) -> _Passed:
    """Read all nodes, level by level."""
    numbers = known.probabilities
    columns = known.columns.take(batch.steps, axis=0)
    states, given = np.zeros_like(columns), np.empty_like(columns)
    states[0, : len(numbers.begin)] = numbers.begin
    probability = np.ones((len(states), 1), np.float32)
    for level in batch.levels:
        here, n_forgetful = level.nodes, level.n_forgetful
        before = np.multiply(columns[here], states[batch.parents[here]], out=given[here])
        total = _row_sums(before) + np.float32(MIN_READ_PROBABILITY)
        before /= total
        probability[here] = total
        if n_forgetful:
            states[here][:n_forgetful] = numbers.entry[batch.contexts[here][:n_forgetful]]
        _multiply(before, numbers.moves, level, states[here])
    return _Passed(states, columns, given, probability)


def _multiply(
    vectors: FloatArray,
    matrices: FloatArray,
    level: GroupLevel,
    products: FloatArray,
    *,
    transposed: bool = False,
) -> None:
    """Multiply each vector of a level by the matrix of its pair; leave out forgetful ones."""
    n_at_once = max(1, COPIED_AT_ONCE // vectors.shape[1] ** 2)
    for begin in range(0, len(level.few), n_at_once):
        copied = matrices.take(level.few[begin : begin + n_at_once], axis=0)
        here = slice(level.n_forgetful + begin, level.n_forgetful + begin + len(copied))
        if transposed:
            np.matmul(copied, vectors[here, :, None], out=products[here, :, None])
        else:
            np.matmul(vectors[here, None], copied, out=products[here, None])
    for pair, begin, end in level.runs:
        matrix = matrices[pair].T if transposed else matrices[pair]
        vectors[begin:end].dot(matrix, products[begin:end])


def _read(layout: FitLayout, known: Tables, batch: GroupBatch, states: FloatArray) -> FloatArray:
    """Return the probability of every outcome for states sorted by group."""
    read = np.empty((len(states), layout.n_outcomes), np.float32)
    for group, nodes in batch.by_group.each():
        emission = known.probabilities.emission[layout.rows_of(group)]
        np.matmul(states[nodes, : len(emission)], emission, out=read[nodes])
    return read


def _emitted(
    layout: FitLayout,
    known: Tables,
    batch: GroupBatch,
    rows: FloatArray,
    by_state: FloatArray,
    by_emission: FloatArray,
) -> float:
    """Return the cross-entropy, and write its derivatives by emissions and by states.

    ``by_state`` holds the states before.
    """
    order = batch.by_group.nodes
    states = by_state[order]
    read = _read(layout, known, batch, states) + np.float32(MIN_READ_PROBABILITY)
    follows = rows[batch.nodes[order]] * batch.visits[order]
    loss = -float(np.einsum("ij,ij->", follows, np.log(read)))
    by_read = np.divide(follows, -read, out=follows)
    slopes = np.zeros_like(states)
    for group, nodes in batch.by_group.each():
        here = layout.rows_of(group)
        emission = known.probabilities.emission[here]
        np.matmul(by_read[nodes], emission.T, out=slopes[nodes, : len(emission)])
        np.matmul(states[nodes, : len(emission)].T, by_read[nodes], out=by_emission[here])
    by_state[order] = slopes
    return loss


def _backward(
    known: Tables, batch: GroupBatch, passed: _Passed, by_state: FloatArray
) -> FloatArray:
    """Add to the derivative by each state what its children bring; return that by their columns."""
    by_column = np.zeros_like(by_state)
    matrices = known.probabilities.moves
    for level in reversed(batch.levels):
        here, given = level.nodes, passed.given[level.nodes]
        change = np.empty_like(given)
        _multiply(by_state[here], matrices, level, change, transposed=True)
        change[: level.n_forgetful] = 0
        change -= np.einsum("ij,ij->i", change, given)[:, None]
        change /= passed.probability[here]
        np.clip(change, -MAX_SLOPE, MAX_SLOPE, out=change)
        np.multiply(change, passed.states[batch.parents[here]], out=by_column[here])
        change *= passed.columns[here]
        by_state[level.above] += level.over_children @ change
    return by_column
