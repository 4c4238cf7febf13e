"""The layout of a structured automaton that is fitted: its groups, states and matrices.

A group is a context, or one for each position class. Groups of one context have the same number of
states and share the matrices that say which state follows which; each has its own emissions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.extraction.structured.contexts import Contexts
from seqray.extraction.structured.positions import classes_of
from seqray.util.arrays import BoolArray, FloatArray, IntArray


class TargetMatrices(NamedTuple):
    """Where the matrices that lead to one context lie among all numbers, one row after the other.

    The first row is the entry of the context.
    """

    numbers: slice
    n_rows: int
    n_columns: int


@dataclass(frozen=True, eq=False)
class FitLayout:
    """How many states every context has, and which transitions remember.

    Parameters
    ----------
    contexts
        The contexts.
    position_begins
        Where position classes after the first begin; empty: there is one class.
    sizes
        How many states each context has, shape ``(n_contexts,)``.
    remembers
        Which pairs of a context and a symbol have a matrix, shape ``(n_contexts, n_symbols)``.
    n_outcomes
        How many outcomes a state has: every symbol, the end, and elsewhere if the box leaks.
    """

    contexts: Contexts
    position_begins: IntArray
    sizes: IntArray
    remembers: BoolArray
    n_outcomes: int

    @property
    def n_symbols(self) -> int:
        """The number of symbols."""
        return int(self.contexts.next_context.shape[1])

    @property
    def n_classes(self) -> int:
        """The number of position classes."""
        return len(self.position_begins) + 1

    @cached_property
    def max_size(self) -> int:
        """The number of states of the largest context."""
        return int(self.sizes.max())

    @cached_property
    def offsets(self) -> IntArray:
        """Where the states of each context begin, within one position class."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def n_rows(self) -> int:
        """The number of rows of the emissions: every state of every position class."""
        return self.n_classes * int(self.offsets[-1])

    @cached_property
    def group_offsets(self) -> IntArray:
        """Where the emissions of each group begin; a group is ``class * n_contexts + context``."""
        starts = np.arange(self.n_classes)[:, None] * self.offsets[-1] + self.offsets[:-1]
        return np.append(starts.ravel(), self.n_rows)

    @cached_property
    def group_sizes(self) -> IntArray:
        """How many states each group has."""
        return np.tile(self.sizes, self.n_classes)

    def groups(self, tree: PrefixTree) -> IntArray:
        """Return the group of each node of a tree."""
        classes = classes_of(tree.depth, self.position_begins)
        return classes * len(self.contexts) + self.contexts.of_nodes(tree)

    # The matrices, by the context they lead to ----------------------------------------------------

    @cached_property
    def pairs(self) -> IntArray:
        """The pairs that remember as ``context, symbol, target``, by target: ``(n_pairs, 3)``."""
        origins, symbols = np.nonzero(self.remembers)
        targets = self.contexts.next_context[origins, symbols]
        order = np.argsort(targets, kind="stable")
        return np.stack([origins, symbols, targets], axis=1)[order]

    @cached_property
    def pair_of(self) -> IntArray:
        """The pair of each context and symbol, -1 where there is none."""
        table = np.full(self.remembers.shape, -1)
        table[self.pairs[:, 0], self.pairs[:, 1]] = np.arange(len(self.pairs))
        return table

    @cached_property
    def pair_shapes(self) -> IntArray:
        """The shape of each pair's matrix, ``(n_pairs, 2)``."""
        return self.sizes[self.pairs[:, [0, 2]]]

    @cached_property
    def targets(self) -> list[TargetMatrices]:
        """Where the matrices that lead to each context lie."""
        origin_sizes, targets = self.sizes[self.pairs[:, 0]], self.pairs[:, 2]
        n_rows = 1 + np.bincount(targets, origin_sizes, len(self.sizes)).astype(np.int64)
        ends = np.cumsum(n_rows * self.sizes)
        begins = ends - n_rows * self.sizes
        return [
            TargetMatrices(slice(*each[:2]), *each[2:])
            for each in zip(*(x.tolist() for x in (begins, ends, n_rows, self.sizes)), strict=True)
        ]

    @cached_property
    def pair_offsets(self) -> IntArray:
        """Where the numbers of each pair's matrix begin."""
        lengths = self.pair_shapes.prod(axis=1)
        n_entries = np.cumsum(self.sizes)[self.pairs[:, 2]]  # entries up to the pair's own target
        return np.asarray(np.cumsum(lengths) - lengths + n_entries)

    @cached_property
    def entry_offsets(self) -> IntArray:
        """Where the entry of each context begins."""
        return np.array([each.numbers.start for each in self.targets])

    @property
    def n_moves(self) -> int:
        """How many numbers all matrices and entries have."""
        return int(self.targets[-1].numbers.stop)

    def matrices(self, moves: FloatArray) -> list[FloatArray]:
        """Return every pair's matrix, as a view of the numbers."""
        bounds = zip(self.pair_offsets.tolist(), self.pair_shapes.tolist(), strict=True)
        return [moves[at : at + n * m].reshape(n, m) for at, (n, m) in bounds]

    def entries(self, moves: FloatArray) -> FloatArray:
        """Return the entry of each context, filled up with 0, ``(n_contexts, max_size)``."""
        inside = np.arange(self.max_size) < self.sizes[:, None]
        where = self.entry_offsets[:, None] + np.arange(self.max_size)
        return np.where(inside, moves[np.minimum(where, len(moves) - 1)], 0)


def remembering_pairs(
    contexts: Contexts, sizes: IntArray, flow: FloatArray, min_flow: float
) -> BoolArray:
    """Return the pairs of a context and a symbol that are frequent enough for a matrix.

    ``flow`` says how often each symbol follows each context. Where a context has one state, nothing
    is to be remembered.
    """
    return (flow >= min_flow) & (sizes[contexts.next_context] > 1)
