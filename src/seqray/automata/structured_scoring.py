"""Weights of many words at once by a structured automaton.

Words are cut into parts, see `WordCuts`. The values of short parts are looked up, see `PartNodes`.
Long parts are read along the prefix trees of all of them, one tree for each node at which they
leave the table, and far more words share a part than a prefix. The last letter of a part and what
reads the state after it are one vector, which is looked up, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import Scales, scales_of
from seqray.automata.scoring import BATCH_WORDS, WordProducts
from seqray.automata.structured_nodes import MAX_TABLE_NUMBERS, PartNodes, part_nodes
from seqray.automata.structured_parts import WordCuts, WordParts
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.tree import distinct_keys, sort_codes
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray, IntArray, hold_memory

MIN_PRODUCT = 1e-290
"""If a product of numbers up to 1 is larger than this, no part of it underflowed."""

MAX_LOG_PRODUCT = 700
"""A product whose factors have logarithms of at most this sum, in size, neither over- nor
underflows."""

SHARING_COST = 64
"""What it costs per part to look for equal prefixes, in multiplications."""

SAFE_RANGE = 1e-50, 1e50
"""Matrices and readers are multiplied in advance if their numbers are 0 or in this range."""


class PartLevel(NamedTuple):
    """The nodes of one level of the prefix trees of long parts, and the parts that end there."""

    origins: IntArray  # of each node its parent, within the level before; at level 0 in `PartNodes`
    cells: IntArray  # of each node, that of a group, see `WordParts`; at level 0 there is none
    ended: IntArray  # the long parts that end here
    ended_at: IntArray  # and at which node, within this level


class PartStates(NamedTuple):
    """The states at the nodes of a level: node ``i`` has row ``rows[i]`` of the vectors.

    ``scales`` is None where no vector has a scale or is too wide, which is nearly always so.
    """

    vectors: FloatArray
    rows: IntArray
    scales: Scales | None
    age: int = 0


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
        return np.asarray(np.einsum("ij,ij->i", vectors, rows))


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
    def nodes(self) -> PartNodes:
        """What parts begin with."""
        return part_nodes(self.steps, self.initial)

    @cached_property
    def cuts(self) -> WordCuts:
        """What cuts words into parts."""
        return WordCuts(self.steps, self.nodes)

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
        values: FloatArray = self._node_values.take(
            parts.ends - self.cuts.n_group_cells, mode="clip"
        )
        scales = Scales(np.zeros(len(values)), np.zeros(len(values), bool))
        readers = self.part_readers(parts)
        for begin in range(0, len(parts.long), self.steps.max_states):
            some: IntArray = np.arange(len(parts.long))[begin : begin + self.steps.max_states]
            states = None
            for level in part_levels(self.cuts, parts, readers.lengths, some):
                states = self._begun(level) if states is None else self._moved(states, level)
                if len(level.ended):
                    rows, ended = states.rows.take(level.ended_at), parts.long.take(level.ended)
                    values[ended] = readers.read(states.vectors.take(rows, axis=0), level.ended)
                    if states.scales is not None:
                        for mine, each in zip(scales, states.scales.take(rows), strict=True):
                            mine[ended] = each
        return _product_of_parts(values, scales, parts.firsts)

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
    def _readers(self) -> FloatArray:
        return self.steps.readers if self.final is None else self.steps.readers_until(self.final)

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
        is_small = n_rows * self.cuts.n_columns * size <= MAX_TABLE_NUMBERS
        if not (is_small and self.nodes.is_complete):
            return None
        numbers = self.steps.blocks.remembering.values, self._readers[:, 0]
        for sizes in map(np.abs, numbers):
            if not np.all((sizes == 0) | ((sizes > SAFE_RANGE[0]) & (sizes < SAFE_RANGE[1]))):
                return None
        return self.steps.readers_before(self._readers).reshape(-1, size)

    @cached_property
    def _node_values(self) -> FloatArray:
        """What each symbol, and last the end, reads from the vector of each node in the table."""
        vectors, n_columns = self.nodes.vectors, self.cuts.n_columns
        cells = self.cuts.first_cells(np.arange(len(vectors)))
        values = np.zeros((max(1, len(vectors)), n_columns))
        for code in range(n_columns):
            readers, at = self._readers_of_cells(cells + code)
            values[: len(vectors), code] = np.einsum("ij,ij->i", vectors, readers[at])
        return values.ravel()

    def _begun(self, level: PartLevel) -> PartStates:
        """Return the states at which long parts leave the table."""
        rows = np.arange(len(level.origins))
        if self.nodes.is_complete:
            return PartStates(self.nodes.vectors.take(level.origins, axis=0), rows, None)
        vectors = self.steps.root_vectors(level.origins, self.initial)
        return PartStates(vectors, rows, scales_of(vectors))

    def _moved(self, states: PartStates, level: PartLevel) -> PartStates:
        """Return the states at the nodes of the next level."""
        numbers = self.cuts.matrices.take(level.cells)
        origins = states.rows.take(level.origins)
        vectors, origins, rows = self.steps.matrix_products(states.vectors, origins, numbers)
        scales = states.scales and states.scales.take(origins)
        if states.age + 1 < self.steps.max_age:
            return PartStates(vectors, rows, scales, states.age + 1)
        return PartStates(vectors, rows, scales_of(vectors, scales))


def part_levels(
    cuts: WordCuts, parts: WordParts, lengths: IntArray, chosen: IntArray
) -> Iterator[PartLevel]:
    """Grow the prefix trees of some long parts level by level, from the last node of each on.

    Of part ``j``, ``lengths[j]`` letters are read. Equal prefixes are one node, as long as there
    are enough of them.
    """
    lengths = lengths.take(chosen)
    # Longest parts first, so that those still being read are always a leading slice.
    chosen = chosen.take(sort_codes(lengths.max(initial=0) - lengths))
    cursor, n_columns = parts.starts.take(chosen), cuts.n_columns
    n_longer = (len(chosen) - np.cumsum(np.bincount(lengths, minlength=1))).tolist()
    roots, at = distinct_keys(parts.nodes.take(chosen), len(cuts.nodes.groups))
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
            bases = (
                np.arange(len(keys)) * n_columns - cuts.group_onward.take(cells) if pays else None
            )
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
