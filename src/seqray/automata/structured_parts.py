"""Words cut into parts, each of which begins with a vector that depends on one symbol only.

A transition of rank 1 keeps one number of the state: a forgetful one, and one out of a group of a
single state. What follows it begins with the same vector, whatever the word was before. So the
weight of a word is a product: one factor for each part that ends with such a transition, or with
the word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.structured_nodes import PartNodes
from seqray.automata.structured_stack import Chosen
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.tree import distinct_keys, sort_codes
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray, IntArray

SHARING_COST = 96
"""What it costs per part to look for equal beginnings, in multiplications."""


class WordParts(NamedTuple):
    """The parts of words, one after the other.

    The words are read as one sequence, each with an end after its letters. A cell is a group, or a
    node of `PartNodes`, times the number of symbols and the end, plus the code of a symbol; the end
    is numbered after the symbols. Cells of nodes come after those of groups.

    Cell ``cells[t]`` is read at place ``t``. Word ``w`` begins at place ``firsts[w]``. Most parts
    stay within the nodes. A long part goes beyond them: the last node of long part ``j`` is
    ``nodes[j]``, then ``lengths[j]`` letters follow, from place ``starts[j]`` on, and at the place
    after them it ends. From ``starts[j]`` on, its cells are those of groups.
    """

    cells: IntArray
    firsts: IntArray
    nodes: IntArray
    starts: IntArray
    lengths: IntArray


class PartLevel(NamedTuple):
    """The nodes of one level of the prefix trees of long parts, and the parts that end there.

    The first level has no ``origins``: its nodes are where the parts begin.
    """

    origins: Chosen  # of each node its parent, within the level before
    numbers: IntArray  # of each node the matrix that leads to it
    ended: IntArray  # the long parts that end here
    ended_at: Chosen  # and at which node, within this level


class PartReaders(NamedTuple):
    """What reads long parts: row ``of_part[j]`` of ``rows``, after ``lengths[j]`` letters."""

    rows: FloatArray
    of_part: IntArray
    lengths: IntArray

    def read(self, vectors: FloatArray, chosen: IntArray) -> FloatArray:
        """Return the products of vectors and of what reads the chosen parts."""
        at = self.of_part.take(chosen)
        # `take` is faster, but copies all of an array whose rows overlap.
        rows = self.rows.take(at, axis=0) if self.rows.flags.c_contiguous else self.rows[at]
        rows *= vectors
        products: FloatArray = rows.dot(np.ones(rows.shape[1]))
        return products


@dataclass(frozen=True, eq=False)
class WordCuts:
    """What is looked up to cut words into parts.

    Parameters
    ----------
    steps
        The steps of the automaton.
    nodes
        What parts begin with.

    Examples
    --------
    Over one symbol that is always forgotten, each letter is a part, and the end:

    >>> from seqray.automata.generators import random_structured
    >>> from seqray.automata.structured_nodes import part_nodes
    >>> wa = random_structured("a", 2, seed=0, remembering=0)
    >>> steps = StructuredSteps(wa.blocks)
    >>> cuts = WordCuts(steps, part_nodes(steps, wa.initial_vector))
    >>> parts = cuts.parts(wa.alphabet.words(["aa", ""]))
    >>> (parts.cells - cuts.n_group_cells).tolist(), parts.firsts.tolist()
    ([4, 2, 3, 5], [0, 3])
    """

    steps: StructuredSteps
    nodes: PartNodes

    @property
    def n_columns(self) -> int:
        """The number of symbols, and the end."""
        return self.steps.grouping.n_symbols + 1

    @property
    def n_group_cells(self) -> int:
        """The number of cells of groups."""
        return self.steps.grouping.n_groups * self.n_columns

    def _by_cell(self, by_pair: IntArray, of_end: int) -> IntArray:
        """Return numbers of pairs of group and symbol, and one for the end, flat."""
        table = by_pair.reshape(-1, self.n_columns - 1)
        return np.pad(table, ((0, 0), (0, 1)), constant_values=of_end).ravel()

    @cached_property
    def group_onward(self) -> IntArray:
        """The first cell of the group that each cell of a group leads to."""
        return self._by_cell(self.steps.targets * self.n_columns, 0)

    @cached_property
    def matrices(self) -> IntArray:
        """The number of each group cell's matrix, -1 where a part ends."""
        return self._by_cell(self.steps.matrix_of_pair, -1)

    @property
    def node_cells(self) -> IntArray:
        """The group cell of each cell of a node, shape ``(n_nodes, n_columns)``."""
        return np.add.outer(self.nodes.groups * self.n_columns, np.arange(self.n_columns))

    @cached_property
    def _onward(self) -> IntArray:
        """The first cell of the next group or node that each cell leads to, groups first."""
        n_columns, n_before = self.n_columns, self.n_group_cells
        roots = self._by_cell(self.steps.root_of_pair, self.steps.grouping.n_groups)
        onward = np.where(self.matrices < 0, n_before + roots * n_columns, self.group_onward)
        of_nodes, children = onward.take(self.node_cells), self.nodes.children
        are_nodes = (children >= 0) & (children < len(of_nodes))
        known = of_nodes[: len(children)]
        np.copyto(known, n_before + children * n_columns, where=are_nodes)
        onward = np.concatenate([onward, of_nodes.ravel()])
        return onward.astype(np.int32 if len(onward) < 2**31 else np.int64)

    def parts(self, words: Words) -> WordParts:
        """Return the parts of words."""
        cells = self._cells(words)
        starts, stops = self._ends_of_long(cells)
        exits = cells.take(starts) - self.n_group_cells
        nodes = exits // self.n_columns
        cells[starts] = exits + self._node_shifts.take(nodes)
        firsts = words.offsets[:-1] + np.arange(len(words))
        return WordParts(cells, firsts, nodes, starts, stops - starts)

    @cached_property
    def _node_shifts(self) -> IntArray:
        """What leads from the number of a node's cell to that of its group's."""
        groups = self.nodes.groups
        shifts: IntArray = (groups - np.arange(len(groups))) * self.n_columns
        return shifts

    @cached_property
    def _children(self) -> IntArray:
        """The row of the vector that each cell of a node leads to, -1 where that is not known."""
        return self.nodes.children.ravel()

    def leaves(self, nodes: IntArray, cells: IntArray) -> IntArray:
        """Return the rows of the leaves that nodes lead to, given the cells of their groups."""
        leaves: IntArray = self._children.take(cells - self._node_shifts.take(nodes))
        return leaves

    def _ends_of_long(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Return where long parts begin, before the cells of groups, and end, with the last."""
        in_group = np.zeros(len(cells) + 1, bool)  # no word begins in a group
        np.less(cells, self.n_group_cells, out=in_group[:-1])
        before, after = in_group[:-1], in_group[1:]
        if self.nodes.is_complete:
            changes = np.flatnonzero(before != after)
            return changes[::2], changes[1::2]
        # Every root that is not in the table begins a long part, too.
        unknown = cells >= self.n_group_cells + self.nodes.children.size
        begins, ends = unknown | (after > before), (unknown | before) > after
        return np.flatnonzero(begins), np.flatnonzero(ends)

    def _cells(self, words: Words) -> IntArray:
        """Return the cell of each letter and of the end of each word."""
        lengths, codes = words.lengths, words.codes.astype(self._onward.dtype, copy=False)
        # Longest words first, so that those still being read are always a leading slice.
        order = sort_codes(lengths.max(initial=0) - lengths)
        sources = words.offsets.take(order)
        places = sources + order  # one end for each word before
        cells = np.empty(len(codes) + len(words), codes.dtype)
        start = self.n_group_cells + self.steps.grouping.n_groups * self.n_columns
        at = np.full(len(words), start, cells.dtype)
        read = np.empty_like(at)
        n_longer = len(words) - np.cumsum(np.bincount(lengths, minlength=1))
        for depth, n_active in enumerate(n_longer[:-1].tolist()):
            here = read[:n_active]
            codes[depth:].take(sources[:n_active], out=here, mode="clip")  # "clip" spares a copy
            here += at[:n_active]
            cells[depth:][places[:n_active]] = here
            self._onward.take(here, out=at[:n_active], mode="clip")
        cells[places + lengths.take(order)] = at + (self.n_columns - 1)
        return cells


def part_levels(
    cuts: WordCuts, parts: WordParts, lengths: IntArray, chosen: IntArray, at: IntArray
) -> Iterator[PartLevel]:
    """Grow the prefix trees of some long parts level by level, from the last node of each on.

    Of part ``j``, ``lengths[j]`` letters are read. Part ``chosen[i]`` begins at node ``at[i]``; if
    nodes have leaves, its first letter leads to one. Equal prefixes are one node, as long as enough
    parts are at one node.
    """
    n_columns, lengths = cuts.n_columns, lengths.take(chosen)
    # Longest parts first, so that those still being read are always a leading slice.
    order = sort_codes(lengths.max(initial=0) - lengths)
    chosen, at = chosen.take(order), at.take(order)
    starts = parts.starts.take(chosen)
    n_longer = (len(chosen) - np.cumsum(np.bincount(lengths, minlength=1))).tolist()
    if cuts.nodes.has_leaves and n_longer[0]:
        n_active = n_longer.pop(0)
        at[:n_active] = cuts.leaves(at[:n_active], parts.cells.take(starts[:n_active]))
        starts += 1
    yield PartLevel(slice(0), at[:0], chosen[n_longer[0] :], at[n_longer[0] :])
    origins: Chosen = at
    shares = True
    for depth, (n_active, n_left) in enumerate(pairwise(n_longer)):
        cells, ended = parts.cells[depth:].take(starts[:n_active]), slice(n_left, n_active)
        if shares:
            at = at[:n_active]
            shares = _pays(at, cuts.steps.grouping.max_size)
            origins = at
        if shares:
            keys: IntArray = at * n_columns + cells % n_columns
            keys, at = distinct_keys(keys, (int(at.max()) + 1) * n_columns)
            numbers = cuts.matrices.take(_of_distinct(cells, at, len(keys)))
            yield PartLevel(keys // n_columns, numbers, chosen[ended], at[ended])
        else:  # each part is a node of its own
            yield PartLevel(origins, cuts.matrices.take(cells), chosen[ended], ended)
            origins = slice(0, n_left)


def _pays(at: IntArray, size: int) -> bool:
    """Whether to look for equal beginnings, given the nodes at which parts stand."""
    n_spared = len(at) - np.count_nonzero(np.bincount(at))
    return bool(n_spared * size**2 >= SHARING_COST * len(at))


def _of_distinct(numbers: IntArray, which: IntArray, n_distinct: int) -> IntArray:
    """Return a number of each distinct key, given that of each key, and which one that is."""
    of_distinct = np.empty(n_distinct, np.int64)
    of_distinct[which] = numbers
    return of_distinct
