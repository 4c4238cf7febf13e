"""Filling conditional blocks: query a box how contexts and their children go on."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.probabilities import leak_of, with_elsewhere
from seqray.automata.stepper import PredictingStepper
from seqray.automata.tree import PrefixTree, States, walk
from seqray.automata.words import Words
from seqray.blackbox.protocol import PredictingBox, max_length_of
from seqray.blackbox.queries.oracle import Oracle, direct_oracle
from seqray.blackbox.queries.walk_task import WalkTask, read_pieces
from seqray.extraction.basis import piece_lengths
from seqray.extraction.conditional.blocks import (
    RARE_PROBABILITY,
    ConditionalBlocks,
    is_frequent,
    rare_matter,
)
from seqray.extraction.conditional.outcomes import Outcomes
from seqray.extraction.conditional.suffixes import (
    MAX_SUFFIX_LENGTH,
    MIN_SUFFIXES,
    first_words,
    suffixes_of,
)
from seqray.extraction.settings import CONDITIONAL, ConditionalSettings
from seqray.fidelity.reference import Reference
from seqray.parallel.executor import Task
from seqray.util.arrays import FloatArray, IntArray, read_only
from seqray.util.errors import ArgumentError
from seqray.util.memory import memory_limit, shown_bytes
from seqray.util.progress import Progress

logger = logging.getLogger(__name__)

MIN_CONTEXTS = 5
"""An automaton of fewer contexts than these, for want of memory, would be useless."""

N_COPIES_IN_MEMORY = 3
"""How many times as much memory as the blocks themselves is needed to work with them."""

MAX_ROWS_AT_ONCE = 256
"""Rows whose suffixes are read together, so that memory is bounded."""


def fill_conditional(
    box: PredictingBox | Oracle,
    reference: Reference,
    *,
    n_contexts: int = CONDITIONAL.n_contexts,
    n_columns: int = CONDITIONAL.n_columns,
    extra_words: Reference | None = None,
    extra_suffixes: Words | None = None,
    progress: Progress | None = None,
    settings: ConditionalSettings = CONDITIONAL,
) -> ConditionalBlocks:
    """Query a box how the prefixes of some words go on.

    Parameters
    ----------
    box
        What to query. The workers of an oracle read rows too.
    reference
        What the box predicts for words, best drawn from the box itself. The prefixes of the first
        of them become the contexts, and the most frequent parts of all of them the suffixes.
    n_contexts, n_columns
        How many contexts at most, and about how many columns.
    extra_words
        What the box predicts for words that matter, however rare they are: their prefixes are
        contexts too.
    extra_suffixes
        More suffixes, which are read however rare they are.
    progress
        Called with how many rows are filled, and how many there are.
    settings
        How much the extra words count.
    """
    oracle = direct_oracle(box)
    box = oracle.predictor
    max_context, max_suffix = _max_lengths(max_length_of(box))
    n_contexts = _contexts_that_fit(reference, n_contexts, n_columns)
    first = first_words(reference.words.cut(max_context), n_contexts)
    others = first[:0] if extra_words is None else extra_words.words.cut(max_context)
    if extra_words is not None:
        reference = Reference.joined([reference, extra_words])
    contexts = PrefixTree.of(Words.concatenate([first, others]))
    rows = _rows(contexts, reference)
    extra = first[:0] if extra_suffixes is None else extra_suffixes
    forced = PrefixTree.of(extra.cut(max_suffix))
    frequent = suffixes_of(reference.words, n_columns)
    suffixes = PrefixTree.of(Words.concatenate([frequent, forced.words()]).cut(max_suffix))
    visits = _visits(contexts, first, others, settings.counterexample_share)
    rare = np.full(len(suffixes), RARE_PROBABILITY)
    rare[suffixes.find(forced)] = 0
    if rare_matter(_next_symbol(contexts, reference), visits):
        rare[:] = 0  # rows that lack nothing have the rank of the box
    outcomes = Outcomes.of(reference.words, _n_outcomes(n_columns), suffixes.symbol[1:])
    nodes = rows.node_of_word[: len(contexts)]
    reader = _RowReader(_Reader.of(box, reference, outcomes), rows, suffixes, rare)
    values, after, n_steps = _fill(reader, nodes, oracle, progress)
    return ConditionalBlocks(
        rows,
        nodes,
        visits,
        suffixes.words(),
        read_only(values),
        read_only(after),
        n_steps,
        reader.states.max_stay,
        outcomes,
    )


def _rows(contexts: PrefixTree, reference: Reference) -> PrefixTree:
    """Return the contexts, which come first as words, and their children that are not rare."""
    words = contexts.words()
    parents, symbols = np.nonzero(is_frequent(_next_symbol(contexts, reference)))
    return PrefixTree.of(Words.concatenate([words, words[parents].extended(symbols)]))


def _next_symbol(contexts: PrefixTree, reference: Reference) -> FloatArray:
    """Return what comes next after each context, one row each."""
    assert reference.next_symbol is not None
    return reference.next_symbol[:, reference.tree.find(contexts)].T


def _fill(
    reader: _RowReader, contexts: IntArray, oracle: Oracle, progress: Progress | None
) -> tuple[FloatArray, FloatArray, int]:
    """Return the values of all rows, what comes next after contexts, and how many steps it took."""
    box, rows, n_columns = reader.states.box, reader.rows, reader.n_columns
    values = np.zeros((len(rows), len(reader.suffixes), n_columns))
    place = np.full(len(rows), -1)
    place[contexts] = np.arange(len(contexts))
    after = np.empty((len(contexts), len(box.alphabet) + 1 + reader.states.leaks))
    n_steps, n_filled = len(rows) - 1, 0

    def visit(nodes: slice, read: FloatArray) -> None:
        at = place[nodes]
        after[at[at >= 0]] = read[at >= 0]

    blocks: Iterator[tuple[_RowPiece, tuple[FloatArray, int]]]
    pieces, workers = reader.pieces(visit), oracle.workers
    if workers is None:
        blocks = ((piece, reader.read(piece)) for piece in pieces)
    else:
        task = Task(_RowTask(workers.parcel, reader.without_box()))
        blocks = read_pieces(workers, task, pieces, oracle.meter, reader.read, n_steps)
    for piece, (block, n) in blocks:
        values[piece.rows] = block
        n_steps += n
        n_filled += len(piece.rows)
        if progress is not None:
            progress(n_filled, len(rows))
    return values, after, n_steps


class _RowPiece(NamedTuple):
    """Rows whose suffixes are read together, from some of the states that a walk left."""

    number: int
    states: States
    lanes: IntArray
    rows: IntArray
    first: FloatArray  # the outcomes of the states
    max_steps: int


@dataclass(frozen=True, eq=False)
class _RowReader:
    """Reads the values of rows; ``rare`` holds up to which probability each suffix is rare."""

    states: _Reader
    rows: PrefixTree
    suffixes: PrefixTree
    rare: FloatArray

    @property
    def n_columns(self) -> int:
        return self.states.outcomes.n_columns + 1 + self.states.leaks

    def without_box(self) -> _RowReader:
        return replace(self, states=replace(self.states, box=None))

    def pieces(self, visit: Callable[[slice, FloatArray], None]) -> Iterator[_RowPiece]:
        """Walk the rows and yield all pieces; ``visit`` gets nodes and what comes next there."""
        box, number = self.states.box, itertools.count()
        at_once = _rows_at_once(box, self.suffixes)
        for nodes, states in walk(box, self.rows, box.start()):
            read = self.states.read(states)
            first = self.states.outcomes.grouped(read)
            visit(nodes, read)
            for begin in range(nodes.start, nodes.stop, at_once):
                rows: IntArray = np.arange(begin, min(begin + at_once, nodes.stop))
                lanes = rows - nodes.start
                n_most = len(rows) * (len(self.suffixes) - 1)
                yield _RowPiece(next(number), states, lanes, rows, first[lanes], n_most)

    def read(self, piece: _RowPiece) -> tuple[FloatArray, int]:
        """Return the values of rows, and how many steps they took."""
        values = np.zeros((len(piece.rows), len(self.suffixes), self.n_columns))
        values[:, 0] = piece.first
        n_steps = _read_suffixes(
            *(self.states, piece.states, piece.lanes, self.suffixes, self.rare, values)
        )
        return values, n_steps


@dataclass(frozen=True, eq=False)
class _RowTask(WalkTask[_RowPiece]):
    """Reads rows on a worker, which walks them as the caller does."""

    reader: _RowReader

    @cached_property
    def _own(self) -> _RowReader:
        states = replace(self.reader.states, box=self.oracle.predictor)
        return replace(self.reader, states=states)

    def pieces(self) -> Iterator[_RowPiece]:
        return self._own.pieces(lambda nodes, read: None)

    def read(self, piece: _RowPiece) -> tuple[FloatArray, int]:
        return self._own.read(piece)


def _rows_at_once(box: PredictingStepper, suffixes: PrefixTree) -> int:
    """Return after how many rows suffixes are read together; some boxes limit their states."""
    widest = int(np.diff(suffixes.levels).max())
    max_states = getattr(box, "max_states", None) or MAX_ROWS_AT_ONCE * widest
    return max(1, min(MAX_ROWS_AT_ONCE, max_states // widest))


def _max_lengths(limit: int | None) -> tuple[int, int]:
    """Return how long contexts and suffixes may be: with a symbol between them they must fit."""
    if limit is None:
        return sys.maxsize, MAX_SUFFIX_LENGTH
    _, max_suffix = piece_lengths(limit)
    max_suffix = min(MAX_SUFFIX_LENGTH, max_suffix)
    return limit - 1 - max_suffix, max_suffix


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads states of a box, elsewhere too if it leaks; see `ConditionalBlocks.max_stay`."""

    box: Any  # a PredictingStepper; None where it travels to a worker, which has its own
    outcomes: Outcomes
    max_stay: float
    leaks: bool

    @classmethod
    def of(cls, box: PredictingStepper, reference: Reference, outcomes: Outcomes) -> _Reader:
        assert reference.next_symbol is not None
        if not reference.leaks:
            return cls(box, outcomes, 1.0, leaks=False)
        max_stay = float(1 - leak_of(reference.next_symbol.T).min())
        return cls(box, outcomes, max(max_stay, np.finfo(float).tiny), leaks=True)

    def read(self, states: States) -> FloatArray:
        """Return the outcomes of each state."""
        probabilities = self.box.state_next_symbol(states)
        return with_elsewhere(probabilities / self.max_stay) if self.leaks else probabilities

    def stay(self, outcomes: FloatArray) -> FloatArray | float:
        """Return the probability to stay within the alphabet, relative to `max_stay`."""
        return outcomes[:, :-1].sum(axis=1) if self.leaks else 1.0


@dataclass(frozen=True, eq=False)
class FeatureReader:
    """Reads rows that blocks could have, and do not: how any state of the box goes on."""

    reader: _Reader
    suffixes: PrefixTree
    column_sizes: FloatArray

    @classmethod
    def of(cls, box: PredictingStepper, blocks: ConditionalBlocks) -> FeatureReader:
        """Return what reads rows like those of some blocks, from which nothing rare is missing."""
        assert blocks.outcomes is not None
        reader = _Reader(box, blocks.outcomes, blocks.max_stay, blocks.leaks)
        return cls(reader, PrefixTree.of(blocks.suffixes), blocks.column_sizes)

    def features(self, states: States) -> FloatArray:
        """Return the features of each state; see `ConditionalBlocks.features`."""
        first = self.reader.outcomes.grouped(self.reader.read(states))
        values = np.zeros((len(first), len(self.suffixes), first.shape[1]))
        values[:, 0] = first
        lanes, rare = np.arange(len(first)), np.zeros(len(self.suffixes))
        _read_suffixes(self.reader, states, lanes, self.suffixes, rare, values)
        return np.asarray(values.reshape(len(first), -1) / self.column_sizes)


def _n_outcomes(n_columns: int) -> int:
    """Return how many columns the symbols after each suffix may have; there may be fewer."""
    return max(CONDITIONAL.n_columns, n_columns) // MIN_SUFFIXES - 1


def _contexts_that_fit(reference: Reference, n_contexts: int, n_columns: int) -> int:
    """Return how many of the contexts have blocks that fit into half of the memory limit.

    Where fewer than `MIN_CONTEXTS` fit, nothing could be learnt: that is an error.
    """
    assert reference.next_symbol is not None
    n_symbols, limit = len(reference.tree.alphabet), memory_limit() // 2
    n_suffixes = len(PrefixTree.of(suffixes_of(reference.words, n_columns)))
    n_numbers = n_suffixes * (min(n_symbols, _n_outcomes(n_columns)) + 2)
    row_bytes = 8 * N_COPIES_IN_MEMORY * n_numbers
    n_children = (reference.next_symbol[:n_symbols] > RARE_PROBABILITY).sum(axis=0)

    def rows_of(n: int) -> int:
        chosen = reference.tree.find(PrefixTree.of(first_words(reference.words, n)))
        return len(chosen) + int(n_children[chosen].sum())

    n_fit, n_rows = n_contexts, rows_of(n_contexts)
    while (n_bytes := row_bytes * n_rows) > limit and n_fit > 1:
        n_fit = max(1, int(0.9 * n_fit * limit / n_bytes))
        n_rows = rows_of(n_fit)
    if n_fit < (n_least := min(MIN_CONTEXTS, n_contexts)):
        n_fit, n_bytes = n_least, row_bytes * (n_rows := rows_of(n_least))
    if n_bytes > limit:
        raise ArgumentError(
            f"memory: {shown_bytes(2 * limit)} hold fewer than {n_least} contexts of "
            f"{n_contexts:,} with {n_symbols:,} symbols: expected room for {n_least} at least, "
            f"about {shown_bytes(2 * n_bytes)}, and for a faithful automaton for all of them, "
            f"about {shown_bytes(2 * row_bytes * rows_of(n_contexts))}; allow more (--memory, "
            "memory), or query fewer suffixes (--suffixes, n_suffixes)"
        )
    logger.debug(
        "up to %s prefixes are queried; blocks of %s rows take up to %.2g GB",
        *(f"{n_rows * n_suffixes:,}", f"{n_rows:,}", n_bytes / 1e9),
    )
    if n_fit < n_contexts:
        logger.warning(
            "only %d contexts of %d fit into %.2g GB of memory with %d symbols",
            *(n_fit, n_contexts, limit / 1e9, n_symbols),
        )
    return n_fit


def _visits(contexts: PrefixTree, first: Words, others: Words, share: float) -> FloatArray:
    """Return how often each context is met; the other words count this share of the first ones."""
    visits = _count_visits(contexts, first)
    if not len(others):
        return visits
    more = _count_visits(contexts, others)
    more *= share * visits.sum() / more.sum()
    return visits + more


def _count_visits(contexts: PrefixTree, words: Words) -> FloatArray:
    tree = PrefixTree.of(words)
    visits = np.zeros(len(contexts))
    visits[contexts.find(tree)] = tree.counts().sum(axis=1)
    return visits


def _read_suffixes(
    reader: _Reader,
    states: States,
    lanes: IntArray,
    suffixes: PrefixTree,
    rare: FloatArray,
    values: FloatArray,
) -> int:
    """Read all suffixes that are not rare after some rows; return how many steps that took.

    ``lanes`` says which states are those of the rows of ``values``, which hold the empty suffix.
    """
    n_steps, rows = 0, np.arange(len(lanes))
    stay = reader.stay(values[rows, 0]) * np.ones(len(rows))
    at: IntArray = np.zeros(len(rows), np.int64)  # the suffix that each state has read
    while True:
        n_children = np.diff(suffixes.first_child)[at]
        parents = np.repeat(np.arange(len(at)), n_children)
        first = suffixes.first_child[at] - np.cumsum(n_children) + n_children
        child = np.repeat(first, n_children) + np.arange(len(parents))
        symbols = suffixes.symbol[child]
        reach = values[rows[parents], at[parents], reader.outcomes.column[symbols]]
        goes_on = reach > rare[child] * stay[parents]
        if not goes_on.any():
            return n_steps
        parents, at, reach = parents[goes_on], child[goes_on], reach[goes_on]
        states = reader.box.step(states, lanes[parents], symbols[goes_on])
        rows, lanes = rows[parents], np.arange(len(parents))
        outcomes = reader.read(states)
        stay = stay[parents] * reader.stay(outcomes)
        values[rows, at] = reach[:, None] * reader.outcomes.grouped(outcomes)
        n_steps += len(parents)
