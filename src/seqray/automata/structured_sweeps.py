"""Long parts of words read with matrices that are too large for the processor's cache.

Reading such a matrix from memory takes as long as multiplying it by several vectors. So matrices
come one after the other, in sweeps, and each is multiplied by all vectors that wait for it. The
products may be multiplied again in the same sweep, by matrices that come later.

A matrix leads from one group to another. First come the matrices that lead to a group of a higher
number, by rising number of the group that they lead from; then the others, by falling number. So a
vector waits for the next sweep only where a group has a lower number than the one before it and the
one after it. If groups come at random, these are a third of all places, and no order has fewer: of
three matrices that lead from a group over two others back to it, one has to come before the one
that leads to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from seqray.automata.scaling import Scales, rescale
from seqray.automata.structured_parts import PartLevel, PartReaders
from seqray.automata.structured_states import StructuredSteps, run_begins
from seqray.automata.tree import sort_codes
from seqray.util.arrays import BoolArray, FloatArray, IntArray


class PartTrees(NamedTuple):
    """The prefix trees of long parts, as nodes: first the roots, then level by level.

    Node ``i`` is the product of node ``parents[i]`` and the matrix ``numbers[i]``. Part
    ``ended[j]`` ends at node ``ended_at[j]``.
    """

    parents: IntArray
    numbers: IntArray
    levels: list[slice]
    ended: IntArray
    ended_at: IntArray

    @classmethod
    def of(cls, levels: Iterable[PartLevel], n_roots: int) -> PartTrees:
        """Return the nodes of levels."""
        first, *below = levels
        nodes: IntArray = np.arange(n_roots)
        columns = [(np.zeros_like(nodes), np.full_like(nodes, -1), first.ended, first.ended_at)]
        slices = []
        for level in below:
            origins, n_before = nodes[level.origins], int(nodes[-1]) + 1
            nodes = np.arange(n_before, n_before + len(level.numbers))
            columns.append((origins, level.numbers, level.ended, nodes[level.ended_at]))
            slices.append(slice(n_before, n_before + len(nodes)))
        parents, numbers, ended, ended_at = map(np.concatenate, zip(*columns, strict=True))
        return cls(parents, numbers, slices, ended, ended_at)

    def inherit(self, scales: Scales) -> None:
        """Add to the scale of each node those of its ancestors, in place."""
        log_scale, wide = scales
        for level in self.levels:
            log_scale[level] += log_scale.take(self.parents[level])
            wide[level] |= wide.take(self.parents[level])


MatrixRun: TypeAlias = tuple[int, int, int]
"""Nodes that share a matrix: where they begin and end in the order in which nodes come, and the
place of the matrix in the order of a sweep."""


class MatrixSweep(NamedTuple):
    """The nodes of a sweep: those at ``begin`` to ``end`` in the order in which they come.

    Their runs are in batches: no node of a batch is computed from another one.
    """

    begin: int
    end: int
    first_row: int
    batches: list[list[MatrixRun]]


@dataclass(frozen=True, eq=False)
class SweepSchedule:
    """The order in which the nodes of trees are computed.

    Parameters
    ----------
    trees
        The trees.
    places
        The place of each node's matrix in the order of a sweep; roots come last.
    batch_of_place
        The batch of each place. Batches are numbered from 0 on, in the order of the places.
    max_age
        After so many steps a vector is brought back into the safe range.
    """

    trees: PartTrees
    places: IntArray
    batch_of_place: IntArray
    max_age: int

    @cached_property
    def _sweeps_and_due(self) -> tuple[IntArray, BoolArray]:
        parents, batches = self.trees.parents, self.batch_of_place.take(self.places)
        ages, sweeps = np.zeros_like(parents), np.zeros_like(parents)
        is_due = np.zeros(len(parents), bool)
        before = self.roots
        for level in self.trees.levels:
            above = parents[level]
            waits = batches[level] <= batches.take(above)
            # Vectors that nothing needs before the next sweep are looked at early.
            is_needed = np.zeros(before.stop - before.start, bool)
            is_needed[above.compress(~waits) - before.start] = True
            limits = np.where(is_needed, self.max_age, (self.max_age + 1) // 2)
            is_due[before] = ages[before] >= limits
            due = is_due.take(above)
            np.add(sweeps.take(above), waits | due, out=sweeps[level])
            np.add(np.where(due, 0, ages.take(above)), 1, out=ages[level])
            before = level
        return sweeps, is_due

    @property
    def roots(self) -> slice:
        """The roots."""
        return slice(0, self.trees.levels[0].start if self.trees.levels else len(self.places))

    @property
    def sweep_of_node(self) -> IntArray:
        """The sweep of each node: its parent's, or the next one if it waits.

        It waits if its batch does not come later than its parent's, or if its parent is due.
        """
        return self._sweeps_and_due[0]

    @property
    def is_due(self) -> BoolArray:
        """Whether each node is brought back into the safe range, when its sweep ends."""
        return self._sweeps_and_due[1]

    @cached_property
    def order(self) -> IntArray:
        """The nodes, by sweep and then by matrix."""
        by_place = sort_codes(self.places)
        return by_place.take(sort_codes(self.sweep_of_node.take(by_place)))

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
        """Yield the sweeps; the first has the roots alone, and no batches."""
        n_places, ends = len(self.batch_of_place), np.cumsum(self.sizes)
        places, sweeps = self.places.take(self.order), np.arange(len(ends)).repeat(self.sizes)
        begins = run_begins(places + sweeps * n_places)
        places, sweeps = places.take(begins), sweeps.take(begins)
        stops = np.append(begins[1:], len(self.order))
        columns = (each.tolist() for each in (begins, stops, places))
        runs = list(zip(*columns, strict=True))
        firsts = run_begins(self.batch_of_place.take(places) + sweeps * n_places)
        batches = [runs[first:last] for first, last in pairwise([*firsts.tolist(), len(runs)])]
        n_batches = np.cumsum(np.bincount(sweeps.take(firsts))).tolist()
        n_even_rows = self.n_even_rows
        yield MatrixSweep(0, int(ends[0]), 0, [])
        for i, (begin, end) in enumerate(pairwise(ends.tolist()), 1):
            first_row = n_even_rows if i % 2 else 0
            yield MatrixSweep(begin, end, first_row, batches[n_batches[i - 1] : n_batches[i]])


@dataclass(frozen=True, eq=False)
class SweepReader:
    """Computes the vectors that parts end with.

    Parameters
    ----------
    steps
        The steps of the automaton.
    """

    steps: StructuredSteps

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """The matrices in the order of a sweep, and the batch of each place; that of roots last."""
        origins, targets = self.steps.groups_of_matrices
        n_groups = self.steps.grouping.n_groups
        # Falling ones have numbers beyond those of rising ones, after that to the same group.
        falling = 3 * n_groups - 2 * origins + (targets < origins)
        keys = np.where(targets > origins, origins, falling)
        order = np.argsort(keys, kind="stable")
        batches = np.unique(keys, return_inverse=True)[1].take(order)
        return order, np.append(batches, batches.max(initial=-1) + 1)

    @cached_property
    def _places(self) -> IntArray:
        """The place of each matrix in the order of a sweep; last, that of roots."""
        places = np.empty(len(self._order[0]) + 1, np.int64)
        places[self._order[0]], places[-1] = np.arange(len(places) - 1), len(places) - 1
        return places

    @cached_property
    def _matrices(self) -> list[FloatArray]:
        """The matrix at each place."""
        matrices = self.steps.matrices
        return [matrices[number] for number in self._order[0].tolist()]

    def schedule(self, trees: PartTrees) -> SweepSchedule:
        """Return the order in which the nodes of trees are computed."""
        places = self._places.take(trees.numbers, mode="wrap")  # the last for roots, numbered -1
        return SweepSchedule(trees, places, self._order[1], self.steps.max_age)

    def values(
        self, trees: PartTrees, roots: FloatArray, scales: Scales | None, readers: PartReaders
    ) -> tuple[FloatArray, Scales | None]:
        """Return the values of the parts that ended, and their scales.

        ``roots`` are the vectors of the roots, and ``scales`` their scales.
        """
        schedule = self.schedule(trees)
        order, rows = schedule.order, schedule.rows
        sources, is_due = rows.take(trees.parents.take(order)), schedule.is_due.take(order)
        vectors = np.empty((schedule.n_rows, roots.shape[1]))
        vectors[: len(roots)] = roots
        node_scales = Scales.none(len(order))
        if scales is not None:
            node_scales.put(slice(len(roots)), scales)
        ended_in = schedule.sweep_of_node.take(trees.ended_at)
        ended = sort_codes(ended_in)
        n_ended = np.cumsum(np.bincount(ended_in, minlength=len(schedule.sizes)))
        values = np.empty(len(ended))
        for sweep, here in zip(schedule.sweeps(), _slices(n_ended), strict=True):
            self._multiply(vectors, sweep, sources)
            due = order[sweep.begin : sweep.end].compress(is_due[sweep.begin : sweep.end])
            if len(due):
                _rescale(vectors, rows.take(due), node_scales, due)
            ended_here = ended[here]
            after = vectors.take(rows.take(trees.ended_at.take(ended_here)), axis=0)
            values[ended_here] = readers.read(after, trees.ended.take(ended_here))
        if not (node_scales.log_scale.any() or node_scales.wide.any()):
            return values, None
        trees.inherit(node_scales)
        return values, node_scales.take(trees.ended_at)

    def _multiply(self, vectors: FloatArray, sweep: MatrixSweep, sources: IntArray) -> None:
        """Compute the vectors of a sweep, one matrix after the other."""
        size, shift, matrices = vectors.shape[1], sweep.first_row - sweep.begin, self._matrices
        longest = max((batch[-1][1] - batch[0][0] for batch in sweep.batches), default=0)
        # What is multiplied is gathered into one place, which stays in the cache.
        scratch, gather = np.empty((longest, size)), vectors.take
        for batch in sweep.batches:
            first, last = batch[0][0], batch[-1][1]
            gather(sources[first:last], 0, scratch[: last - first], "clip")  # "clip" spares a copy
            for begin, end, place in batch:
                before, matrix = scratch[begin - first : end - first], matrices[place]
                after = vectors[begin + shift : end + shift]
                n_rows, n_columns = matrix.shape
                if n_rows == n_columns == size:  # whole rows: the faster call
                    before.dot(matrix, after)
                else:
                    np.matmul(before[:, :n_rows], matrix, out=after[:, :n_columns])
                    after[:, n_columns:] = 0


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
