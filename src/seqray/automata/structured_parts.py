"""Words cut into parts, each of which begins with a vector that depends on one symbol only.

A transition of rank 1 keeps one number of the state: a forgetful one, and one out of a group of a
single state. What follows it begins with the same vector, whatever the word was before. So the
weight of a word is a product: one factor for each part that ends with such a transition, or with
the word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqray.automata.structured_nodes import PartNodes
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.tree import sort_codes
from seqray.automata.words import Words
from seqray.util.arrays import IntArray

# What happens at a cell; bits of one number.
_CUT = 1  # a part ends
_IS_LONG = 2  # and its value is not in the tables of nodes
_LEAVES_NODES = 4  # the last node of a long part
_ENDS_WORD = 8


class WordParts(NamedTuple):
    """The parts of words, one after the other.

    The words are read as one sequence, each with an end after its letters. A cell is a group, or a
    node of `PartNodes`, times the number of symbols and the end, plus the code of a symbol; the end
    is numbered after the symbols. Cells of nodes come after those of groups.

    Part ``i`` ends where cell ``ends[i]`` is read. Word ``w`` begins with part ``firsts[w]``. Parts
    ``long`` go beyond the nodes: their last node is ``nodes[j]``, then ``lengths[j]`` letters
    follow, from ``starts[j]`` on. There ``cells[t]`` is the cell of a group.
    """

    cells: IntArray
    ends: IntArray
    firsts: IntArray
    long: IntArray
    nodes: IntArray
    starts: IntArray
    lengths: IntArray


class _CellTables(NamedTuple):
    """What each cell leads to: the first cell of the next group or node, and what happens."""

    onward: IntArray
    events: NDArray[np.uint8]


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
    >>> parts.ends - cuts.n_group_cells, parts.firsts
    (array([4, 2, 3, 5]), array([0, 3]))
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

    def first_cells(self, nodes: IntArray) -> IntArray:
        """Return the first cell of the group of each node."""
        return self.nodes.groups.take(nodes) * self.n_columns

    @cached_property
    def _tables(self) -> _CellTables:
        """What each cell leads to, those of groups first."""
        n_columns, n_before = self.n_columns, self.n_group_cells
        roots = self._by_cell(self.steps.root_of_pair, self.steps.grouping.n_groups)
        is_cut = self.matrices < 0
        onward = np.where(is_cut, n_before + roots * n_columns, self.group_onward)
        events = np.where(is_cut, _CUT | _IS_LONG, 0).astype(np.uint8)
        cells = np.add.outer(self.nodes.groups * n_columns, np.arange(n_columns))
        node_onward, node_events = onward.take(cells), events.take(cells)
        children, known = self.nodes.children, slice(0, len(self.nodes.children))
        node_onward[known] = np.where(
            children >= 0, n_before + children * n_columns, node_onward[known]
        )
        leaves = ~is_cut.take(cells[known]) & (children < 0)
        node_events[known] &= ~np.uint8(_IS_LONG)
        node_events[known] |= np.where(leaves, _LEAVES_NODES, 0).astype(np.uint8)
        node_events[known.stop :] |= _LEAVES_NODES
        onward = np.concatenate([onward, node_onward.ravel()])
        events = np.concatenate([events, node_events.ravel()])
        events[n_columns - 1 :: n_columns] |= _ENDS_WORD
        return _CellTables(onward, events)

    def parts(self, words: Words) -> WordParts:
        """Return the parts of words."""
        cells = self._cells(words)
        events = self._tables.events.take(cells)
        cuts, starts = _where(events, _CUT), _where(events, _LEAVES_NODES)
        ends, events = cells.take(cuts), events.take(cuts)
        # A part that leaves the nodes is long, and ends before the next one leaves them.
        long, last = _where(events, _IS_LONG), _where(events, _ENDS_WORD)
        firsts = np.zeros(len(words), np.int64)
        np.add(last[:-1], 1, out=firsts[1:])
        leaving = cells.take(starts) - self.n_group_cells
        nodes = leaving // self.n_columns
        cells[starts] = leaving + self._node_shifts.take(nodes)
        return WordParts(cells, ends, firsts, long, nodes, starts, cuts.take(long) - starts)

    @cached_property
    def _node_shifts(self) -> IntArray:
        """What leads from the number of a node's cell to that of its group's."""
        nodes = np.arange(len(self.nodes.groups))
        return self.first_cells(nodes) - nodes * self.n_columns

    def _cells(self, words: Words) -> IntArray:
        """Return the cell of each letter and of the end of each word."""
        lengths, onward = words.lengths, self._tables.onward
        # Longest words first, so that those still being read are always a leading slice.
        order = sort_codes(lengths.max(initial=0) - lengths)
        cursor = words.offsets.take(order)
        place = cursor + order  # one end for each word before
        cells = np.empty(len(words.codes) + len(words), np.int64)
        start = self.n_group_cells + self.steps.grouping.n_groups * self.n_columns
        at = np.full(len(words), start)
        codes, read = words.codes.astype(np.int64), np.empty_like(at)
        n_longer = len(words) - np.cumsum(np.bincount(lengths, minlength=1))
        for n_active in n_longer[:-1].tolist():
            here = slice(0, n_active)
            codes.take(cursor[here], out=read[here], mode="clip")  # "clip" spares a copy
            read[here] += at[here]
            cells[place[here]] = read[here]
            onward.take(read[here], out=at[here], mode="clip")
            cursor[here] += 1
            place[here] += 1
        at += self.n_columns - 1
        cells[place] = at
        return cells


def _where(events: NDArray[np.uint8], event: int) -> IntArray:
    """Return where an event happens."""
    return np.flatnonzero((events & event).astype(bool))
