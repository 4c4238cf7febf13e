"""Weights of many words at once by a structured automaton.

Words are cut into parts, see `WordCuts`. The values of short parts are looked up, see `PartNodes`.
Long parts are read along the prefix trees of all of them, one tree for each node at which they
leave the table, and far more words share a part than a prefix. The last letter of a part and what
reads the state after it are one vector, which is looked up, too. Where matrices are large, parts
are read from both ends, see `HalfReader`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import Scales, rescale, scales_of
from seqray.automata.scoring import BATCH_WORDS, WordProducts
from seqray.automata.structured_nodes import MAX_TABLE_NUMBERS, PartNodes, part_nodes
from seqray.automata.structured_parts import WordCuts, WordParts
from seqray.automata.structured_stack import Chosen, chosen_of, chosen_rows
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.structured_sweeps import HalfReader, HalfStates, Halves, of_distinct
from seqray.automata.tree import distinct_keys, sort_codes
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray, IntArray, hold_memory

MIN_PRODUCT = 1e-290
"""If a product of numbers up to 1 is larger than this, no part of it underflowed."""

MAX_LOG_PRODUCT = 700
"""A product whose factors have logarithms of at most this sum, in size, neither over- nor
underflows."""

SAFE_RANGE = 1e-50, 1e50
"""Matrices and readers are multiplied in advance if their numbers are 0 or in this range."""

SHARING_COST = 96
"""What it costs per part to look for equal beginnings, in multiplications."""

JOINED_PARTS = 1024
"""Of how many parts the halves are joined at a time, so that they stay in the cache."""


class PartLevel(NamedTuple):
    """The nodes of one level of the prefix trees of long parts, and the parts that end there.

    The first level has no ``origins``: its nodes are where the parts begin.
    """

    origins: Chosen  # of each node its parent, within the level before
    numbers: IntArray  # of each node the matrix that leads to it
    ended: IntArray  # the long parts that end here
    ended_at: Chosen  # and at which node, within this level


class PartStates(NamedTuple):
    """The states at the nodes of a level: node ``i`` has row ``i`` of ``vectors[rows]``.

    ``scales`` is None where no vector has a scale or is too wide, which is nearly always so.
    """

    vectors: FloatArray
    rows: Chosen
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
        rows *= vectors
        products: FloatArray = rows.dot(np.ones(rows.shape[1]))
        return products


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
        values: FloatArray = self._cell_values.take(parts.cells)
        scales = None
        readers = self.part_readers(parts)
        read, n_together = self._read_levels, self.steps.max_states
        if not self.steps.is_stacked:  # two halves, and in a sweep about two vectors of each
            read, n_together = self._read_halves, max(1, self.steps.max_states // 4)
        for begin in range(0, len(parts.starts), n_together):
            some: IntArray = np.arange(len(parts.starts))[begin : begin + n_together]
            ended, values_read, scales_read = read(parts, readers, some)
            ends = (parts.starts + parts.lengths).take(ended)
            values[ends] = values_read
            if scales_read is not None:
                scales = scales or Scales.none(len(values))
                scales.put(ends, scales_read)
        return _product_of_parts(values, scales, parts.firsts)

    def _read_levels(
        self, parts: WordParts, readers: PartReaders, some: IntArray
    ) -> tuple[IntArray, FloatArray, Scales | None]:
        """Read some long parts letter by letter; return them, their values and their scales."""
        ended, values, scales = np.empty_like(some), np.empty(len(some)), None
        states, at = self._begun(parts.nodes.take(some))
        n_ended = 0
        for level in part_levels(self.cuts, parts, readers.lengths, some, at):
            states = self._moved(states, level)
            rows, here = (
                chosen_of(states.rows, level.ended_at),
                slice(n_ended, n_ended + len(level.ended)),
            )
            n_ended = here.stop
            ended[here] = level.ended
            values[here] = readers.read(chosen_rows(states.vectors, rows), level.ended)
            if states.scales is not None:
                scales = scales or Scales.none(len(some))
                scales.put(here, states.scales.take(rows))
        return ended, values, scales

    def _read_halves(
        self, parts: WordParts, readers: PartReaders, some: IntArray
    ) -> tuple[IntArray, FloatArray, Scales | None]:
        """Read some long parts from both ends; return them, their values and their scales."""
        halves, roots = self.part_halves(parts, readers, some)
        return some, *_joined(self.half_reader.states(parts.cells, halves, roots))

    def part_halves(
        self, parts: WordParts, readers: PartReaders, some: IntArray
    ) -> tuple[Halves, FloatArray]:
        """Return the first halves of some long parts, then the second halves, and their roots."""
        starts, lengths = parts.starts.take(some), readers.lengths.take(some)
        nodes, node_of_part = distinct_keys(parts.nodes.take(some), len(self.nodes.groups))
        rows, row_of_part = distinct_keys(readers.of_part.take(some), len(readers.rows))
        # A reader may reach beyond its group, which is harmless until it is multiplied itself.
        sizes = np.empty(len(rows), np.int64)
        groups = parts.cells.take(starts + lengths) // self.cuts.n_columns
        sizes[row_of_part] = self.steps.grouping.sizes.take(groups)
        within = np.arange(readers.rows.shape[1]) < sizes[:, None]
        halves = Halves(
            np.concatenate([node_of_part, len(nodes) + row_of_part]),
            np.concatenate([starts, starts + lengths - 1]),
            np.repeat([1, -1], len(some)),
            np.concatenate([lengths - lengths // 2, lengths // 2]),
        )
        last = np.where(within, readers.rows[rows], 0)
        return halves, np.concatenate([self._node_vectors(nodes), last])

    @cached_property
    def half_reader(self) -> HalfReader:
        """What reads halves of parts."""
        return HalfReader(self.cuts)

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
            numbers = cuts.matrices.take(of_distinct(cells, at, len(keys)))
            yield PartLevel(keys // n_columns, numbers, chosen[ended], at[ended])
        else:  # each part is a node of its own
            yield PartLevel(origins, cuts.matrices.take(cells), chosen[ended], ended)
            origins = slice(0, n_left)


def _pays(at: IntArray, size: int) -> bool:
    """Whether to look for equal beginnings, given the nodes at which parts stand."""
    n_spared = len(at) - np.count_nonzero(np.bincount(at))
    return bool(n_spared * size**2 >= SHARING_COST * len(at))


def _joined(halves: HalfStates) -> tuple[FloatArray, Scales]:
    """Return the values of parts and their scales, given all first and then all second halves."""
    n_parts = len(halves.rows) // 2
    log_scale, wide = halves.scales
    values = np.empty(n_parts)
    for begin in range(0, n_parts, JOINED_PARTS):
        here: IntArray = np.arange(begin, min(begin + JOINED_PARTS, n_parts))
        values[here] = np.einsum("ij,ij->i", halves.take(here), halves.take(here + n_parts))
    sizes = np.abs(values)
    far = np.flatnonzero(~((sizes > MIN_PRODUCT) & (sizes < 1 / MIN_PRODUCT)))
    if len(far):
        both = np.concatenate([far, far + n_parts])
        vectors, scale = halves.take(both), log_scale.take(both)
        wide[both] |= rescale(vectors, scale)
        log_scale[both] = scale
        values[far] = np.einsum("ij,ij->i", vectors[: len(far)], vectors[len(far) :])
    return values, Scales(
        log_scale[:n_parts] + log_scale[n_parts:], wide[:n_parts] | wide[n_parts:]
    )


def _product_of_parts(values: FloatArray, scales: Scales | None, firsts: IntArray) -> WordProducts:
    """Return products of the parts' values; in logarithms where they leave the range of float64."""
    with np.errstate(over="ignore"):
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
