"""The matrices of a structured automaton, block by block, and their products with vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.grouping import Grouping, Remembering
from seqray.automata.transitions import EdgeBlock
from seqray.util.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BlockMatrices:
    """Mσ of each symbol: one block for each group, and 0 everywhere else.

    Parameters
    ----------
    grouping
        The groups.
    emission
        The weight of each symbol in each state, the end last, shape ``(n_states, n_symbols + 1)``.
    entry
        The vectors with which forgetful transitions enter groups, shape ``(n_states,)``.
    remembering
        The matrices of the other transitions.

    Examples
    --------
    >>> grouping = Grouping.by_last_symbol([2])
    >>> emission, entry = np.array([[0.5, 0.5], [0.5, 0.5], [0, 1]]), np.array([1, 0.75, 0.25])
    >>> blocks = BlockMatrices(grouping, emission, entry, Remembering(grouping, {}))
    >>> blocks.block(1, 0)
    array([[0.375, 0.125],
           [0.   , 0.   ]])
    """

    grouping: Grouping
    emission: FloatArray
    entry: FloatArray
    remembering: Remembering

    def block(self, group: int, code: int) -> FloatArray:
        """Return the matrix of a symbol from a group to the next one."""
        number = int(self.remembering.index[group, code])
        if number >= 0:
            return self.remembering[number]
        target = self.grouping.states(int(self.grouping.next_group[group, code]))
        column = self.emission[self.grouping.states(group), code]
        return np.multiply.outer(column, self.entry[target])

    def blocks(self) -> Iterator[EdgeBlock]:
        """Yield all blocks, by symbol, then by group."""
        offsets = self.grouping.offsets.tolist()
        for code, targets in enumerate(self.grouping.next_group.T.tolist()):
            for group, target in enumerate(targets):
                yield EdgeBlock(code, offsets[group], offsets[target], self.block(group, code))

    def remembered(self) -> Iterator[tuple[FloatArray, IntArray, IntArray, IntArray]]:
        """Yield matrices in batches, with their origins, their symbols' codes and their targets.

        Origins and targets are states, shapes ``(n, n_rows)`` and ``(n, n_columns)``.
        """
        offsets, kept = self.grouping.offsets, self.remembering
        targets = self.grouping.next_group[kept.groups, kept.symbols]
        for pairs, matrices in kept.batches():
            _, n_rows, n_columns = matrices.shape
            yield (
                matrices,
                np.add.outer(offsets[kept.groups[pairs]], np.arange(n_rows)),
                kept.symbols[pairs],
                np.add.outer(offsets[targets[pairs]], np.arange(n_columns)),
            )

    @cached_property
    def forgetful(self) -> BoolArray:
        """Whether each state forgets when it reads a symbol, shape ``(n_states, n_symbols)``."""
        return (self.remembering.index < 0)[self.grouping.group_of_state]

    @property
    def targets(self) -> IntArray:
        """The group that each state leads to with each symbol, shape ``(n_states, n_symbols)``."""
        return self.grouping.next_group[self.grouping.group_of_state]

    def times(self, vector: FloatArray) -> FloatArray:
        """Return Mσ x of each symbol, shape ``(n_states, n_symbols)``."""
        entered = np.add.reduceat(self.entry * vector, self.grouping.offsets[:-1])
        products = self.emission[:, :-1] * entered[self.targets]
        for matrices, origins, codes, targets in self.remembered():
            products[origins, codes[:, None]] = (matrices @ vector[targets][:, :, None])[:, :, 0]
        return products

    def advance(self, state: FloatArray) -> FloatArray:
        """Return xᵀ ΣMσ, the sum of the states after one more symbol."""
        leaving = np.where(self.forgetful, state[:, None] * self.emission[:, :-1], 0)
        by_pair = np.add.reduceat(leaving, self.grouping.offsets[:-1])
        n_groups = self.grouping.n_groups
        by_target = np.bincount(self.grouping.next_group.ravel(), by_pair.ravel(), n_groups)
        after = by_target[self.grouping.group_of_state] * self.entry
        for matrices, origins, _, targets in self.remembered():
            np.add.at(after, targets, (state[origins][:, None] @ matrices)[:, 0])
        return after

    def able(self, final: FloatArray) -> BoolArray:
        """Whether a path leads from each state to one whose final weight is not 0."""
        able: BoolArray = final != 0
        emits = self.forgetful & (self.emission[:, :-1] != 0)
        while not able.all():
            enters = np.logical_or.reduceat(able & (self.entry != 0), self.grouping.offsets[:-1])
            wider = able | (emits & enters[self.targets]).any(axis=1)
            for matrices, origins, _, targets in self.remembered():
                leads = ((matrices != 0) & able[targets][:, None]).any(axis=2)
                wider[origins[leads]] = True
            if wider.sum() == able.sum():
                break
            able = wider
        return able
