"""Weights of many words at once by a structured automaton.

Words are cut into parts, see `WordCuts`. Parts are read along the prefix trees of all of them, one
tree for each vector with which parts begin, and far more words share a part than a prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import rescale, too_wide
from seqray.automata.scoring import BATCH_WORDS, WordProducts
from seqray.automata.structured_parts import WordCuts, WordParts
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.tree import distinct_keys, sort_codes
from seqray.automata.words import Words
from seqray.util.arrays import BoolArray, FloatArray, IntArray, hold_memory

MIN_PRODUCT = 1e-290
"""A product of numbers up to 1 that is larger than this did not underflow on the way."""

MAX_LOG_PRODUCT = 700
"""A product whose factors have logarithms of at most this sum, in size, neither over- nor
underflows."""

WORTHWHILE_SHARING = 1.25
"""How many parts have to lead to a node, on average, to look for equal prefixes further on."""


class PartLevel(NamedTuple):
    """The nodes of one level of the prefix trees of parts, and the parts that end there."""

    origins: IntArray  # of each node its parent, within the level before; at level 0 its root
    cells: IntArray  # of each node, see `WordParts`; at level 0 there is none
    ended: IntArray  # the parts that end here
    ended_at: IntArray  # and at which node, within this level


class PartStates(NamedTuple):
    """The states at the nodes of a level: node ``i`` has row ``rows[i]`` of what follows.

    Vectors, ``log_scale``, ``wide`` and ``age`` are those of `StructuredStates`.
    """

    vectors: FloatArray
    rows: IntArray
    log_scale: FloatArray
    wide: BoolArray
    age: int = 0


@dataclass(frozen=True, eq=False)
class PartScorer:
    """Scores words part by part.

    Parameters
    ----------
    steps
        The steps of the automaton.
    initial
        The weight with which a word begins in each state of the first group.
    final
        The weight with which a word ends in each state, shape ``(n_states,)``.
    """

    steps: StructuredSteps
    initial: FloatArray
    final: FloatArray

    @cached_property
    def cuts(self) -> WordCuts:
        """What cuts words into parts."""
        return WordCuts(self.steps)

    def products(self, words: Words) -> WordProducts:
        """Return the weights of words as products that neither overflow nor underflow."""
        hold_memory()
        batches = [words[at : at + BATCH_WORDS] for at in range(0, len(words), BATCH_WORDS)]
        products = [self._batch_products(batch) for batch in batches]
        none = WordProducts(np.empty(0), np.empty(0), np.empty(0, bool))
        return WordProducts(*(np.concatenate(each) for each in zip(none, *products, strict=True)))

    def _batch_products(self, words: Words) -> WordProducts:
        """Return the weights of words as products of the values of their parts."""
        parts = self.cuts.parts(words)
        values: FloatArray = self._short_values.take(parts.ends)
        log_scale, wide = np.zeros(len(values)), np.zeros(len(values), bool)
        long = self.long_parts(parts)
        for begin in range(0, len(long), self.steps.max_states):
            states = None
            for level in part_levels(self.cuts, parts, long[begin : begin + self.steps.max_states]):
                states = self._begun(level) if states is None else self._moved(states, level)
                if len(level.ended):
                    rows, ended = states.rows.take(level.ended_at), level.ended
                    vectors, cells = states.vectors.take(rows, axis=0), parts.ends.take(ended)
                    readers = self._readers[self._reader_of_cell.take(cells)]
                    values[ended] = np.einsum("ij,ij->i", vectors, readers)
                    log_scale[ended] = states.log_scale.take(rows)
                    wide[ended] = states.wide.take(rows)
        return _product_of_parts(values, log_scale, wide, parts.firsts)

    def long_parts(self, parts: WordParts) -> IntArray:
        """Return those parts whose value is not looked up."""
        if not self._has_tame_entries:
            return np.arange(len(parts.ends))
        return np.flatnonzero((parts.lengths > 0) | (parts.roots >= self.steps.grouping.n_groups))

    @cached_property
    def _has_tame_entries(self) -> bool:
        """Whether no entry of a group is so large or small that it needs a scale."""
        sizes = np.abs(self.steps.blocks.entry)
        return bool(sizes.min(where=sizes > 0, initial=1) > 1e-40 and sizes.max() < 1e40)

    @cached_property
    def _readers(self) -> FloatArray:
        return self.steps.readers_until(self.final)

    @cached_property
    def _reader_of_cell(self) -> IntArray:
        """Where the reader of each cell begins."""
        grouping = self.steps.grouping
        columns = np.arange(grouping.n_symbols + 1) * grouping.n_states
        return np.add.outer(grouping.offsets[:-1], columns).ravel()

    @cached_property
    def _short_values(self) -> FloatArray:
        """What each cell reads from the entry of its group."""
        grouping, entry = self.steps.grouping, self.steps.blocks.entry
        values = np.empty((grouping.n_groups, grouping.n_symbols + 1))
        for code in range(grouping.n_symbols + 1):
            begin = code * grouping.n_states
            read = entry * self._readers[begin : begin + grouping.n_states, 0]
            np.add.reduceat(read, grouping.offsets[:-1], out=values[:, code])
        return values.ravel()

    def _begun(self, level: PartLevel) -> PartStates:
        """Return the states with which parts begin."""
        vectors = self.steps.root_vectors(level.origins, self.initial)
        log_scale = np.zeros(len(vectors))
        rescale(vectors, log_scale)
        return PartStates(vectors, np.arange(len(vectors)), log_scale, too_wide(vectors))

    def _moved(self, states: PartStates, level: PartLevel) -> PartStates:
        """Return the states at the nodes of the next level."""
        numbers = self.cuts.matrices.take(level.cells)
        order = sort_codes(numbers)
        origins = states.rows.take(level.origins.take(order))
        origins, numbers, slots = self.steps.laid_out(origins, numbers.take(order))
        rows = np.empty_like(slots)
        rows[order] = slots
        vectors = self.steps.multiplied(states.vectors.take(origins, axis=0), numbers)
        log_scale, wide = states.log_scale.take(origins), states.wide.take(origins)
        if states.age + 1 < self.steps.max_age:
            return PartStates(vectors, rows, log_scale, wide, states.age + 1)
        rescale(vectors, log_scale)
        return PartStates(vectors, rows, log_scale, wide | too_wide(vectors))


def part_levels(cuts: WordCuts, parts: WordParts, chosen: IntArray) -> Iterator[PartLevel]:
    """Grow the prefix trees of some parts level by level, beginning with the roots.

    Equal prefixes are one node, as long as there are enough of them.
    """
    lengths = parts.lengths.take(chosen)
    # Longest parts first, so that those still being read are always a leading slice.
    chosen = chosen.take(sort_codes(lengths.max(initial=0) - lengths))
    cursor, n_columns = parts.starts.take(chosen), cuts.n_columns
    n_longer = (len(chosen) - np.cumsum(np.bincount(lengths, minlength=1))).tolist()
    roots, at = distinct_keys(parts.roots.take(chosen), cuts.steps.n_roots)
    yield PartLevel(roots, roots[:0], chosen[n_longer[0] :], at[n_longer[0] :])
    # The key of a part is n_columns * node + symbol, which is its cell and a number of the node.
    bases = np.arange(len(roots)) * n_columns - cuts.first_cells(roots)
    for n_active, n_left in pairwise(n_longer):
        cells = parts.cells.take(cursor[:n_active])
        cursor[:n_active] += 1
        origins = at[:n_active]
        if bases is None:
            at = np.arange(n_active)
        else:
            keys, at = distinct_keys(bases.take(origins) + cells, len(bases) * n_columns)
            origins = keys // n_columns
            cells = keys - bases.take(origins)
            shares = len(keys) * WORTHWHILE_SHARING < n_active
            bases = np.arange(len(keys)) * n_columns - cuts.onward.take(cells) if shares else None
        yield PartLevel(origins, cells, chosen[n_left:n_active], at[n_left:n_active])


def _product_of_parts(
    values: FloatArray, log_scale: FloatArray, wide: BoolArray, firsts: IntArray
) -> WordProducts:
    """Return products of the parts' values; in logarithms where they leave the range of float64."""
    with np.errstate(over="ignore"):
        products = np.multiply.reduceat(values, firsts)
    scales = np.add.reduceat(log_scale, firsts) if log_scale.any() else np.zeros(len(firsts))
    any_wide = np.logical_or.reduceat(wide, firsts) if wide.any() else np.zeros(len(firsts), bool)
    if not (np.abs(values).max() <= 1 and np.abs(products).min() > MIN_PRODUCT):
        logs = np.log(np.abs(np.where(values == 0, 1.0, values)))
        is_near = np.add.reduceat(np.abs(logs), firsts) < MAX_LOG_PRODUCT
        products = np.where(is_near, products, np.multiply.reduceat(np.sign(values), firsts))
        scales += np.where(is_near, 0, np.add.reduceat(logs, firsts))
    return WordProducts(products, scales, any_wide)
