"""Parts of words read from both ends with matrices too large for the processor's cache.

A part is read forwards to its middle and backwards to its middle, along the prefix trees of all
such halves. Then it counts how often a matrix comes from memory. In a sweep the matrices come one
after the other, and each is multiplied by all vectors that wait for it, in both directions. The
products may be multiplied again in the same sweep, by matrices that come later: there are about
half as many sweeps as levels of the trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import Scales, rescale
from seqray.automata.structured_parts import WordCuts
from seqray.automata.structured_states import run_begins
from seqray.automata.tree import distinct_keys, sort_codes
from seqray.util.arrays import BoolArray, FloatArray, IntArray

SHARING_COST = 64
"""What it costs per part to look for equal beginnings, in multiplications."""


class Halves(NamedTuple):
    """Halves of parts: half ``i`` begins with the vector ``roots[i]``, at cell ``starts[i]``."""

    roots: IntArray
    starts: IntArray
    directions: IntArray  # 1 forwards, -1 backwards
    lengths: IntArray


class HalfStates(NamedTuple):
    """The states that halves end with: half ``i`` has row ``rows[i]`` of the vectors."""

    vectors: FloatArray
    rows: IntArray
    scales: Scales  # of half ``i``

    def take(self, halves: IntArray) -> FloatArray:
        """Return the vectors of some halves."""
        return self.vectors.take(self.rows.take(halves), axis=0)


class HalfTrees(NamedTuple):
    """The prefix trees of halves, as nodes: first the roots, then level by level.

    Node ``i`` is the product of node ``parents[i]`` and the matrix ``numbers[i] // 2``, which is
    transposed where the number is odd. Half ``j`` ends at node ``ends[j]``.
    """

    parents: IntArray
    numbers: IntArray
    levels: list[slice]
    ends: IntArray

    def inherited(self, scales: Scales) -> Scales:
        """Return the scales of nodes in all, given what was taken out of each."""
        log_scale, wide = scales
        if log_scale.any() or wide.any():
            for level in self.levels:
                log_scale[level] += log_scale.take(self.parents[level])
                wide[level] |= wide.take(self.parents[level])
        return scales


class MatrixSweep(NamedTuple):
    """The nodes of a sweep: those at ``begin`` to ``end`` in the order in which they come."""

    begin: int
    end: int
    first_row: int
    runs: list[int]  # where runs of nodes that share a matrix begin, and the end of the last
    numbers: list[int]  # of the matrix of each run


@dataclass(frozen=True, eq=False)
class SweepSchedule:
    """The order in which the nodes of trees are computed.

    Parameters
    ----------
    trees
        The trees.
    max_age
        After so many steps a vector is brought back into the safe range.
    """

    trees: HalfTrees
    max_age: int

    @cached_property
    def sweep_of_node(self) -> IntArray:
        """The sweep of each node: its parent's if its matrix comes later, else the next one."""
        parents, numbers, levels, _ = self.trees
        sweeps = np.zeros(len(parents), np.int64)
        for level in levels:
            above = parents[level]
            waits = (numbers[level] <= numbers.take(above)) | self.is_due.take(above)
            np.add(sweeps.take(above), waits, out=sweeps[level])
        return sweeps

    @cached_property
    def is_due(self) -> BoolArray:
        """Whether each node is brought back into the safe range, before its sweep ends."""
        is_due = np.zeros(len(self.trees.parents), bool)
        roots = slice(0, self.trees.levels[0].start if self.trees.levels else len(is_due))
        for level in [roots, *self.trees.levels][:: self.max_age]:
            is_due[level] = True
        return is_due

    @cached_property
    def order(self) -> IntArray:
        """The nodes, by sweep and then by matrix."""
        by_number = sort_codes(self.trees.numbers)
        return by_number.take(sort_codes(self.sweep_of_node.take(by_number)))

    @cached_property
    def sizes(self) -> IntArray:
        """The number of nodes in each sweep."""
        return np.bincount(self.sweep_of_node)

    @property
    def n_even_rows(self) -> int:
        """The number of rows for sweeps of even number; those of the others come after them."""
        return int(self.sizes[::2].max())

    @property
    def n_rows(self) -> int:
        """The number of rows: a sweep needs its own vectors and those of the one before."""
        return self.n_even_rows + int(self.sizes[1::2].max(initial=0))

    @cached_property
    def rows(self) -> IntArray:
        """The row of each node while its sweep and the next one last."""
        first_rows = np.where(np.arange(len(self.sizes)) % 2, self.n_even_rows, 0)
        shifts = first_rows - np.cumsum(self.sizes) + self.sizes
        rows = np.empty_like(self.order)
        rows[self.order] = np.arange(len(rows)) + shifts.repeat(self.sizes)
        return rows

    def sweeps(self) -> Iterator[MatrixSweep]:
        """Yield the sweeps; the first has the roots alone, and no runs."""
        numbers = self.trees.numbers.take(self.order)
        ends = np.cumsum(self.sizes)
        is_begin = np.append(True, numbers[1:] != numbers[:-1])
        is_begin[ends[:-1]] = True
        begins = np.flatnonzero(is_begin)
        runs, run_numbers = [*begins.tolist(), len(numbers)], numbers.take(begins).tolist()
        n_runs = np.searchsorted(begins, ends).tolist()
        yield MatrixSweep(0, int(ends[0]), 0, [], [])
        for i, (begin, end) in enumerate(pairwise(ends.tolist()), 1):
            first, last = n_runs[i - 1], n_runs[i]
            first_row = self.n_even_rows if i % 2 else 0
            yield MatrixSweep(
                begin, end, first_row, runs[first : last + 1], run_numbers[first:last]
            )


@dataclass(frozen=True, eq=False)
class HalfReader:
    """Reads halves of parts.

    Parameters
    ----------
    cuts
        What cuts words into parts.
    """

    cuts: WordCuts

    @cached_property
    def _numbers(self) -> IntArray:
        """The number of each cell's matrix in `HalfTrees`, read forwards, then backwards."""
        numbers = 2 * self.cuts.matrices
        return np.concatenate([numbers, numbers + 1])

    @cached_property
    def _codes(self) -> IntArray:
        """What distinguishes the cells that may come next, read forwards, then backwards."""
        n_cells = self.cuts.n_group_cells
        cells = np.flatnonzero(self.cuts.matrices >= 0)
        cells = cells[np.argsort(self.cuts.group_onward.take(cells), kind="stable")]
        begins = run_begins(self.cuts.group_onward.take(cells))
        backwards = np.zeros(n_cells, np.int64)
        backwards[cells] = np.arange(len(cells)) - begins.repeat(np.diff(begins, append=len(cells)))
        return np.concatenate([np.arange(n_cells) % self.cuts.n_columns, backwards])

    @cached_property
    def _matrices(self) -> list[FloatArray]:
        """The matrix of each number."""
        return [each for matrix in self.cuts.steps.matrices for each in (matrix, matrix.T)]

    def states(self, cells: IntArray, halves: Halves, roots: FloatArray) -> HalfStates:
        """Return the states that halves end with.

        ``cells`` are those of `WordParts`; ``roots`` are the vectors that halves begin with.
        """
        trees = self.trees(cells, halves, len(roots))
        schedule = SweepSchedule(trees, self.cuts.steps.max_age)
        order, rows = schedule.order, schedule.rows
        sources, is_due = rows.take(trees.parents.take(order)), schedule.is_due.take(order)
        vectors = np.empty((schedule.n_rows, roots.shape[1]))
        vectors[: len(roots)] = roots
        scales = Scales.none(len(order))
        ends_in = schedule.sweep_of_node.take(trees.ends)
        ended = sort_codes(ends_in)
        ended_rows = rows.take(trees.ends.take(ended))
        n_ended = np.cumsum(np.bincount(ends_in, minlength=len(schedule.sizes)))
        ends = np.empty((len(ended), roots.shape[1]))
        for sweep, here in zip(schedule.sweeps(), _slices(n_ended), strict=True):
            self._multiply(vectors, sweep, sources)
            due = np.flatnonzero(is_due[sweep.begin : sweep.end])
            if len(due):
                _rescale(vectors, due + sweep.first_row, scales, order[due + sweep.begin])
            vectors.take(ended_rows[here], axis=0, out=ends[here], mode="clip")
        of_half = np.empty_like(ended)
        of_half[ended] = np.arange(len(ended))
        return HalfStates(ends, of_half, trees.inherited(scales).take(trees.ends))

    def trees(self, cells: IntArray, halves: Halves, n_roots: int) -> HalfTrees:
        """Grow the prefix trees of halves, as long as enough of them are equal."""
        # Longest first, so that those still being read are always a leading slice.
        order = sort_codes(halves.lengths.max(initial=0) - halves.lengths)
        at, cursor, directions, _ = (each.take(order) for each in halves)
        shifts = np.where(directions < 0, self.cuts.n_group_cells, 0)
        n_longer = len(order) - np.cumsum(np.bincount(halves.lengths, minlength=1))
        n_codes, size = int(self._codes.max()) + 1, self.cuts.steps.grouping.max_size
        parents: list[IntArray] = [np.zeros(n_roots, np.int64)]
        numbers: list[IntArray] = [np.full(n_roots, len(self._matrices))]
        begin, end, shares, levels = 0, n_roots, True, []
        for n_active in n_longer[:-1].tolist():
            read = cells.take(cursor[:n_active]) + shifts[:n_active]
            cursor[:n_active] += directions[:n_active]
            origins, which = at[:n_active].copy(), np.arange(n_active)
            if shares:
                keys = (origins - begin) * n_codes + self._codes.take(read)
                distinct, which = distinct_keys(keys, (end - begin) * n_codes)
                shares = (n_active - len(distinct)) * size**2 >= SHARING_COST * n_active
                origins = distinct // n_codes + begin
                read = of_distinct(read, which, len(distinct))
            parents.append(origins)
            numbers.append(self._numbers.take(read))
            begin, end = end, end + len(origins)
            levels.append(slice(begin, end))
            np.add(which, begin, out=at[:n_active])
        ends = np.empty_like(at)
        ends[order] = at
        return HalfTrees(np.concatenate(parents), np.concatenate(numbers), levels, ends)

    def _multiply(self, vectors: FloatArray, sweep: MatrixSweep, sources: IntArray) -> None:
        """Compute the vectors of a sweep, one matrix after the other."""
        size, shift = vectors.shape[1], sweep.first_row - sweep.begin
        longest = int(np.diff(sweep.runs).max(initial=0))
        scratch, matrices, gather = np.empty((longest, size)), self._matrices, vectors.take
        for (begin, end), number in zip(pairwise(sweep.runs), sweep.numbers, strict=True):
            # Parents are gathered into one place that stays in the cache; "clip" spares a copy.
            before, after = scratch[: end - begin], vectors[begin + shift : end + shift]
            gather(sources[begin:end], 0, before, "clip")
            if self._is_filled:  # whole rows: the faster call
                before.dot(matrices[number], after)
            else:
                n_rows, n_columns = matrices[number].shape
                np.matmul(before[:, :n_rows], matrices[number], out=after[:, :n_columns])
                after[:, n_columns:] = 0

    @cached_property
    def _is_filled(self) -> bool:
        """Whether each matrix is as large as the largest group."""
        size = self.cuts.steps.grouping.max_size
        return all(matrix.shape == (size, size) for matrix in self._matrices)


def of_distinct(numbers: IntArray, which: IntArray, n_distinct: int) -> IntArray:
    """Return a number of each distinct key, given that of each key, and which one that is."""
    of_distinct = np.empty(n_distinct, np.int64)
    of_distinct[which] = numbers
    return of_distinct


def _slices(ends: IntArray) -> Iterator[slice]:
    """Yield slices that follow each other, given their ends."""
    return (slice(begin, end) for begin, end in pairwise([0, *ends.tolist()]))


def _rescale(vectors: FloatArray, rows: IntArray, scales: Scales, nodes: IntArray) -> None:
    """Bring some rows back into the safe range; set the scales of their nodes, by which."""
    some, log_scale = vectors.take(rows, axis=0), np.zeros(len(rows))
    scales.wide[nodes] = rescale(some, log_scale)
    if log_scale.any():
        scales.log_scale[nodes] = log_scale
        vectors[rows] = some
