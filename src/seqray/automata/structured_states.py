"""Batches of states of a structured automaton, and the steps from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqray.automata.grouping import Grouping
from seqray.automata.scaling import rescale, too_wide
from seqray.automata.structured_blocks import BlockMatrices
from seqray.automata.tree import sort_codes
from seqray.util.arrays import BoolArray, FloatArray, IntArray

MAX_BATCH_NUMBERS = 2**24
"""The most numbers, 128 MiB, in the vectors of states that are stepped at once."""

MAX_STACKED_SIZE = 32
"""The most states in a group whose matrices are stacked, so that one call multiplies by many."""

BLOCK_ROWS = 4
"""How many vectors are multiplied by each of the stacked matrices."""

GATHERED_NUMBERS = 2**17
"""How many numbers of stacked matrices, 1 MiB, are copied at a time, so that they stay in the
cache."""


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
    def matrix_of_pair(self) -> IntArray:
        """The number of each pair's matrix, -1 where it has none."""
        return self.blocks.remembering.index.ravel()

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
        """What `read_rows` reads: the weight of each symbol, and last that of the end."""
        return self.readers_until(self.blocks.emission[:, -1])

    @cached_property
    def _entries(self) -> FloatArray:
        return self._windows(self.blocks.entry)

    def _windows(self, numbers: FloatArray) -> FloatArray:
        """Return windows of the largest group's size, one from each number on.

        One that reaches beyond its group is harmless where it meets a state: that is 0 there.
        """
        size = self.grouping.max_size
        windows: FloatArray = sliding_window_view(np.append(numbers, np.zeros(size)), size)
        return windows

    def start(self, initial: FloatArray) -> StructuredStates:
        """Return a batch of one: the state before the first symbol."""
        vectors = np.zeros((1, self.grouping.max_size))
        vectors[0, : len(initial)] = initial
        return self._fresh(vectors, np.full(1, self.grouping.start))

    def roots(self, initial: FloatArray) -> StructuredStates:
        """Return the states that enter each group by a forgetful transition, and last the start."""
        grouping = self.grouping
        vectors = np.zeros((grouping.n_groups + 1, grouping.max_size))
        vectors[:-1] = self.padded(self.blocks.entry[:, None])[:, :, 0]
        vectors[-1, : len(initial)] = initial
        return self._fresh(vectors, np.append(np.arange(grouping.n_groups), grouping.start))

    def _fresh(self, vectors: FloatArray, groups: IntArray) -> StructuredStates:
        """Return states of vectors over one group each, every one of which fills a block."""
        n_rows = 1 if self._stacked is None else BLOCK_ROWS
        vectors, groups = np.repeat(vectors, n_rows, axis=0), np.repeat(groups, n_rows)
        log_scale, rows = np.zeros(len(vectors)), np.arange(0, len(vectors), n_rows)
        rescale(vectors, log_scale)
        return StructuredStates(vectors, groups, log_scale, too_wide(vectors), rows)

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
        origins, pairs, rows = self._laid_out(origins, pairs)
        if order is not None:
            sorted_rows, rows = rows, np.empty_like(rows)
            rows[order] = sorted_rows
        vectors = self._moved(states.vectors, origins, pairs)
        log_scale, wide = states.log_scale.take(origins), states.wide.take(origins)
        groups = self.targets.take(pairs)
        if states.age + 1 < self.max_age:
            return StructuredStates(vectors, groups, log_scale, wide, rows, states.age + 1)
        rescale(vectors, log_scale)
        return StructuredStates(vectors, groups, log_scale, wide | too_wide(vectors), rows)

    def _laid_out(self, origins: IntArray, pairs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Fill up each pair's run to whole blocks; return origins and pairs, and where each is."""
        if self._stacked is None:
            return origins, pairs, np.arange(len(pairs))
        begins = run_begins(pairs)
        lengths = np.append(begins[1:], len(pairs)) - begins
        n_rows = -(-lengths // BLOCK_ROWS) * BLOCK_ROWS
        slots = np.arange(len(pairs)) + np.repeat(np.cumsum(n_rows) - n_rows - begins, lengths)
        laid = np.zeros(int(n_rows.sum()), np.int64)
        laid[slots] = origins
        return laid, np.repeat(pairs.take(begins), n_rows), slots

    def _moved(self, before: FloatArray, origins: IntArray, pairs: IntArray) -> FloatArray:
        """Return the vectors after reading; equal pairs are neighbours."""
        before = before.take(origins, axis=0)
        numbers = self.matrix_of_pair.take(pairs)
        forgets = np.flatnonzero(numbers < 0)
        if len(forgets) == len(pairs):
            return self._entered(before, pairs)
        if self._stacked is not None:
            vectors = _stacked_products(before, self._stacked, numbers[::BLOCK_ROWS])
        else:
            vectors = self._products(before, pairs, numbers)
        if len(forgets):
            vectors[forgets] = self._entered(before.take(forgets, axis=0), pairs.take(forgets))
        return vectors

    def _products(self, before: FloatArray, pairs: IntArray, numbers: IntArray) -> FloatArray:
        """Return the products of vectors and matrices, one run of equal pairs after the other."""
        runs = runs_of(pairs)
        firsts = [begin for begin, _ in runs]
        fills = self._fills(self.targets.take(pairs.take(firsts)))
        vectors = np.empty_like(before) if fills else np.zeros_like(before)
        matrices, is_whole = self.blocks.remembering.all, self._is_whole
        for (begin, end), number in zip(runs, numbers.take(firsts).tolist(), strict=True):
            if number < 0:
                continue
            matrix = matrices[number]
            if is_whole[number]:  # whole rows: the faster call
                before[begin:end].dot(matrix, vectors[begin:end])
            else:
                n_rows, n_columns = matrix.shape
                state = before[begin:end, :n_rows]
                np.matmul(state, matrix, out=vectors[begin:end, :n_columns])
        return vectors

    @cached_property
    def _stacked(self) -> FloatArray | None:
        """All matrices in one array, filled up with 0, where they are small."""
        size, kept = self.grouping.max_size, self.blocks.remembering
        if size > MAX_STACKED_SIZE or len(kept) * size**2 > MAX_BATCH_NUMBERS:
            return None
        stacked = np.zeros((len(kept), size, size))
        for whole, matrix in zip(stacked, kept.all, strict=True):
            whole[: matrix.shape[0], : matrix.shape[1]] = matrix
        return stacked

    @cached_property
    def _is_whole(self) -> list[bool]:
        """Whether each matrix leads from a group of the largest size to another."""
        is_whole: list[bool] = (
            self.blocks.remembering.shapes.min(axis=1) == self.grouping.max_size
        ).tolist()
        return is_whole

    def _entered(self, before: FloatArray, pairs: IntArray) -> FloatArray:
        """Return the vectors after forgetful transitions."""
        grouping = self.grouping
        groups, symbols = np.divmod(pairs, grouping.n_symbols)
        targets = self.targets.take(pairs)
        columns = self.readers[symbols * grouping.n_states + grouping.offsets.take(groups)]
        weights = np.einsum("ij,ij->i", before, columns)
        vectors: FloatArray = weights[:, None] * self._entries[grouping.offsets.take(targets)]
        if not self._fills(targets):
            vectors[np.arange(grouping.max_size) >= grouping.sizes.take(targets)[:, None]] = 0
        return vectors

    def padded(self, readers: FloatArray) -> FloatArray:
        """Return readers, one row for each state, by group: ``(n_groups, max_size, n_readers)``."""
        grouping = self.grouping
        padded = np.zeros((grouping.n_groups, grouping.max_size, readers.shape[1]))
        groups = grouping.group_of_state
        padded[groups, np.arange(grouping.n_states) - grouping.offsets.take(groups)] = readers
        return padded

    def read(self, states: StructuredStates, readers: FloatArray) -> FloatArray:
        """Return the products of rows and `padded` readers.

        Rows are read as they are stored, without their scales.
        """
        if self._stacked is not None:
            return _stacked_products(states.vectors, readers, states.groups[::BLOCK_ROWS])
        values = np.empty((len(states.groups), readers.shape[2]))
        for begin, end in runs_of(states.groups):
            reader = readers[states.groups[begin]]
            np.matmul(states.vectors[begin:end], reader, out=values[begin:end])
        return values

    def readers_until(self, final: FloatArray) -> FloatArray:
        """Return readers as `readers`, with another number in each state for the end."""
        return self._windows(np.append(self.blocks.emission[:, :-1].T, final))

    def read_rows(
        self, states: StructuredStates, rows: IntArray, readers: FloatArray, codes: IntArray
    ) -> FloatArray:
        """Return the product of each of some rows with the reader of a symbol, or of the end."""
        begins = self.grouping.offsets.take(states.groups.take(rows))
        windows = readers[codes * self.grouping.n_states + begins]
        return np.asarray(np.einsum("ij,ij->i", states.vectors.take(rows, axis=0), windows))

    def spread(self, vectors: FloatArray, groups: IntArray) -> FloatArray:
        """Return vectors over all states, of vectors over one group each."""
        whole = np.zeros((len(vectors), self.grouping.n_states))
        for begin, end in runs_of(groups):
            here = self.grouping.states(int(groups[begin]))
            whole[begin:end, here] = vectors[begin:end, : here.stop - here.start]
        return whole


def _stacked_products(vectors: FloatArray, stacked: FloatArray, numbers: IntArray) -> FloatArray:
    """Return the product of each block of rows with the matrix of a number, the last for -1."""
    _, size, n_columns = stacked.shape
    blocks = vectors.reshape(-1, BLOCK_ROWS, size)
    products = np.empty((len(blocks), BLOCK_ROWS, n_columns))
    n_together = max(1, GATHERED_NUMBERS // (size * n_columns))
    for begin in range(0, len(blocks), n_together):
        here = slice(begin, begin + n_together)
        np.matmul(blocks[here], stacked[numbers[here]], out=products[here])
    return products.reshape(-1, n_columns)


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
