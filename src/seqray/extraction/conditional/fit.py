"""Probabilistic automata fitted to a box that predicts: no weight below 0, every state a probability.

A truncated SVD is near the box context by context, but reads its own states as it goes, and small
errors add up: some words come out with a negative weight. A probabilistic automaton
cannot go wrong in that way. Its first guess puts contexts that go on alike into one state (k-means
on their conditional blocks); then its weights are moved against the gradient of the cross-entropy
between its next-symbol distributions and the box's, along whole words, batch by batch (Adam).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import with_elsewhere
from seqray.automata.ranks import MIN_ENDING
from seqray.automata.tree_batches import Corpus, TreeBatch
from seqray.automata.words import Alphabet
from seqray.extraction.conditional.blocks import SHARE, ConditionalBlocks
from seqray.fidelity.compare import Reference
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.progress import Progress

BATCH, EPOCHS, STEPS, RATE = 512, 6, 200, 0.4
"""Words a step at most, how often they are read, the least number of steps, how far one goes."""

LEAST = 1e-7
"""A probability of the first guess is at least this: one of 0 would never change."""

FLOOR, STEEPEST = 1e-12, 1e6
"""No probability counts as less than the one, no slope as more than the other: both are for float32."""

NEVER = 1e-9
"""What the box gives less than this probability, as words of a data set may have it, is not learnt."""

FEW = 2**17
"""Numbers in the matrices of a level, up to which each node gets one of its own."""

Parameters = tuple[FloatArray, FloatArray]
"""Logarithms: of how a word begins, ``(n_states,)``; of what comes next, ``(n_states, n_symbols ×
n_states + 1)``, with each symbol and into each state, and then the end; of a box that leaks there
is one more column, elsewhere, which leads nowhere."""


class Level(NamedTuple):
    """The nodes of one level of a tree below the root."""

    nodes: slice
    parents: IntArray
    symbols: IntArray
    by_symbol: Sequence[tuple[int, IntArray]]  # each symbol, and which of the nodes it leads to
    families: IntArray  # where the children of another parent begin


class Lesson(NamedTuple):
    """A batch: the levels of its tree, and how often what comes next, ``(n_nodes, …)``."""

    levels: Sequence[Level]
    steps: Sequence[tuple[int, IntArray, IntArray]]  # each symbol, its children and their parents
    follows: FloatArray


def fit(
    blocks: ConditionalBlocks,
    known: Reference,
    n_states: int,
    *,
    n_words: int | None = None,
    besides: Reference | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> WeightedAutomaton:
    """Fit a probabilistic automaton to what a box said.

    Parameters
    ----------
    blocks
        How contexts go on, for the first guess.
    known
        What the box said of the words to learn from.
    n_states
        How many states at most.
    n_words
        How many of the words to learn from, the first ones; None: all.
    besides
        What the box said of words that matter, however seldom they come up: every so many steps
        one goes by them (`seqray.extraction.conditional.blocks.SHARE`).
    seed
        Of the first guess, and of the order of batches.
    progress
        Called after every step with the number of steps done, and of all.

    Examples
    --------
    >>> import seqray
    >>> from seqray.extraction.conditional.blocks import fill_conditional
    >>> box = seqray.WeightedAutomaton(
    ...     "ab", [1, 0], [[[0, 0.9], [0, 0]], [[0, 0], [0.8, 0]]], [0.1, 0.2]
    ... )
    >>> known = Reference.ask(box, box.sample(500, seed=0).words)
    >>> fitted = fit(fill_conditional(box, known), known, 2)
    >>> fitted.next_symbol(["", "a"]).round(1)
    array([[0.9, 0. , 0.1],
           [0. , 0.8, 0.2]])
    """
    rng = np.random.default_rng(seed)
    parameters = first_guess(blocks, n_states, rng)
    stays = blocks.stays if blocks.leaks else None
    n_words = len(known.weights) if n_words is None else n_words
    lessons = lessons_of(known, n_words, rng, stays=stays)
    if besides is not None:
        more = lessons_of(besides, len(besides.weights), rng, stays=stays)
        lessons += more * max(1, round(SHARE * len(lessons) / len(more)))
    n_epochs = max(EPOCHS, -(-STEPS // len(lessons)))
    adam = _Adam(len(lessons) * n_epochs)
    for _ in range(n_epochs):
        for at in rng.permutation(len(lessons)):
            parameters = adam.step(parameters, gradient(parameters, lessons[at])[1])
            if progress is not None:
                progress(adam.n_done, adam.n_steps)
    return to_automaton(blocks.rows.alphabet, parameters, stays=stays)


def to_automaton(
    alphabet: Alphabet, parameters: Parameters, *, stays: float | None = None
) -> WeightedAutomaton:
    """Return the automaton of some parameters; every state ends, if hardly ever.

    ``stays`` is that of the conditional blocks where the box leaks.
    """
    begin, goes_on = (_probabilities(each.astype(np.float64)) for each in parameters)
    n, end = len(begin), len(begin) * len(alphabet)
    goes_on[:, end] = np.maximum(goes_on[:, end], MIN_ENDING)
    goes_on /= goes_on.sum(axis=1, keepdims=True)
    transitions = goes_on[:, :end].reshape(n, len(alphabet), n).transpose(1, 0, 2)
    if stays is None:
        return WeightedAutomaton(alphabet, begin, transitions, goes_on[:, end])
    elsewhere = 1 - stays * goes_on[:, : end + 1].sum(axis=1)
    return WeightedAutomaton(
        alphabet, begin, stays * transitions, stays * goes_on[:, end], elsewhere
    )


# The first guess ----------------------------------------------------------------------------------


def first_guess(blocks: ConditionalBlocks, n_states: int, rng: np.random.Generator) -> Parameters:
    """Put contexts that go on alike into one state, and count where they go on to."""
    features, contexts, visits = blocks.features, blocks.contexts, blocks.visits
    centres = cluster(features[contexts], visits, n_states, rng)
    state = _nearest(features, centres)
    n, n_symbols = len(centres), len(blocks.rows.alphabet)
    origin = state[contexts]
    goes_on = np.zeros((n, n_symbols, n))
    context, symbol = np.nonzero(blocks.children >= 0)
    target = state[blocks.children[context, symbol]]
    flow = visits[:, None] * blocks.probabilities
    np.add.at(goes_on, (origin[context], symbol, target), flow[context, symbol])
    ends, symbols = np.zeros((n, flow.shape[1] - n_symbols)), np.zeros((n, n_symbols))
    np.add.at(ends, origin, flow[:, n_symbols:])
    np.add.at(symbols, origin, flow[:, :n_symbols])
    # A little of every symbol goes everywhere, so that any way can be learnt.
    mass = np.bincount(origin, visits, n) / visits.sum()
    goes_on += 0.05 * symbols[:, :, None] * (mass + 1 / n) / 2
    goes_on *= rng.uniform(0.9, 1.1, goes_on.shape)
    every = np.column_stack([goes_on.reshape(n, -1), ends])
    every = np.maximum(every / every.sum(axis=1, keepdims=True), LEAST)
    begin = np.full(n, 1e-3)
    begin[origin[0]] = 1
    return np.log(begin).astype(np.float32), np.log(every).astype(np.float32)


def cluster(
    points: FloatArray, weights: FloatArray, n_clusters: int, rng: np.random.Generator
) -> FloatArray:
    """Return the centres of weighted k-means, begun far apart (k-means++), ``(n_clusters, …)``.

    Fewer where there are not as many different points.
    """
    centres = points[:1]
    far = np.full(len(points), np.inf)
    for _ in range(n_clusters - 1):
        far = np.minimum(far, ((points - centres[-1]) ** 2).sum(axis=1))
        probability = weights * far
        if probability.sum() <= 1e-12 * weights.sum():
            break
        another = rng.choice(len(points), p=probability / probability.sum())
        centres = np.concatenate([centres, points[another : another + 1]])
    for _ in range(20):
        nearest = _nearest(points, centres)
        members = (nearest == np.arange(len(centres))[:, None]) * weights
        size = members.sum(axis=1, keepdims=True)
        centres = np.where(size > 0, members @ points / np.maximum(size, 1e-300), centres)
    return centres[np.unique(_nearest(points, centres))]


def _nearest(points: FloatArray, centres: FloatArray) -> IntArray:
    found: IntArray = ((centres**2).sum(axis=1) - points @ (2 * centres.T)).argmin(axis=1)
    return found


# Learning -----------------------------------------------------------------------------------------


def lessons_of(
    known: Reference, n_words: int, rng: np.random.Generator, *, stays: float | None = None
) -> list[Lesson]:
    """Cut the first words into batches, each a tree with what the box says comes next.

    ``stays`` is that of the conditional blocks where the box leaks.
    """
    assert known.next_symbol is not None
    corpus = Corpus(known.words)
    possible = reachable(known)
    order = rng.permutation(min(n_words, len(corpus)))
    lessons = []
    size = min(BATCH, max(32, len(order) // 8))
    for begin in range(0, len(order), size):
        batch = corpus.batch(order[begin : begin + size])
        visits = batch.counts.sum(axis=1) * possible[batch.nodes]
        follows = known.next_symbol[:, batch.nodes].T
        if stays is not None:
            follows = with_elsewhere(follows / stays)
        follows = follows * (visits / batch.n_letters)[:, None]
        lessons.append(_lesson(batch, follows.astype(np.float32)))
    return lessons


def reachable(known: Reference) -> BoolArray:
    """Which nodes the box says can be reached: of what comes after others nothing is learnt."""
    assert known.next_symbol is not None
    tree = known.tree
    probability = known.next_symbol[tree.symbol, tree.parent]
    possible = probability > NEVER
    possible[0] = True
    for start, stop in pairwise(tree.levels[1:].tolist()):
        possible[start:stop] &= possible[tree.parent[start:stop]]
    return possible


def _lesson(batch: TreeBatch, follows: FloatArray) -> Lesson:
    levels = []
    for begin, end in pairwise(np.cumsum(batch.sizes).tolist()):
        parents, symbols = batch.parents[begin:end], batch.symbols[begin:end]
        by_symbol = [(int(symbol), np.flatnonzero(symbols == symbol)) for symbol in set(symbols)]
        families = np.flatnonzero(np.diff(parents, prepend=-1))
        levels.append(Level(slice(begin, end), parents, symbols, by_symbol, families))
    steps = []
    for symbol in range(batch.counts.shape[1] - 1):
        children = np.flatnonzero(batch.symbols == symbol)
        steps.append((symbol, children, batch.parents[children]))
    return Lesson(levels, steps, follows)


def gradient(parameters: Parameters, lesson: Lesson) -> tuple[float, Parameters]:
    """Return the cross-entropy of a batch, in nats a symbol, and its gradient."""
    begin, goes_on = (_probabilities(each) for each in parameters)
    n, n_symbols = len(begin), len(lesson.steps)
    moves, leaves = goes_on[:, : n * n_symbols], goes_on[:, n * n_symbols :]
    matrices = np.ascontiguousarray(moves.reshape(n, n_symbols, n).transpose(1, 0, 2))
    readers = np.column_stack([matrices.sum(axis=2).T, leaves])
    states = np.empty((len(lesson.follows), n), begin.dtype)
    probability = np.empty((len(states), 1), begin.dtype)
    states[0] = begin
    for level in lesson.levels:
        moved = _moved(states[level.parents], matrices, level)
        probability[level.nodes] = np.maximum(moved.sum(axis=1, keepdims=True), FLOOR)
        states[level.nodes] = moved / probability[level.nodes]
    read = states @ readers + FLOOR
    loss = -float((lesson.follows * np.log(read)).sum())
    # Backwards: what each number's change would change.
    by_read = -lesson.follows / read
    by_state = by_read @ readers.T
    by_reader = states.T @ by_read
    by_moved = np.zeros_like(states)
    backwards = matrices.transpose(0, 2, 1)
    for level in reversed(lesson.levels):
        own, by_own = states[level.nodes], by_state[level.nodes]
        change = by_own - np.einsum("ij,ij->i", by_own, own)[:, None]
        change = (change / probability[level.nodes]).clip(-STEEPEST, STEEPEST)
        by_moved[level.nodes] = change
        back = np.add.reduceat(_moved(change, backwards, level), level.families, axis=0)
        by_state[level.parents[level.families]] += back
    by_matrix = np.repeat(by_reader[:, :n_symbols].T[:, :, None], n, axis=2)
    for symbol, children, parents in lesson.steps:
        by_matrix[symbol] += states[parents].T @ by_moved[children]
    by_moves = by_matrix.transpose(1, 0, 2).reshape(n, -1)
    by_goes_on = np.column_stack([by_moves, by_reader[:, n_symbols:]])
    return loss, (_by_logarithm(begin, by_state[0]), _by_logarithm(goes_on, by_goes_on))


def _moved(vectors: FloatArray, matrices: FloatArray, level: Level) -> FloatArray:
    """Multiply each vector of a level by the matrix of its symbol."""
    if vectors.size * vectors.shape[1] <= FEW:  # a matrix each: cheaper than one product a symbol
        moved: FloatArray = np.matmul(vectors[:, None], matrices[level.symbols])[:, 0]
        return moved
    moved = np.empty_like(vectors)
    for symbol, which in level.by_symbol:
        moved[which] = vectors[which] @ matrices[symbol]
    return moved


def _probabilities(logarithms: FloatArray) -> FloatArray:
    """Softmax along the last axis."""
    probabilities: FloatArray = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return probabilities


def _by_logarithm(probabilities: FloatArray, by_probability: FloatArray) -> FloatArray:
    """Return the gradient by the logarithms, from that by the probabilities."""
    moved = probabilities * by_probability
    moved -= probabilities * moved.sum(axis=-1, keepdims=True)
    return moved


class _Adam:
    """Adam with a short warm-up and a rate that falls to 0 along a cosine."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps, self.n_done = n_steps, 0
        self.means: list[FloatArray] = []
        self.squares: list[FloatArray] = []

    def step(self, parameters: Parameters, gradients: Parameters) -> Parameters:
        if not self.n_done:
            self.means = [np.zeros_like(each) for each in gradients]
            self.squares = [np.zeros_like(each) for each in gradients]
        self.n_done += 1
        warm, done = min(1, self.n_done / 20), self.n_done / self.n_steps
        rate = RATE * warm * (1 + np.cos(np.pi * done)) / 2
        for i, each in enumerate(gradients):
            self.means[i] += 0.1 * (each - self.means[i])
            self.squares[i] += 0.01 * (each * each - self.squares[i])
        first, second = 1 - 0.9**self.n_done, 1 - 0.99**self.n_done
        moved = [
            each - np.float32(rate / first) * mean / (np.sqrt(square / np.float32(second)) + 1e-8)
            for each, mean, square in zip(parameters, self.means, self.squares, strict=True)
        ]
        return moved[0], moved[1]
