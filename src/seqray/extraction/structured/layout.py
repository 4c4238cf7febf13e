"""The layout of a structured automaton that is fitted: its groups, states and matrices.

A group is a context, or one for each position class. Groups of one context have the same number of
states and share the matrices that say which state follows which; each has its own emissions.
All matrices are stored as if every context had as many states as the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.extraction.structured.contexts import Contexts
from seqray.extraction.structured.positions import classes_of
from seqray.util.arrays import BoolArray, FloatArray, IntArray


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

    def rows_of(self, group: int) -> slice:
        """Return where the emissions of a group are."""
        return slice(int(self.group_offsets[group]), int(self.group_offsets[group + 1]))

    def groups(self, tree: PrefixTree) -> IntArray:
        """Return the group of each node of a tree."""
        classes = classes_of(tree.depth, self.position_begins)
        return classes * len(self.contexts) + self.contexts.of_nodes(tree)

    @cached_property
    def pairs(self) -> IntArray:
        """The pairs that remember, as ``context, symbol, target``: ``(n_pairs, 3)``."""
        origins, symbols = np.nonzero(self.remembers)
        return np.stack([origins, symbols, self.contexts.next_context[origins, symbols]], axis=1)

    @property
    def n_moves(self) -> int:
        """How many numbers all matrices have."""
        return len(self.pairs) * self.max_size**2

    @cached_property
    def pair_of(self) -> IntArray:
        """The pair of each context and symbol, -1 where there is none."""
        table = np.full(self.remembers.shape, -1)
        table[self.pairs[:, 0], self.pairs[:, 1]] = np.arange(len(self.pairs))
        return table

    @cached_property
    def has_state(self) -> BoolArray:
        """Which of ``max_size`` places each context has a state at: the first ones."""
        return np.arange(self.max_size) < self.sizes[:, None]

    def matrix(self, moves: FloatArray, pair: int) -> FloatArray:
        """Return the matrix of a pair, of all of them: without what is beyond its states."""
        context, _, target = self.pairs[pair].tolist()
        return moves[pair, : self.sizes[context], : self.sizes[target]]


def remembering_pairs(
    contexts: Contexts, sizes: IntArray, flow: FloatArray, min_flow: float
) -> BoolArray:
    """Return the pairs of a context and a symbol that are frequent enough for a matrix.

    ``flow`` says how often each symbol follows each context. Where a context has one state, nothing
    is to be remembered.
    """
    return (flow >= min_flow) & (sizes[contexts.next_context] > 1)
