"""Batches of states of a structured automaton, and the steps from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqray.automata.grouping import Grouping, Remembering
from seqray.automata.scaling import rescale, too_wide
from seqray.automata.tree import sort_codes
from seqray.util.arrays import BoolArray, FloatArray, IntArray


class StructuredStates(NamedTuple):
    """A batch of states: state ``i`` is row ``rows[i]`` of all that follows.

    Row ``r`` is ``vectors[r] * exp(log_scale[r])`` over the states of ``groups[r]``; beyond the
    size of that group the vector is 0. Rows are sorted by group. ``wide`` and ``age`` are those of
    `AutomatonStates`.
    """

    vectors: FloatArray
    groups: IntArray
    log_scale: FloatArray
    wide: BoolArray
    rows: IntArray
    age: int = 0


@dataclass(frozen=True, eq=False)
class StepTables:
    """What the steps of a structured automaton look up.

    Parameters
    ----------
    grouping
        The groups.
    emission
        The weight of each symbol in each state, shape ``(n_states, n_symbols + 1)``.
    entry
        The vectors with which groups are entered, shape ``(n_states,)``.
    remembering
        The matrices.
    """

    grouping: Grouping
    emission: FloatArray
    entry: FloatArray
    remembering: Remembering

    @cached_property
    def targets(self) -> IntArray:
        """The group that each pair leads to; a pair's code is ``group * n_symbols + symbol``."""
        return self.grouping.next_group.ravel()

    @cached_property
    def matrix_of_pair(self) -> IntArray:
        """The number of each pair's matrix, -1 where it has none."""
        return self.remembering.index.ravel()

    @cached_property
    def place_of_pair(self) -> IntArray:
        """Numbers that sort pairs by the group that they lead to."""
        places = np.empty(len(self.targets), np.int64)
        places[np.argsort(self.targets, kind="stable")] = np.arange(len(places))
        return places

    @cached_property
    def entries(self) -> FloatArray:
        """The entry of each group, 0 beyond its size, shape ``(n_groups, max_size)``."""
        return self.padded(self.entry)

    @cached_property
    def columns(self) -> FloatArray:
        """Windows of the emission, one column after the other, each ``max_size`` long.

        A window that reaches beyond its group is harmless: a state is 0 there.
        """
        n_states, n_columns = self.emission.shape
        flat = np.zeros(n_states * n_columns + self.grouping.max_size)
        flat[: n_states * n_columns] = self.emission.T.ravel()
        windows: FloatArray = sliding_window_view(flat, self.grouping.max_size)
        return windows

    def padded(self, vector: FloatArray) -> FloatArray:
        """Return a vector over all states as one row per group, 0 beyond the group's size."""
        grouping = self.grouping
        rows = np.zeros((grouping.n_groups, grouping.max_size))
        within = np.arange(grouping.n_states) - grouping.offsets[grouping.group_of_state]
        rows[grouping.group_of_state, within] = vector
        return rows

    def start(self, initial: FloatArray) -> StructuredStates:
        """Return a batch of one: the state before the first symbol."""
        vectors, log_scale = np.zeros((1, self.grouping.max_size)), np.zeros(1)
        vectors[0, : len(initial)] = initial
        rescale(vectors, log_scale)
        groups = np.full(1, self.grouping.start)
        rows = np.zeros(1, np.int64)
        return StructuredStates(vectors, groups, log_scale, too_wide(vectors), rows)

    def step(
        self, states: StructuredStates, parents: IntArray, symbols: IntArray
    ) -> StructuredStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        origins = states.rows[parents]
        pairs = states.groups[origins] * self.grouping.n_symbols + symbols
        places = self.place_of_pair[pairs]
        rows = np.arange(len(parents))
        if not (places[1:] >= places[:-1]).all():
            order = sort_codes(places)
            origins, pairs = origins[order], pairs[order]
            rows[order] = np.arange(len(parents))
        vectors = self._moved(states.vectors, origins, pairs)
        log_scale, wide = states.log_scale.take(origins), states.wide.take(origins)
        groups = self.targets.take(pairs)
        if states.age + 1 < self.max_age:
            return StructuredStates(vectors, groups, log_scale, wide, rows, states.age + 1)
        rescale(vectors, log_scale)
        return StructuredStates(vectors, groups, log_scale, wide | too_wide(vectors), rows)

    @cached_property
    def max_age(self) -> int:
        """How many steps a vector in the safe range can make without leaving float64's."""
        parts = self.remembering.values, self.emission[:, :-1], self.entry
        sizes = [np.abs(part) for part in parts]
        least = [float(each.min(where=each > 0, initial=1)) for each in sizes]
        most = [float(each.max(initial=0)) for each in sizes]
        smallest = min(least[0], least[1] * least[2]) or np.finfo(float).tiny
        largest = self.grouping.max_size * max(most[0], most[1] * most[2])
        return int(np.clip(150 / (1e-9 + np.log10(max(1, largest) / smallest)), 1, 16))

    def spread(self, vectors: FloatArray, groups: IntArray) -> FloatArray:
        """Return vectors over all states, of vectors over one group each."""
        whole = np.zeros((len(vectors), self.grouping.n_states))
        for begin, end in runs_of(groups):
            here = self.grouping.states(int(groups[begin]))
            whole[begin:end, here] = vectors[begin:end, : here.stop - here.start]
        return whole

    def readers(self, prefix_final: FloatArray) -> FloatArray:
        """Return Mσ α̃∞ for each symbol, and last the end, shape ``(n_states, n_symbols + 1)``."""
        grouping, kept = self.grouping, self.remembering
        entered = np.add.reduceat(self.entry * prefix_final, grouping.offsets[:-1])
        readers = np.array(self.emission)
        readers[:, :-1] *= entered[grouping.next_group][grouping.group_of_state]
        for matrix, group, symbol in zip(
            kept.all, kept.groups.tolist(), kept.symbols.tolist(), strict=True
        ):
            target = grouping.states(int(grouping.next_group[group, symbol]))
            readers[grouping.states(group), symbol] = matrix @ prefix_final[target]
        return readers

    def _moved(self, before: FloatArray, origins: IntArray, pairs: IntArray) -> FloatArray:
        """Return the vectors after reading; equal pairs are neighbours."""
        numbers = self.matrix_of_pair.take(pairs)
        forgetful = numbers < 0
        if forgetful.all():
            return self._entered(before[origins], pairs)
        vectors = np.zeros((len(pairs), self.grouping.max_size))
        if forgetful.any():
            vectors[forgetful] = self._entered(before[origins[forgetful]], pairs[forgetful])
        matrices = self.remembering.all
        for begin, end in runs_of(pairs):
            if numbers[begin] >= 0:
                matrix = matrices[numbers[begin]]
                n_rows, n_columns = matrix.shape
                state = before[origins[begin:end], :n_rows]
                np.matmul(state, matrix, out=vectors[begin:end, :n_columns])
        return vectors

    def _entered(self, before: FloatArray, pairs: IntArray) -> FloatArray:
        """Return the vectors after forgetful transitions."""
        groups, symbols = np.divmod(pairs, self.grouping.n_symbols)
        places = symbols * self.grouping.n_states + self.grouping.offsets.take(groups)
        weights = np.einsum("ij,ij->i", before, self.columns[places])
        return weights[:, None] * self.entries.take(self.targets.take(pairs), axis=0)

    def read(self, states: StructuredStates, readers: FloatArray) -> FloatArray:
        """Return the products of states and the readers of all states, one row per state.

        ``readers`` have one row for each state of the automaton. States are read as they are
        stored: without their scales, and in the order of their rows.
        """
        values = np.empty((len(states.groups), readers.shape[1]))
        for begin, end in runs_of(states.groups):
            here = self.grouping.states(int(states.groups[begin]))
            size = here.stop - here.start
            np.matmul(states.vectors[begin:end, :size], readers[here], out=values[begin:end])
        return values


def runs_of(codes: IntArray) -> list[tuple[int, int]]:
    """Return where runs of equal numbers begin and end.

    >>> runs_of(np.array([3, 3, 5, 4]))
    [(0, 2), (2, 3), (3, 4)]
    """
    if not len(codes):
        return []
    inner = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return list(pairwise([0, *inner.tolist(), len(codes)]))
