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
"""If a product of numbers up to 1 is larger than this, no part of it underflowed."""

MAX_LOG_PRODUCT = 700
"""A product whose factors have logarithms of at most this sum, in size, neither over- nor
underflows."""

MAX_TABLE_NUMBERS = 2**20
"""The most numbers, 8 MiB, in a table that is there for speed alone."""

SHARING_COST = 64
"""What it costs per part to look for equal prefixes, in multiplications."""


class PartLevel(NamedTuple):
    """The nodes of one level of the prefix trees of parts, and the parts that end there."""

    origins: IntArray  # of each node its parent, within the level before; at level 0 its root
    cells: IntArray  # of each node, see `WordParts`; at level 0 there is none
    ended: IntArray  # the parts that end here
    ended_at: IntArray  # and at which node, within this level


class Scales(NamedTuple):
    """The scales of vectors, and which are too wide, as in `StructuredStates`."""

    log_scale: FloatArray
    wide: BoolArray

    def take(self, rows: IntArray) -> Scales:
        """Return those of some vectors."""
        return Scales(self.log_scale.take(rows), self.wide.take(rows))


class PartStates(NamedTuple):
    """The states at the nodes of a level: node ``i`` has row ``rows[i]`` of the vectors.

    ``scales`` is None where no vector has a scale or is too wide, which is nearly always so.
    """

    vectors: FloatArray
    rows: IntArray
    scales: Scales | None
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
        The weight with which a word ends in each state, shape ``(n_states,)``, if it is not the
        automaton's own.
    """

    steps: StructuredSteps
    initial: FloatArray
    final: FloatArray | None = None

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
        shifts = self._root_shifts.take(parts.roots)
        values: FloatArray = self._short_values.take(parts.ends + shifts, mode="clip")
        scales = Scales(np.zeros(len(values)), np.zeros(len(values), bool))
        long = self.long_parts(parts)
        for begin in range(0, len(long), self.steps.max_states):
            some, states = long[begin : begin + self.steps.max_states], None
            for level in part_levels(self.cuts, parts, some):
                states = self._begun(level) if states is None else self._moved(states, level)
                if len(level.ended):
                    rows, cells = states.rows.take(level.ended_at), parts.ends.take(level.ended)
                    values[level.ended] = self._read(states.vectors.take(rows, axis=0), cells)
                    if states.scales is not None:
                        for mine, each in zip(scales, states.scales.take(rows), strict=True):
                            mine[level.ended] = each
        return _product_of_parts(values, scales, parts.firsts)

    def long_parts(self, parts: WordParts) -> IntArray:
        """Return those parts whose value is not looked up."""
        return np.flatnonzero((parts.lengths > 0) | (parts.roots >= self._n_looked_up))

    def _read(self, vectors: FloatArray, cells: IntArray) -> FloatArray:
        """Return the products of vectors and of what reads each cell."""
        readers = (
            self._readers[self._reader_of_cell.take(cells)]
            if self._padded_readers is None
            else self._padded_readers.take(cells, axis=0)
        )
        return np.asarray(np.einsum("ij,ij->i", vectors, readers))

    @cached_property
    def _readers(self) -> FloatArray:
        return self.steps.readers if self.final is None else self.steps.readers_until(self.final)

    @cached_property
    def _reader_of_cell(self) -> IntArray:
        """Where the reader of each cell begins."""
        grouping = self.steps.grouping
        columns = np.arange(grouping.n_symbols + 1) * grouping.n_states
        return np.add.outer(grouping.offsets[:-1], columns).ravel()

    @cached_property
    def _padded_readers(self) -> FloatArray | None:
        """The reader of each cell, filled up to the size of the largest group, if that is small."""
        if len(self._reader_of_cell) * self.steps.grouping.max_size > MAX_TABLE_NUMBERS:
            return None
        return self._readers[self._reader_of_cell]

    @cached_property
    def _n_looked_up(self) -> int:
        """How many roots have `_short_values`; none where one of them needs a scale."""
        n_roots = min(self.steps.n_roots, MAX_TABLE_NUMBERS // self.cuts.n_columns)
        vectors = self.steps.root_vectors(np.arange(n_roots), self.initial)
        return n_roots if _scales(vectors) is None else 0

    @cached_property
    def _root_shifts(self) -> IntArray:
        """What leads from the cell that a part without letters reads to its `_short_values`."""
        roots = np.arange(self.steps.n_roots)
        return roots * self.cuts.n_columns - self.cuts.first_cells(roots)

    @cached_property
    def _short_values(self) -> FloatArray:
        """What each symbol, and last the end, reads from the vector of each root."""
        roots, n_columns = np.arange(self._n_looked_up), self.cuts.n_columns
        vectors, cells = self.steps.root_vectors(roots, self.initial), self.cuts.first_cells(roots)
        values = np.zeros((max(1, len(roots)), n_columns))
        for code in range(n_columns):
            values[: len(roots), code] = self._read(vectors, cells + code)
        return values.ravel()

    def _begun(self, level: PartLevel) -> PartStates:
        """Return the states with which parts begin."""
        vectors = self.steps.root_vectors(level.origins, self.initial)
        return PartStates(vectors, np.arange(len(vectors)), _scales(vectors))

    def _moved(self, states: PartStates, level: PartLevel) -> PartStates:
        """Return the states at the nodes of the next level."""
        numbers = self.cuts.matrices.take(level.cells)
        order = sort_codes(numbers)
        origins = states.rows.take(level.origins.take(order))
        origins, numbers, slots = self.steps.laid_out(origins, numbers.take(order))
        rows = np.empty_like(slots)
        rows[order] = slots
        vectors = self.steps.multiplied(states.vectors.take(origins, axis=0), numbers)
        scales = states.scales and states.scales.take(origins)
        if states.age + 1 < self.steps.max_age:
            return PartStates(vectors, rows, scales, states.age + 1)
        return PartStates(vectors, rows, _scales(vectors, scales))


def _scales(vectors: FloatArray, before: Scales | None = None) -> Scales | None:
    """Bring vectors into the safe range, in place, and return their scales."""
    log_scale = np.zeros(len(vectors)) if before is None else before.log_scale
    rescale(vectors, log_scale)
    wide = too_wide(vectors) if before is None else before.wide | too_wide(vectors)
    return Scales(log_scale, wide) if log_scale.any() or wide.any() else None


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
    bases: IntArray | None = np.arange(len(roots)) * n_columns - cuts.first_cells(roots)
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
            spared = (n_active - len(keys)) * cuts.steps.grouping.max_size**2
            pays = spared >= SHARING_COST * n_active
            bases = np.arange(len(keys)) * n_columns - cuts.onward.take(cells) if pays else None
        yield PartLevel(origins, cells, chosen[n_left:n_active], at[n_left:n_active])


def _product_of_parts(values: FloatArray, scales: Scales, firsts: IntArray) -> WordProducts:
    """Return products of the parts' values; in logarithms where they leave the range of float64."""
    with np.errstate(over="ignore"):
        products = np.multiply.reduceat(values, firsts)
    log_scale, wide = np.zeros(len(firsts)), np.zeros(len(firsts), bool)
    if scales.log_scale.any() or scales.wide.any():
        np.add.reduceat(scales.log_scale, firsts, out=log_scale)
        np.logical_or.reduceat(scales.wide, firsts, out=wide)
    if not (np.abs(values).max() <= 1 and np.abs(products).min() > MIN_PRODUCT):
        logs = np.log(np.abs(np.where(values == 0, 1.0, values)))
        is_near = np.add.reduceat(np.abs(logs), firsts) < MAX_LOG_PRODUCT
        products = np.where(is_near, products, np.multiply.reduceat(np.sign(values), firsts))
        log_scale += np.where(is_near, 0, np.add.reduceat(logs, firsts))
    return WordProducts(products, log_scale, wide)
