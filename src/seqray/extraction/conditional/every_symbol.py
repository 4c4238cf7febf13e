"""Transitions of every symbol, where most symbols are rare but are frequent together.

Blocks hold the children of contexts that are not rare. Over thousands of symbols that leaves out
much of what a box says. So contexts are followed by rare symbols too, straight to the coordinates
of the states after them: a row of the box's answers is read, and not stored.

- Where the states have a clear rank, some contexts that span them are followed by every symbol. The
  matrices that lead from these contexts to what follows are exact.
- Elsewhere each symbol is followed from the contexts that it follows most often. After the others
  it leads to the mean of the states that are known after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.span import pivoted_rows
from seqray.automata.stepper import PredictingStepper
from seqray.automata.tree import PrefixTree, States, walk
from seqray.extraction.conditional.blocks import ConditionalBlocks
from seqray.extraction.conditional.fill import FeatureReader
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.progress import Progress

MAX_SATURATION = 0.8
"""The rank is clear if it is at most this share of the contexts and of the columns."""

SPANNING_CONTEXTS_PER_STATE = 1.25
"""How many contexts are followed by every symbol, for each state, where the rank is clear."""

MAX_CONTEXTS_PER_SYMBOL = 10
"""How many contexts are followed by a symbol at most, where the rank is not clear."""

COLUMNS_PER_STATE = 2
"""How many next symbols are read for each state, beside those that span the states."""

MAX_READ_ERROR = 1e-7
"""Next symbols say which state it is where they give its coordinates up to this error."""

MAX_NUMBERS_AT_ONCE = 2**22
"""How many probabilities of next symbols are read at once."""


@dataclass(frozen=True, eq=False)
class Following:
    """How contexts are followed by rare symbols.

    Parameters
    ----------
    box
        What to query.
    n_queries
        How many contexts with a symbol may be read.
    progress
        Called with how many were read, and how many there are.
    """

    box: PredictingStepper
    n_queries: int
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The states of contexts as coordinates.

    Parameters
    ----------
    blocks
        How the contexts go on.
    states
        The coordinates of all rows; weighted by the contexts' shares, their columns are
        orthonormal over the contexts. Shape ``(n_rows, n_states)``.
    projection
        What makes coordinates of features, ``(n_columns, n_states)``.
    """

    blocks: ConditionalBlocks
    states: FloatArray
    projection: FloatArray

    @classmethod
    def of(cls, blocks: ConditionalBlocks, projection: FloatArray) -> StateSpace:
        """Return the states of all rows of some blocks."""
        return cls(blocks, blocks.features @ projection, projection)

    @cached_property
    def share(self) -> FloatArray:
        """How often each context is met, as a share of all visits."""
        return np.asarray(self.blocks.visits / self.blocks.visits.sum())

    @cached_property
    def of_contexts(self) -> FloatArray:
        """The states of the contexts."""
        return self.states[self.blocks.contexts]

    @cached_property
    def before(self) -> FloatArray:
        """What least squares multiplies the values of contexts by, ``(n_contexts, n_states)``."""
        return self.share[:, None] * self.of_contexts

    @cached_property
    def readers(self) -> FloatArray:
        """What reads the probability of each symbol from a state, ``(n_states, n_symbols)``."""
        n_symbols = len(self.blocks.rows.alphabet)
        return np.asarray(self.before.T @ self.blocks.probabilities[:, :n_symbols])

    @property
    def has_clear_rank(self) -> bool:
        """Whether there are many more contexts and columns than states."""
        shape = len(self.blocks.contexts), self.blocks.features.shape[1]
        return bool(self.states.shape[1] <= MAX_SATURATION * min(shape))


def every_transition(space: StateSpace, following: Following) -> FloatArray:
    """Return the matrix of every symbol, ``(n_symbols, n_states, n_states)``."""
    n_symbols, n_states = len(space.blocks.rows.alphabet), space.states.shape[1]
    n_spanning = min(len(space.share), int(SPANNING_CONTEXTS_PER_STATE * n_states) + 1)
    if space.has_clear_rank and n_spanning * n_symbols <= following.n_queries:
        return _from_spanning_contexts(space, following, n_spanning)
    return _with_mean_states(space, following)


def _from_spanning_contexts(space: StateSpace, following: Following, n_spanning: int) -> FloatArray:
    """Return matrices that are exact on some contexts, whose states span all others."""
    weighted = np.sqrt(space.share)[:, None] * space.of_contexts
    order, _ = pivoted_rows(weighted)
    frequent = np.argsort(-space.share, kind="stable")
    chosen = np.array([*dict.fromkeys([*order.tolist(), *frequent.tolist()])][:n_spanning])
    solver = np.linalg.pinv(weighted[chosen]) * np.sqrt(space.share[chosen])
    n_symbols = len(space.blocks.rows.alphabet)
    contexts, symbols = np.repeat(chosen, n_symbols), np.tile(np.arange(n_symbols), len(chosen))
    probability = space.blocks.probabilities[contexts, symbols]
    after = np.zeros((len(contexts), space.states.shape[1]))
    known = np.flatnonzero(probability > 0)
    after[known] = _states_after(space, following, contexts[known], symbols[known])
    after *= probability[:, None]
    after = after.reshape(len(chosen), -1)
    matrices = (solver @ after).reshape(len(solver), n_symbols, len(solver))
    return np.ascontiguousarray(matrices.transpose(1, 0, 2))


def _with_mean_states(space: StateSpace, following: Following) -> FloatArray:
    """Return matrices by least squares over all contexts.

    Where it is not known to which state a symbol leads, it is the mean of those after it that are.
    """
    blocks, n_states = space.blocks, space.states.shape[1]
    contexts: IntArray
    symbols: IntArray
    contexts, symbols = np.nonzero(blocks.children >= 0)
    after = space.states[blocks.children[contexts, symbols]]
    more = _likely_pairs(space, following.n_queries)
    if len(more[0]):
        contexts, symbols = (
            np.concatenate(each) for each in zip((contexts, symbols), more, strict=True)
        )
        after = np.concatenate([after, _states_after(space, following, *more)])
    order = np.argsort(symbols, kind="stable")
    contexts, symbols, after = contexts[order], symbols[order], after[order]
    probability = blocks.probabilities[contexts, symbols]
    flow = space.share[contexts] * probability
    begins = np.searchsorted(symbols, np.arange(len(blocks.rows.alphabet) + 1))
    mean = space.share @ space.of_contexts
    matrices = np.empty((len(blocks.rows.alphabet), n_states, n_states))
    for symbol, matrix in enumerate(matrices):
        here = slice(begins[symbol], begins[symbol + 1])
        total = flow[here].sum()
        entry = flow[here] @ after[here] / total if total > 0 else mean
        change = probability[here, None] * (after[here] - entry)
        known = space.before[contexts[here]].T @ change
        matrix[:] = np.outer(space.readers[:, symbol], entry) + known
    return matrices


def _likely_pairs(space: StateSpace, n_queries: int) -> tuple[IntArray, IntArray]:
    """Return the contexts that rare symbols follow most often, and these symbols."""
    blocks = space.blocks
    n_symbols = len(blocks.rows.alphabet)
    n_each = min(MAX_CONTEXTS_PER_SYMBOL, n_queries // n_symbols, len(space.share))
    if not n_each:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    flow = space.share[:, None] * blocks.probabilities[:, :n_symbols]
    flow[blocks.children >= 0] = 0
    contexts = np.argpartition(-flow, n_each - 1, axis=0)[:n_each].ravel()
    symbols = np.tile(np.arange(n_symbols), n_each)
    wanted = flow[contexts, symbols] > 0
    order = np.lexsort((symbols[wanted], contexts[wanted]))
    return contexts[wanted][order], symbols[wanted][order]


def _states_after(
    space: StateSpace, following: Following, contexts: IntArray, symbols: IntArray
) -> FloatArray:
    """Follow contexts, in ascending order of them or not, by symbols; return the states there."""
    blocks, box = space.blocks, following.box
    distinct, which = np.unique(contexts, return_inverse=True)
    tree = PrefixTree.of(blocks.rows.words(blocks.contexts[distinct]))
    nodes = tree.node_of_word[which]
    order = np.argsort(nodes, kind="stable")
    sorted_nodes = nodes[order]
    coordinates = _coordinates(space, box)
    after = np.empty((len(contexts), space.states.shape[1]))
    n_done = 0
    for here, states in walk(box, tree, box.start()):
        begin, end = np.searchsorted(sorted_nodes, [here.start, here.stop])
        for some in _batches(order[begin:end], box):
            children = box.step(states, nodes[some] - here.start, symbols[some])
            after[some] = coordinates(children)
            n_done += len(some)
            if following.progress is not None:
                following.progress(n_done, len(contexts))
    return after


def _batches(numbers: IntArray, box: PredictingStepper) -> Iterator[IntArray]:
    size = max(1, MAX_NUMBERS_AT_ONCE // (len(box.alphabet) + 1))
    size = min(size, getattr(box, "max_states", None) or size)
    for begin in range(0, len(numbers), size):
        yield numbers[begin : begin + size]


def _coordinates(space: StateSpace, box: PredictingStepper) -> Callable[[States], FloatArray]:
    """Return what makes coordinates of states of the box.

    It reads next symbols where these say which state it is, and otherwise what follows suffixes.
    """
    blocks = space.blocks
    columns, solver, error = _readable_columns(space)
    if error <= MAX_READ_ERROR or not space.has_clear_rank:

        def by_next_symbol(states: States) -> FloatArray:
            read = np.asarray(box.state_next_symbol(states)[:, columns])
            return np.asarray((read / blocks.max_stay) @ solver)

        return by_next_symbol
    reader = FeatureReader.of(box, blocks)

    def by_suffixes(states: States) -> FloatArray:
        return np.asarray(reader.features(states) @ space.projection)

    return by_suffixes


def _readable_columns(space: StateSpace) -> tuple[IntArray, FloatArray, float]:
    """Return next symbols that say which state it is, what to multiply them by, and the error."""
    n_states, n_symbols = space.states.shape[1], len(space.blocks.rows.alphabet)
    probabilities = space.blocks.probabilities[:, : n_symbols + 1]
    size = np.sqrt(np.maximum(space.share @ probabilities, 1e-12))
    spanning, _ = pivoted_rows((space.readers / size[:-1]).T)
    frequent = np.argsort(-size, kind="stable")[: COLUMNS_PER_STATE * n_states + 1]
    columns = np.union1d(spanning, frequent)
    weight = np.sqrt(space.share)[:, None]
    read = probabilities[:, columns] / size[columns]
    solver = np.linalg.pinv(weight * read, rcond=1e-11) @ (weight * space.of_contexts)
    error = float(np.abs(read @ solver - space.of_contexts).max())
    return columns, solver / size[columns, None], error
