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

from seqray.automata.structured_states import StructuredSteps
from seqray.automata.tree import sort_codes
from seqray.automata.words import Words
from seqray.util.arrays import IntArray


class WordParts(NamedTuple):
    """The parts of words, one after the other.

    The words are read as one sequence, each with an end after its letters. ``cells[t]`` is the
    group before letter or end ``t``, times the number of symbols and the end, plus its code; the
    end is numbered after the symbols. Part ``i`` begins at ``starts[i]`` with the vector of root
    ``roots[i]``, see `StructuredSteps`; ``lengths[i]`` letters are multiplied with it. Then cell
    ``ends[i]`` is read. Word ``w`` begins with part ``firsts[w]``.
    """

    cells: IntArray
    starts: IntArray
    lengths: IntArray
    roots: IntArray
    ends: IntArray
    firsts: IntArray


@dataclass(frozen=True, eq=False)
class WordCuts:
    """What is looked up to cut words into parts.

    Parameters
    ----------
    steps
        The steps of the automaton.

    Examples
    --------
    Over one symbol that is always forgotten, each letter is a part, and the end:

    >>> from seqray.automata.generators import random_structured
    >>> wa = random_structured("a", 2, seed=0, remembering=0)
    >>> cuts = WordCuts(StructuredSteps(wa.blocks))
    >>> cuts.parts(wa.alphabet.words(["aa", ""])).ends
    array([0, 2, 3, 1])
    """

    steps: StructuredSteps

    @property
    def n_columns(self) -> int:
        """The number of symbols, and the end."""
        return self.steps.grouping.n_symbols + 1

    def _by_cell(self, by_pair: IntArray, of_end: int) -> IntArray:
        """Return numbers of pairs of group and symbol, and one for the end, flat."""
        table = by_pair.reshape(-1, self.n_columns - 1)
        return np.pad(table, ((0, 0), (0, 1)), constant_values=of_end).ravel()

    @cached_property
    def onward(self) -> IntArray:
        """The first cell of the group that each cell leads to."""
        return self._by_cell(self.steps.targets * self.n_columns, 0)

    @cached_property
    def matrices(self) -> IntArray:
        """The number of each cell's matrix, -1 where a part ends."""
        return self._by_cell(self.steps.matrix_of_pair, -1)

    @cached_property
    def roots(self) -> IntArray:
        """The root of the part that follows each cell; after an end, that of the next word."""
        return self._by_cell(self.steps.root_of_pair, self.steps.grouping.n_groups)

    def first_cells(self, roots: IntArray) -> IntArray:
        """Return the first cell of the group in which a part with each root begins."""
        return self.steps.group_of_root.take(roots) * self.n_columns

    def parts(self, words: Words) -> WordParts:
        """Return the parts of words."""
        cells = self._cells(words)
        cuts = np.flatnonzero(self.matrices.take(cells) < 0)
        ends: IntArray = cells.take(cuts)
        starts, roots = np.zeros(len(cuts), np.int64), np.empty(len(cuts), np.int64)
        starts[1:] = cuts[:-1] + 1
        roots[:1] = self.steps.grouping.n_groups
        self.roots.take(ends[:-1], out=roots[1:], mode="clip")
        is_first = roots == self.steps.grouping.n_groups
        return WordParts(cells, starts, cuts - starts, roots, ends, np.flatnonzero(is_first))

    def _cells(self, words: Words) -> IntArray:
        """Return the cell of each letter and of the end of each word."""
        lengths = words.lengths
        # Longest words first, so that those still being read are always a leading slice.
        order = sort_codes(lengths.max(initial=0) - lengths)
        cursor = words.offsets.take(order)
        place = cursor + order  # one end for each word before
        cells = np.empty(len(words.codes) + len(words), np.int64)
        at = np.full(len(words), self.steps.grouping.start * self.n_columns)
        n_longer = len(words) - np.cumsum(np.bincount(lengths, minlength=1))
        for n_active in n_longer[:-1].tolist():
            read = at[:n_active] + words.codes.take(cursor[:n_active])
            cells[place[:n_active]] = read
            self.onward.take(read, out=at[:n_active], mode="clip")  # "clip" spares a copy
            cursor[:n_active] += 1
            place[:n_active] += 1
        at += self.n_columns - 1
        cells[place] = at
        return cells
