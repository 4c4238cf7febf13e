"""Filling Hankel blocks with the answers of a box.

An automaton's states are multiplied. A box with states reads every row once and goes on from its
state into the tree of suffixes. Any other box is queried about words. What the queries do not hold
follows from them, see `seqray.extraction.hankel.plan`.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from seqray.automata.algebra import reverse
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import Stepper, collect, read_each
from seqray.automata.tree import PrefixTree, States, walk
from seqray.automata.words import Words
from seqray.blackbox.protocol import WORDS_PER_QUERY, BlackBox, checked_answers, in_batches
from seqray.blackbox.queries.answer_cache import word_keys
from seqray.blackbox.queries.answer_memory import BlockCache
from seqray.blackbox.queries.oracle import Oracle, direct_oracle
from seqray.blackbox.queries.walk_task import WalkTask, read_pieces
from seqray.extraction.basis import Basis
from seqray.extraction.hankel.blocks import HankelBlocks, row_tree
from seqray.extraction.hankel.plan import Plan
from seqray.parallel.executor import Task
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError
from seqray.util.progress import Progress
from seqray.util.row_file import Rows, chunk_slices, chunks_to_fill

ROWS_PER_WALK = 64
"""Rows that go through the tree of suffixes together: few, so that siblings share a batch."""

STATES_PER_STEP = 4096
"""States of a box that are stepped at once: few enough for a network's to stay in the cache."""

CHECK_SHARE = 16
"""A check of a cached block takes one in so many of its steps, at most."""

MIN_CHECKED_WORDS = 4
"""Blocks whose check would take fewer words are not cached: they are as well filled anew."""

Answered: TypeAlias = Callable[[int], None]
"""Called with the number of answers whenever some have come."""

Allocate: TypeAlias = Callable[[tuple[int, int]], Rows]
"""Returns a matrix to fill, see `seqray.util.row_file`."""


def fill(box: BlackBox, basis: Basis, *, progress: Progress | None = None) -> HankelBlocks:
    """Query a black box for all values of the Hankel blocks of a basis.

    Parameters
    ----------
    box
        What to query. A box with states (a `seqray.automata.stepper.Stepper`) reads no prefix
        twice.
    basis
        The prefixes and suffixes.
    progress
        Called as answers come in.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> basis = seqray.uniform_basis(wa.alphabet, 30, 20, seed=np.random.default_rng(0))
    >>> blocks = fill(wa, basis)
    >>> bool(np.allclose(blocks.block("a"), 0.5 * blocks.block()))
    True
    """
    return fill_planned(direct_oracle(box), Plan.of(basis), progress)


def fill_planned(
    oracle: Oracle,
    plan: Plan,
    progress: Progress | None = None,
    cache: BlockCache | None = None,
    allocate: Allocate = np.empty,
) -> HankelBlocks:
    """Query all that a plan says.

    Parameters
    ----------
    oracle
        What to query.
    plan
        The queries.
    progress
        Called as answers come in.
    cache
        Where blocks of a box with states are looked for first, and then written.
    allocate
        Returns a matrix of a shape for the values, in memory or on disk.
    """
    oracle.alphabet.words(plan.basis.prefixes)  # refuses symbols that the box does not know
    values = allocate((len(plan.tree), len(plan.basis.suffixes)))
    done, n_steps = 0, 0

    def answered(n: int) -> None:
        nonlocal done
        done += n
        if progress is not None:
            progress(done, plan.n_queries)

    automaton = oracle.automaton
    if automaton is not None and automaton.reads_backwards:
        n_steps = _fill_by_product(automaton, plan, values, answered)
    elif oracle.stepper is not None:
        filler = _StateFiller(oracle, oracle.stepper, plan, cache)
        _complete(plan, values, filler.fill(values, answered))
        n_steps = plan.n_steps
    else:
        _complete(plan, values, _fill_by_words(oracle, plan, values, answered))
    return HankelBlocks(plan.basis, values, done, n_steps)


def _fill_by_product(box: WeightedAutomaton, plan: Plan, values: Rows, answered: Answered) -> int:
    """Fill all rows from an automaton's forward and backward states: f(uv) = α₀M_u · M_vα∞."""
    suffixes = PrefixTree.of(plan.basis.suffixes.reversed())
    mirror = reverse(box)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named below
        forward = collect(box, plan.tree, box.state_vectors)
        backward = collect(mirror, suffixes, mirror.state_vectors)
        columns = backward[suffixes.node_of_word].T
        n_before = 0
        for some, part in chunks_to_fill(values):
            np.matmul(forward[some], columns, out=part)
            _finite(part, plan.tree, np.arange(some.start, some.stop))
            n_done = plan.n_queries * some.stop // len(forward)
            answered(n_done - n_before)
            n_before = n_done
    return len(plan.tree) + len(suffixes) - 2


class LeafChunk(NamedTuple):
    """Leaf rows that are read together: children of states that a walk of the prefixes left."""

    number: int
    states: States
    parents: IntArray
    symbols: IntArray
    leaves: IntArray
    max_steps: int


class LeafRows:
    """Reads the leaf rows of a basis from the states of a box, chunk by chunk."""

    def __init__(self, box: Stepper, basis: Basis, tree: PrefixTree) -> None:
        self.box, self.basis, self.tree = box, basis, tree
        self.suffixes = PrefixTree.of(basis.suffixes)

    def chunks(self, visit: Callable[[IntArray, States], None]) -> Iterator[LeafChunk]:
        """Walk the prefixes and yield all chunks; ``visit`` gets rows of prefixes and states."""
        tree, number = self.tree, itertools.count()
        prefixes = PrefixTree.of(self.basis.prefixes)
        row_of_node = np.empty(len(prefixes), np.int64)
        row_of_node[prefixes.node_of_word] = tree.node_of_word
        children = np.arange(len(self.basis.alphabet))
        for nodes, states in walk(self.box, prefixes, self.box.start()):
            rows = row_of_node[nodes]
            visit(rows, states)
            below = tree.first_child[rows][:, None] + children
            parents, symbols = np.nonzero(tree.first_child[below] == tree.first_child[below + 1])
            for begin in range(0, len(parents), ROWS_PER_WALK):
                some = slice(begin, begin + ROWS_PER_WALK)
                leaves = below[parents[some], symbols[some]]
                max_steps = len(leaves) * len(self.suffixes)
                yield LeafChunk(
                    next(number), states, parents[some], symbols[some], leaves, max_steps
                )

    def read(self, chunk: LeafChunk) -> FloatArray:
        """Return the values of leaf rows."""
        roots = self.box.step(chunk.states, chunk.parents, chunk.symbols)
        block = _read_suffixes(self.box, roots, len(chunk.leaves), self.suffixes)
        return _finite(block, self.tree, chunk.leaves)


@dataclass(frozen=True, eq=False)
class LeafTask(WalkTask[LeafChunk]):
    """Reads leaf rows on a worker, which walks the prefixes as the caller does."""

    basis: Basis

    @cached_property
    def _rows(self) -> LeafRows:
        assert self.oracle.stepper is not None
        return LeafRows(self.oracle.stepper, self.basis, row_tree(self.basis))

    def pieces(self) -> Iterator[LeafChunk]:
        """Yield all chunks, without the values of prefixes."""
        return self._rows.chunks(lambda rows, states: None)

    def read(self, piece: LeafChunk) -> FloatArray:
        """Return the values of leaf rows."""
        return self._rows.read(piece)


class _StateFiller:
    """Fills the leaf rows, and the empty suffix of the others, from the states of a box."""

    def __init__(self, oracle: Oracle, box: Stepper, plan: Plan, cache: BlockCache | None) -> None:
        self.oracle, self.box, self.plan, self.cache = oracle, box, plan, cache
        self.rows = LeafRows(box, plan.basis, plan.tree)

    def fill(self, values: Rows, answered: Answered) -> FloatArray:
        """Fill rows of ``values``, and return the answers to the extra words."""
        box, plan = self.box, self.plan
        for leaves, block in self._blocks(values, answered):
            values[leaves] = block.reshape(len(leaves), -1)
            answered(len(leaves) * len(plan.basis.suffixes))
        if not len(plan.extra):
            return np.empty(0)
        extra = read_each(box, plan.extra, box.state_weights)
        checked_answers(extra, plan.extra, (len(extra),), self.oracle.who)
        answered(len(extra))
        return extra

    def _blocks(self, values: Rows, answered: Answered) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield leaf rows and their values, as workers read them, or as they are read here.

        What is cached is filled on the go, and so is the empty suffix of the prefixes.
        """
        tree, workers, names = self.plan.tree, self.oracle.workers, dict[int, bytes]()

        def fill_prefixes(rows: IntArray, states: States) -> None:
            values[rows, self.plan.empty] = _finite(self.box.state_weights(states), tree, rows)
            answered(len(rows))

        def uncached() -> Iterator[LeafChunk]:
            for chunk in self.rows.chunks(fill_prefixes):
                if self.cache is not None:
                    rows = tree.words(chunk.leaves)
                    names[chunk.number] = name = _block_name(rows, self.plan.basis.suffixes)
                    block = self._cached(rows, self.cache, name)
                    if block is not None:
                        values[chunk.leaves] = block.reshape(len(rows), -1)
                        answered(len(rows) * len(self.plan.basis.suffixes))
                        continue
                yield chunk

        read: Iterator[tuple[LeafChunk, FloatArray]]
        if workers is None:
            read = ((chunk, self.rows.read(chunk)) for chunk in uncached())
        else:
            task = Task(LeafTask(workers.parcel, self.plan.basis))
            meter, n_walk_steps = self.oracle.meter, len(self.plan.basis.prefixes)
            read = read_pieces(workers, task, uncached(), meter, self.rows.read, n_walk_steps)
        for chunk, block in read:
            if self.cache is not None:
                self.cache.add(names.pop(chunk.number), block)
            yield chunk.leaves, block

    def _cached(self, rows: Words, cache: BlockCache, name: bytes) -> FloatArray | None:
        """Return a cached block if a sample of it is still what the box answers.

        The sample is spread over the rows and columns.
        """
        suffixes, meter = self.plan.basis.suffixes, self.oracle.meter
        n_steps = len(rows) * len(self.rows.suffixes)
        length = 1 + rows.lengths.mean() + suffixes.lengths.mean()
        n_words = min(len(rows), int(n_steps / (CHECK_SHARE * length)))
        block = None if n_words < MIN_CHECKED_WORDS else cache.find(name)
        if block is None:
            return None
        which = np.linspace(0, len(rows) - 1, n_words).round().astype(np.int64)
        rng = np.random.default_rng([*name[:8]])  # in each block other columns
        columns = np.resize(rng.permutation(len(suffixes)), n_words)
        words = rows.joined(which, suffixes, columns)
        n_sent = meter.n_sent
        self.oracle.check_block(words, block.reshape(len(rows), -1)[which, columns])
        meter.require(max(0, n_steps - (meter.n_sent - n_sent)))  # as if it were filled anew
        return block


def _block_name(rows: Words, suffixes: Words) -> bytes:
    """Return a digest of what a block is about."""
    digest = hashlib.sha256()
    for words in (rows, suffixes):
        digest.update(b"%d:" % len(words))
        for key in word_keys(words):
            digest.update(b"%d:" % len(key) + key)
    return digest.digest()


def _read_suffixes(box: Stepper, roots: States, width: int, suffixes: PrefixTree) -> FloatArray:
    """Return the weight of every suffix from every root state, ``(width, n_suffixes)``."""
    weights = np.empty((len(suffixes), width))
    for nodes, states in walk(box, suffixes, roots, width=width, batch=STATES_PER_STEP):
        weights[nodes] = box.state_weights(states).reshape(-1, width)
    return weights[suffixes.node_of_word].T


def _fill_by_words(oracle: Oracle, plan: Plan, values: Rows, answered: Answered) -> FloatArray:
    """Fill the leaf rows, and the empty suffix of the others, by words; return the extra.

    The last leaf rows are queried together with all other words: workers wait for the last answer
    of a query, so that few large ones take less time than many small ones.
    """
    suffixes, prefixes = plan.basis.suffixes, plan.basis.prefixes
    n_rows = max(1, WORDS_PER_QUERY // len(suffixes))
    n_before = max(0, len(plan.leaves) - 1) // n_rows * n_rows
    for begin in range(0, n_before, n_rows):
        leaves = plan.leaves[begin : begin + n_rows]
        words = plan.tree.words(leaves).followed_by(suffixes)
        values[leaves] = oracle.weights(words).reshape(len(leaves), -1)
        answered(len(words))
    leaves = plan.leaves[n_before:]
    last = plan.tree.words(leaves).followed_by(suffixes)
    answers = _query(oracle, Words.concatenate([last, prefixes, plan.extra]), answered)
    of_leaves, of_prefixes, extra = np.split(answers, [len(last), len(last) + len(prefixes)])
    values[leaves] = of_leaves.reshape(len(leaves), -1)
    values[plan.tree.node_of_word, plan.empty] = of_prefixes
    return extra


def _query(oracle: Oracle, words: Words, answered: Answered) -> FloatArray:
    """Return the weights of words, and report every batch."""
    answers: list[FloatArray] = [np.empty(0)]
    for some in in_batches(words):
        answers.append(oracle.weights(some))
        answered(len(some))
    return np.concatenate(answers)


def _complete(plan: Plan, values: Rows, extra: FloatArray) -> None:
    """Fill the rows of the prefixes from other rows, and from the extra answers."""
    tree = plan.tree
    for some in chunk_slices(values, len(tree.node_of_word) if len(plan.lonely) else 0, 8):
        row, column = plan.row[some], plan.column[some]
        cells = values[row, column * (row >= 0)]
        cells[row < 0] = extra[column[row < 0]]
        values[tree.node_of_word[some, None], plan.lonely] = cells
    known = np.flatnonzero(plan.rest >= 0)
    depth = tree.depth[tree.node_of_word]
    for length in range(int(depth.max()), -1, -1):
        level = np.sort(tree.node_of_word[depth == length])
        for some in chunk_slices(values, len(level), 4 + len(tree.alphabet)):
            rows = level[some]  # their children are neighbours
            longer = tree.first_child[rows][:, None] + plan.first[known]
            values[rows[:, None], known] = values[longer, plan.rest[known]]


def _finite(weights: FloatArray, tree: PrefixTree, rows: IntArray) -> FloatArray:
    """Return weights, one or a row of them for each of ``rows``, or name the row that is bad."""
    bad = ~np.isfinite(weights)
    if bad.any():
        at = np.argwhere(bad)[0]
        word = tree.alphabet.show(tree.words(rows[at[:1]])[0])
        raise BlackBoxError(
            f"the box gave {weights[tuple(at)]} to a word that begins with {word!r}: "
            "expected a finite number"
        )
    return weights
