"""Weights of many words at once by a structured automaton.

Words are cut into parts, see `WordCuts`. The values of short parts are looked up, see `PartNodes`.
Long parts are read along the prefix trees of all of them, one tree for each node at which they
leave the table, and far more words share a part than a prefix. The last letter of a part and what
reads the state after it are one vector, which is looked up, too. Where matrices are large, they
come one after the other, see `SweepReader`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import Scales, scales_of
from seqray.automata.scoring import BATCH_WORDS, WordProducts
from seqray.automata.structured_nodes import MAX_TABLE_NUMBERS, PartNodes, part_nodes
from seqray.automata.structured_parts import (
    PartLevel,
    PartReaders,
    WordCuts,
    WordParts,
    part_levels,
)
from seqray.automata.structured_stack import Chosen, chosen_of, chosen_rows
from seqray.automata.structured_states import StructuredSteps, run_begins
from seqray.automata.structured_sweeps import PartTrees, SweepReader
from seqray.automata.tree import distinct_keys
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray, IntArray, hold_memory

MIN_PRODUCT = 1e-290
"""If a product of numbers up to 1 is larger than this, no part of it underflowed."""

MAX_LOG_PRODUCT = 700
"""A product whose factors have logarithms of at most this sum, in size, neither over- nor
underflows."""

MIN_WORDS_OF_LARGE_TABLES = 4096
"""The fewest words in one call for which large tables are made. Fewer do not pay for them."""

MAX_READER_NUMBERS = 2**23
"""The most numbers, 64 MiB, in a large table of what reads states before their last letter; nor are
there more than the matrices have. `MAX_TABLE_NUMBERS` are always allowed."""

MAX_END_WEIGHT = 1e100
"""If the largest weight with which words end, or its inverse, is larger, it is a scale of each
word: products with vectors would leave the range of float64."""

SAFE_RANGE = 1e-50, 1e50
"""Matrices and readers are multiplied in advance if their numbers are 0 or in this range."""


class PartStates(NamedTuple):
    """The states at the nodes of a level: node ``i`` has row ``i`` of ``vectors[rows]``.

    ``scales`` is None where no vector has a scale or is too wide, which is nearly always so.
    """

    vectors: FloatArray
    rows: Chosen
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
    has_large_tables
        Whether tables grow with the matrices, where these are not stacked.
    """

    steps: StructuredSteps
    initial: FloatArray
    final: FloatArray | None = None
    has_large_tables: bool = False

    @cached_property
    def with_large_tables(self) -> PartScorer:
        """What scores many words."""
        return replace(self, has_large_tables=True)

    @cached_property
    def nodes(self) -> PartNodes:
        """What parts begin with."""
        return part_nodes(self.steps, self.initial, is_large=self.has_large_tables)

    @cached_property
    def cuts(self) -> WordCuts:
        """What cuts words into parts."""
        return WordCuts(self.steps, self.nodes)

    def products(self, words: Words) -> WordProducts:
        """Return the weights of words as products that neither overflow nor underflow."""
        is_many = len(words) >= MIN_WORDS_OF_LARGE_TABLES and not self.steps.is_stacked
        if is_many and not self.has_large_tables:
            return self.with_large_tables.products(words)
        hold_memory()
        batches = [words[at : at + BATCH_WORDS] for at in range(0, len(words), BATCH_WORDS)]
        products = [self._batch_products(batch) for batch in batches]
        none = WordProducts(np.empty(0), np.empty(0), np.empty(0, bool))
        return WordProducts(*(np.concatenate(each) for each in zip(none, *products, strict=True)))

    def _batch_products(self, words: Words) -> WordProducts:
        """Return the weights of words as products of the values of their parts."""
        parts = self.cuts.parts(words)
        values: FloatArray = self._cell_values.take(parts.cells)
        scales = None
        readers = self.part_readers(parts)
        read = self._read_levels if self.steps.is_stacked else self._read_sweeps
        for some in self.pieces(parts):
            ended, values_read, scales_read = read(parts, readers, some)
            ends = (parts.starts + parts.lengths).take(ended)
            values[ends] = values_read
            if scales_read is not None:
                scales = scales or Scales.none(len(values))
                scales.put(ends, scales_read)
        products = _product_of_parts(values, scales, parts.firsts)
        return products._replace(log_scale=products.log_scale + self._end[1])

    def pieces(self, parts: WordParts) -> Iterator[IntArray]:
        """Yield which long parts are read at a time, so that memory is bounded."""
        # A level has one vector of each part at most; two sweeps may have those of all letters.
        n_vectors = np.ones_like(parts.lengths) if self.steps.is_stacked else parts.lengths // 2 + 1
        begins = run_begins(np.cumsum(n_vectors) // self.steps.max_states)
        for begin, end in pairwise([*begins.tolist(), len(n_vectors)] if len(n_vectors) else []):
            yield np.arange(begin, end)

    def _read_levels(
        self, parts: WordParts, readers: PartReaders, some: IntArray
    ) -> tuple[IntArray, FloatArray, Scales | None]:
        """Read some long parts letter by letter; return them, their values and their scales."""
        ended, values, scales = np.empty_like(some), np.empty(len(some)), None
        states, at = self._begun(parts.nodes.take(some))
        n_ended = 0
        for level in part_levels(self.cuts, parts, readers.lengths, some, at):
            states = self._moved(states, level)
            rows = chosen_of(states.rows, level.ended_at)
            here = slice(n_ended, n_ended + len(level.ended))
            n_ended = here.stop
            ended[here] = level.ended
            values[here] = readers.read(chosen_rows(states.vectors, rows), level.ended)
            if states.scales is not None:
                scales = scales or Scales.none(len(some))
                scales.put(here, states.scales.take(rows))
        return ended, values, scales

    def _read_sweeps(
        self, parts: WordParts, readers: PartReaders, some: IntArray
    ) -> tuple[IntArray, FloatArray, Scales | None]:
        """Read some long parts with large matrices; return them, their values and their scales."""
        nodes, trees = self.part_trees(parts, readers, some)
        vectors = self._node_vectors(nodes)
        return trees.ended, *self.sweeps.values(trees, vectors, scales_of(vectors), readers)

    def part_trees(
        self, parts: WordParts, readers: PartReaders, some: IntArray
    ) -> tuple[IntArray, PartTrees]:
        """Return the nodes at which some long parts begin, and the prefix trees below them."""
        nodes, at = distinct_keys(parts.nodes.take(some), len(self.nodes.groups))
        levels = part_levels(self.cuts, parts, readers.lengths, some, at)
        return nodes, PartTrees.of(levels, len(nodes))

    @cached_property
    def sweeps(self) -> SweepReader:
        """What reads parts with large matrices."""
        return SweepReader(self.steps)

    def part_readers(self, parts: WordParts) -> PartReaders:
        """Return what reads long parts: after their last letter, or before it if that is known."""
        stops = parts.starts + parts.lengths
        ends = parts.cells.take(stops)
        if self._readers_before is None:
            return PartReaders(*self._readers_of_cells(ends), parts.lengths)
        last = parts.cells.take(stops - 1)
        codes = ends - self.cuts.group_onward.take(last)
        of_part = self._row_before.take(last) + codes
        return PartReaders(self._readers_before, of_part, parts.lengths - 1)

    def _readers_of_cells(self, cells: IntArray) -> tuple[FloatArray, IntArray]:
        """Return readers, and which of them reads each cell of a group."""
        if self._padded_readers is None:
            return self._readers, self._reader_of_cell.take(cells)
        return self._padded_readers, cells

    @cached_property
    def _end(self) -> tuple[FloatArray, float]:
        """The weights with which words end, and the logarithm of what was divided out of them."""
        final = self.steps.blocks.emission[:, -1] if self.final is None else self.final
        largest = float(np.abs(final).max())
        is_near = largest == 0 or 1 / MAX_END_WEIGHT < largest < MAX_END_WEIGHT
        if is_near or self.steps.readable_pairs.max() < 0:  # no part is long
            return final, 0.0
        return final / largest, math.log(largest)

    @cached_property
    def _readers(self) -> FloatArray:
        is_own = self.final is None and not self._end[1]
        return self.steps.readers if is_own else self.steps.readers_until(self._end[0])

    @cached_property
    def _reader_of_cell(self) -> IntArray:
        """Where the reader of each cell of a group begins."""
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
    def _row_before(self) -> IntArray:
        """The first row of each group cell in `_readers_before`."""
        pairs = self.steps.readable_pairs.reshape(-1, self.cuts.n_columns - 1)
        return np.pad(pairs * self.cuts.n_columns, ((0, 0), (0, 1))).ravel()

    @cached_property
    def _readers_before(self) -> FloatArray | None:
        """What reads a state before a letter and what follows it, if it is small and safe."""
        size, n_rows = self.steps.grouping.max_size, self.steps.readable_pairs.max() + 1
        values, max_numbers = self.steps.blocks.remembering.values, MAX_TABLE_NUMBERS
        if self.has_large_tables:
            max_numbers = max(max_numbers, min(len(values), MAX_READER_NUMBERS))
        is_small = n_rows * self.cuts.n_columns * size <= max_numbers
        if not (is_small and self.nodes.is_complete):
            return None
        for sizes in map(np.abs, (values, self._readers[:, 0])):
            if not np.all((sizes == 0) | ((sizes > SAFE_RANGE[0]) & (sizes < SAFE_RANGE[1]))):
                return None
        return self.steps.readers_before(self._readers).reshape(-1, size)

    @cached_property
    def _cell_values(self) -> FloatArray:
        """What is read where a part ends at a node of the table; 1 at all other cells."""
        n_known, n_columns = len(self.nodes.children), self.cuts.n_columns
        vectors, cells = self.nodes.vectors[:n_known], self.cuts.node_cells[:n_known]
        values = np.ones((len(self.nodes.groups), n_columns))
        for code in range(n_columns):
            ends = np.flatnonzero(self.cuts.matrices.take(cells[:, code]) < 0)
            readers, at = self._readers_of_cells(cells[ends, code])
            values[ends, code] = np.einsum("ij,ij->i", vectors.take(ends, axis=0), readers[at])
        return np.concatenate([np.ones(self.cuts.n_group_cells), values.ravel()])

    def _begun(self, nodes: IntArray) -> tuple[PartStates, IntArray]:
        """Return states with those at some nodes, and where each of these is."""
        if self.nodes.is_complete:
            return PartStates(self.nodes.vectors, slice(None), None), nodes
        roots, at = distinct_keys(nodes, len(self.nodes.groups))
        vectors = self._node_vectors(roots)
        return PartStates(vectors, slice(None), scales_of(vectors)), at

    def _node_vectors(self, nodes: IntArray) -> FloatArray:
        """Return the vectors of nodes; where the table is not complete, they are roots."""
        if self.nodes.is_complete:
            return self.nodes.vectors.take(nodes, axis=0)
        return self.steps.root_vectors(nodes, self.initial)

    def _moved(self, states: PartStates, level: PartLevel) -> PartStates:
        """Return the states at the nodes of the next level; at the first level they are known."""
        if not len(level.numbers):
            return states
        origins = chosen_of(states.rows, level.origins)
        vectors, origins, rows = self.steps.matrix_products(states.vectors, origins, level.numbers)
        scales = states.scales and states.scales.take(origins)
        if states.age + 1 < self.steps.max_age:
            return PartStates(vectors, rows, scales, states.age + 1)
        return PartStates(vectors, rows, scales_of(vectors, scales))


def _product_of_parts(values: FloatArray, scales: Scales | None, firsts: IntArray) -> WordProducts:
    """Return products of the parts' values; in logarithms where they leave the range of float64."""
    with np.errstate(over="ignore", invalid="ignore"):  # 0 times what overflows
        products = np.multiply.reduceat(values, firsts)
    log_scale, wide = np.zeros(len(firsts)), np.zeros(len(firsts), bool)
    if scales is not None:
        np.add.reduceat(scales.log_scale, firsts, out=log_scale)
        np.logical_or.reduceat(scales.wide, firsts, out=wide)
    if not (max(values.max(), -values.min()) <= 1 and np.abs(products).min() > MIN_PRODUCT):
        logs = np.log(np.abs(np.where(values == 0, 1.0, values)))
        is_near = np.add.reduceat(np.abs(logs), firsts) < MAX_LOG_PRODUCT
        products = np.where(is_near, products, np.multiply.reduceat(np.sign(values), firsts))
        log_scale += np.where(is_near, 0, np.add.reduceat(logs, firsts))
    return WordProducts(products, log_scale, wide)
