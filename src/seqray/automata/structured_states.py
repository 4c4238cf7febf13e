"""Batches of states of a structured automaton, and the steps from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqray.automata.grouping import Grouping
from seqray.automata.scaling import rescale
from seqray.automata.structured_blocks import BlockMatrices
from seqray.automata.structured_stack import (
    Chosen,
    MatrixProducts,
    block_products,
    chosen_of,
    chosen_rows,
    stacked_products,
)
from seqray.automata.tree import sort_codes
from seqray.util.arrays import BoolArray, FloatArray, IntArray

MAX_BATCH_NUMBERS = 2**24
"""The most numbers, 128 MiB, in the vectors of states that are stepped at once."""

MAX_STACKED_SIZE = 32
"""The most states in a group whose matrices are stacked, so that one call multiplies by many."""

BLOCK_ROWS = 4
"""How many states of a batch are multiplied by each of the stacked matrices."""


class StructuredStates(NamedTuple):
    """A batch of states: state ``i`` is row ``rows[i]`` of what follows.

    Row ``r`` is ``vectors[r] * exp(log_scale[r])`` over the states of the group ``groups[r]``;
    beyond the size of that group the vector is 0. Rows of one group are neighbours, and some rows
    may be no state's. ``wide`` and ``age`` are those of `AutomatonStates`.
    """

    vectors: FloatArray
    groups: IntArray
    log_scale: FloatArray
    wide: BoolArray
    rows: IntArray
    age: int = 0


@dataclass(frozen=True, eq=False)
class StructuredSteps:
    """The steps of a structured automaton, and what they look up.

    Parameters
    ----------
    blocks
        The matrices.
    """

    blocks: BlockMatrices

    @property
    def grouping(self) -> Grouping:
        """The groups."""
        return self.blocks.grouping

    @cached_property
    def max_states(self) -> int:
        """How many states may be stepped at once, so that memory is bounded."""
        return max(1, MAX_BATCH_NUMBERS // self.grouping.max_size)

    def _fills(self, groups: IntArray) -> bool:
        """Whether each of these groups is as large as the largest."""
        return bool((self.grouping.sizes.take(groups) == self.grouping.max_size).all())

    @cached_property
    def targets(self) -> IntArray:
        """The group that each pair leads to; a pair's code is ``group * n_symbols + symbol``."""
        return self.grouping.next_group.ravel()

    @cached_property
    def _pairs(self) -> IntArray:
        """The codes of remembering pairs."""
        kept = self.blocks.remembering
        return kept.groups * self.grouping.n_symbols + kept.symbols

    @cached_property
    def _is_row(self) -> BoolArray:
        """Whether the matrix of each remembering pair is a single row."""
        return np.asarray(self.blocks.remembering.shapes[:, 0] == 1)

    @cached_property
    def _matrices(self) -> tuple[IntArray, IntArray]:
        """One pair for each matrix of more than one row, and the matrix of each such pair."""
        numbers = self.blocks.remembering.numbers[~self._is_row]
        _, firsts, which = np.unique(numbers, return_index=True, return_inverse=True)
        return np.flatnonzero(~self._is_row)[firsts], which

    @property
    def matrices(self) -> list[FloatArray]:
        """The matrices of more than one row."""
        return [self.blocks.remembering[pair] for pair in self._matrices[0].tolist()]

    @property
    def groups_of_matrices(self) -> tuple[IntArray, IntArray]:
        """The groups that each matrix leads from and to; of one that pairs share, the first."""
        pairs = self._pairs.take(self._matrices[0])
        return pairs // self.grouping.n_symbols, self.targets.take(pairs)

    @cached_property
    def matrix_of_pair(self) -> IntArray:
        """The number of each pair's matrix, -1 where it has none, or a single row."""
        matrix_of_pair = np.full(len(self.targets), -1)
        matrix_of_pair[self._pairs[~self._is_row]] = self._matrices[1]
        return matrix_of_pair

    @property
    def n_roots(self) -> int:
        """The number of roots: the vectors that a transition of rank 1 leads to, and the start.

        The root of a group is its entry; then comes the vector before the first symbol; then the
        matrices of one row.
        """
        return self.grouping.n_groups + 1 + int(self._is_row.sum())

    @cached_property
    def root_of_pair(self) -> IntArray:
        """The root that each pair of rank 1 leads to."""
        roots = self.targets.copy()
        roots[self._pairs[self._is_row]] = np.arange(self.grouping.n_groups + 1, self.n_roots)
        return roots

    @cached_property
    def group_of_root(self) -> IntArray:
        """The group that each root is a vector over."""
        grouping = self.grouping
        of_rows = self.targets.take(self._pairs[self._is_row])
        return np.concatenate([np.arange(grouping.n_groups), [grouping.start], of_rows])

    def root_vectors(self, roots: IntArray, initial: FloatArray) -> FloatArray:
        """Return the vectors of roots, shape ``(n_roots, max_size)``."""
        grouping = self.grouping
        groups = self.group_of_root.take(roots)
        vectors = self._entries[grouping.offsets.take(groups)]
        if not self._fills(groups):
            vectors[np.arange(grouping.max_size) >= grouping.sizes.take(groups)[:, None]] = 0
        vectors[roots == grouping.n_groups, : len(initial)] = initial
        rows = np.flatnonzero(roots > grouping.n_groups)
        if len(rows):
            self._fill_rows(vectors, rows, roots.take(rows) - grouping.n_groups - 1)
        return vectors

    def _fill_rows(self, vectors: FloatArray, rows: IntArray, numbers: IntArray) -> None:
        """Set rows to matrices that are single rows."""
        kept = self.blocks.remembering
        pairs = np.flatnonzero(self._is_row).take(numbers)
        columns = np.arange(self.grouping.max_size)
        begins = kept.begins.take(pairs)[:, None]
        values = kept.values.take(begins + columns, mode="clip")
        vectors[rows] = np.where(columns < kept.shapes[pairs, 1:], values, 0)

    @cached_property
    def place_of_pair(self) -> IntArray:
        """Numbers that sort pairs by the group that they lead to."""
        places = np.empty(len(self.targets), np.int64)
        places[np.argsort(self.targets, kind="stable")] = np.arange(len(places))
        return places

    @cached_property
    def max_age(self) -> int:
        """How many steps a vector in the safe range can make without leaving float64's."""
        parts = self.blocks.remembering.values, self.blocks.emission[:, :-1], self.blocks.entry
        sizes = [np.abs(part) for part in parts]
        least = np.log10([each.min(where=each > 0, initial=1) for each in sizes])
        most = np.log10([each.max(initial=1) for each in sizes])
        smallest, largest = min(least[0], least[1] + least[2]), max(most[0], most[1] + most[2])
        spread = np.log10(self.grouping.max_size) + largest - smallest
        return int(np.clip(150 / (1e-9 + spread), 1, 16))

    @cached_property
    def readers(self) -> FloatArray:
        """What reads a state, see `readers_until`, with the automaton's own weights of the end."""
        return self.readers_until(self.blocks.emission[:, -1])

    @cached_property
    def _entries(self) -> FloatArray:
        """Windows of the largest group's size, one from each number of the entries on."""
        size = self.grouping.max_size
        numbers = np.append(self.blocks.entry, np.zeros(size))
        windows: FloatArray = sliding_window_view(numbers, size)
        return windows

    def start(self, initial: FloatArray) -> StructuredStates:
        """Return a batch of one: the state before the first symbol."""
        vectors = np.zeros((1, self.grouping.max_size))
        vectors[0, : len(initial)] = initial
        n_rows = 1 if self._stacked is None else BLOCK_ROWS
        vectors, groups = np.repeat(vectors, n_rows, axis=0), np.full(n_rows, self.grouping.start)
        log_scale = np.zeros(n_rows)
        wide = rescale(vectors, log_scale)
        return StructuredStates(vectors, groups, log_scale, wide, np.zeros(1, int))

    def step(
        self, states: StructuredStates, parents: IntArray, symbols: IntArray
    ) -> StructuredStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        origins: IntArray = states.rows.take(parents)
        pairs: IntArray = states.groups.take(origins) * self.grouping.n_symbols + symbols
        places = self.place_of_pair.take(pairs)
        order = None if (places[1:] >= places[:-1]).all() else sort_codes(places)
        if order is not None:
            origins, pairs = origins.take(order), pairs.take(order)
        origins, pairs, rows = self.laid_out(origins, pairs)
        if order is not None:
            sorted_rows, rows = rows, np.empty_like(rows)
            rows[order] = sorted_rows
        vectors = self._moved(states.vectors, origins, pairs)
        log_scale, wide = states.log_scale.take(origins), states.wide.take(origins)
        groups = self.targets.take(pairs)
        if states.age + 1 < self.max_age:
            return StructuredStates(vectors, groups, log_scale, wide, rows, states.age + 1)
        wide |= rescale(vectors, log_scale)
        return StructuredStates(vectors, groups, log_scale, wide, rows)

    def laid_out(self, origins: IntArray, runs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Fill up runs of equal numbers to whole blocks; return both, and where each is.

        Where matrices are not stacked, nothing is filled up.
        """
        if self._stacked is None:
            return origins, runs, np.arange(len(runs))
        begins = run_begins(runs)
        lengths = np.empty_like(begins)
        np.subtract(begins[1:], begins[:-1], out=lengths[:-1])
        lengths[-1:] = len(runs) - begins[-1:]
        n_rows = (lengths + (BLOCK_ROWS - 1)) // BLOCK_ROWS * BLOCK_ROWS
        ends = n_rows.cumsum()
        slots = (ends - n_rows - begins).repeat(lengths)
        slots += np.arange(len(runs))
        laid = np.zeros(int(ends[-1]) if len(ends) else 0, np.int64)
        laid[slots] = origins
        return laid, runs.take(begins).repeat(n_rows), slots

    def _moved(self, before: FloatArray, origins: IntArray, pairs: IntArray) -> FloatArray:
        """Return the vectors after reading; equal pairs are neighbours."""
        before = before.take(origins, axis=0)
        numbers = self.matrix_of_pair.take(pairs)
        forgets = np.flatnonzero(numbers < 0)
        if len(forgets) == len(pairs):
            return self._entered(before, pairs)
        vectors = self.multiplied(before, numbers)
        if len(forgets):
            vectors[forgets] = self._entered(before.take(forgets, axis=0), pairs.take(forgets))
        return vectors

    def matrix_products(
        self, vectors: FloatArray, origins: Chosen, numbers: IntArray
    ) -> MatrixProducts:
        """Return the products of chosen vectors, with the matrix of a number each."""
        if self._stacked is not None:
            return stacked_products(vectors, origins, self._stacked, numbers)
        order = sort_codes(numbers)
        rows = np.empty_like(order)
        rows[order] = np.arange(len(order))
        origins = chosen_of(origins, order)
        before = chosen_rows(vectors, origins)
        return MatrixProducts(self.multiplied(before, numbers.take(order)), origins, rows)

    def multiplied(self, before: FloatArray, numbers: IntArray) -> FloatArray:
        """Return the products of vectors, `laid_out`, with the matrices of numbers; any for -1."""
        if self._stacked is not None:
            return block_products(before, self._stacked, numbers[::BLOCK_ROWS])
        runs, kept, size = runs_of(numbers), self.blocks.remembering, self.grouping.max_size
        used = numbers.take([begin for begin, _ in runs])
        pairs = self._matrices[0].take(used)  # the last for -1, whose product is not used
        shapes = kept.shapes.take(pairs, axis=0)
        is_filled = bool((shapes[:, 1] == size).all())
        vectors = np.empty_like(before) if is_filled else np.zeros_like(before)
        places = kept.begins.take(pairs).tolist(), shapes.tolist()
        for (begin, end), place, (n_rows, n_columns) in zip(runs, *places, strict=True):
            matrix = kept.values[place : place + n_rows * n_columns].reshape(n_rows, n_columns)
            if n_rows == n_columns == size:  # whole rows: the faster call
                before[begin:end].dot(matrix, vectors[begin:end])
            else:
                state = before[begin:end, :n_rows]
                np.matmul(state, matrix, out=vectors[begin:end, :n_columns])
        return vectors

    @property
    def is_stacked(self) -> bool:
        """Whether matrices are small enough to be stacked."""
        return self._stacked is not None

    @cached_property
    def _stacked(self) -> FloatArray | None:
        """Each matrix of more than one row, filled up with 0, as one row, if they are small."""
        size, pairs = self.grouping.max_size, self._matrices[0]
        if size > MAX_STACKED_SIZE or len(pairs) * size**2 > MAX_BATCH_NUMBERS:
            return None
        stacked = np.zeros((len(pairs), size, size))
        for some, matrices in self.blocks.remembering.batches(pairs):
            _, n_rows, n_columns = matrices.shape
            stacked[some, :n_rows, :n_columns] = matrices
        return stacked.reshape(len(pairs), size**2)

    def _entered(self, before: FloatArray, pairs: IntArray) -> FloatArray:
        """Return the vectors after transitions of rank 1."""
        grouping = self.grouping
        groups, symbols = np.divmod(pairs, grouping.n_symbols)
        columns = self.readers[symbols * grouping.n_states + grouping.offsets.take(groups)]
        weights = np.einsum("ij,ij->i", before, columns)
        roots = self.root_of_pair.take(pairs)
        vectors = self.root_vectors(roots, np.empty(0))
        vectors *= weights[:, None]
        return vectors

    def windows_of(self, readers: FloatArray) -> FloatArray:
        """Return readers, one row for each state, in windows of the largest group's size.

        Window ``i`` holds the rows from state ``i`` on, one after the other. One that reaches
        beyond its group is harmless: a vector is 0 there.
        """
        size, n_readers = self.grouping.max_size, readers.shape[1]
        numbers = np.zeros((len(readers) + size, n_readers))
        numbers[: len(readers)] = readers
        windows: FloatArray = sliding_window_view(numbers.ravel(), size * n_readers)[::n_readers]
        return windows

    def read(self, states: StructuredStates, windows: FloatArray) -> FloatArray:
        """Return the products of rows and readers, see `windows_of`.

        Rows are read as they are stored, without their scales.
        """
        begins = self.grouping.offsets.take(states.groups)
        if self._stacked is not None:
            return block_products(states.vectors, windows, begins[::BLOCK_ROWS])
        size = self.grouping.max_size
        values = np.empty((len(begins), windows.shape[1] // size))
        for begin, end in runs_of(begins):
            reader = windows[begins[begin]].reshape(size, -1)
            np.matmul(states.vectors[begin:end], reader, out=values[begin:end])
        return values

    def readers_until(self, final: FloatArray) -> FloatArray:
        """Return what reads a state in windows: each symbol's weights, and last those of the end.

        The reader of a symbol begins at window ``code * n_states`` for the first state. Where
        the matrix is a single row, which is a root, the weight is 1. A window that reaches beyond
        its group is harmless: a vector is 0 there.
        """
        n_states, n_symbols = self.grouping.n_states, self.grouping.n_symbols
        numbers = np.zeros(n_states * (n_symbols + 1) + self.grouping.max_size)
        table = numbers[: n_states * (n_symbols + 1)].reshape(n_symbols + 1, n_states)
        table[:-1], table[-1] = self.blocks.emission[:, :-1].T, final
        groups, symbols = np.divmod(self._pairs[self._is_row], n_symbols)
        table[symbols, self.grouping.offsets.take(groups)] = 1
        windows: FloatArray = sliding_window_view(numbers, self.grouping.max_size)
        return windows

    @cached_property
    def readable_pairs(self) -> IntArray:
        """Of each pair, its row in `readers_before`, -1 where its matrix has no or a single row."""
        rows = np.full(len(self.targets), -1)
        pairs = self._pairs[~self._is_row]
        rows[pairs] = np.arange(len(pairs))
        return rows

    def readers_before(self, readers: FloatArray) -> FloatArray:
        """Return what reads a state before the matrix of a pair: M x for each reader x after it.

        Shape ``(n_pairs, n_symbols + 1, max_size)``; see `readable_pairs` and `readers_until`.
        """
        grouping, pairs = self.grouping, np.flatnonzero(~self._is_row)
        begins = grouping.offsets.take(self.targets.take(self._pairs.take(pairs)))
        columns = np.arange(grouping.n_symbols + 1) * grouping.n_states
        before = np.zeros((len(pairs), len(columns), grouping.max_size))
        for some, matrices in self.blocks.remembering.batches(pairs):
            _, n_rows, n_columns = matrices.shape
            after = readers[np.add.outer(begins[some], columns)][:, :, :n_columns]
            before[some, :, :n_rows] = after @ matrices.transpose(0, 2, 1)
        return before

    def spread(self, vectors: FloatArray, groups: IntArray) -> FloatArray:
        """Return vectors over all states, of vectors over one group each."""
        whole = np.zeros((len(vectors), self.grouping.n_states))
        for begin, end in runs_of(groups):
            here = self.grouping.states(int(groups[begin]))
            whole[begin:end, here] = vectors[begin:end, : here.stop - here.start]
        return whole


def run_begins(codes: IntArray) -> IntArray:
    """Return where runs of equal numbers begin.

    >>> run_begins(np.array([3, 3, 5, 4]))
    array([0, 2, 3])
    """
    differs = np.ones(len(codes), bool)
    np.not_equal(codes[1:], codes[:-1], out=differs[1:])
    return np.flatnonzero(differs)


def runs_of(codes: IntArray) -> list[tuple[int, int]]:
    """Return where runs of equal numbers begin and end.

    >>> runs_of(np.array([3, 3, 5, 4]))
    [(0, 2), (2, 3), (3, 4)]
    """
    if not len(codes):
        return []
    inner = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return list(pairwise([0, *inner.tolist(), len(codes)]))
