"""The first guess of a structured fit: prefixes of one context that go on alike share a state.

What comes next after the prefixes of each context is clustered (k-means). Emissions and moves are
then those of the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.extraction.conditional.first_guess import cluster, nearest_centre
from seqray.extraction.structured.gradient import FitNumbers
from seqray.extraction.structured.layout import FitLayout
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.row_sums import sums_by_key

MIN_PROBABILITY = 1e-7
"""The smallest probability of the first guess: a probability of 0 would never change."""

POINTS_PER_STATE, MIN_POINTS = 50, 300
"""How many prefixes of a context are clustered, for each of its states and at least."""

MAX_FEATURES = 64
"""With more outcomes than this, a random projection of them is clustered."""


@dataclass(frozen=True, eq=False)
class Followed:
    """What comes next at each node of a tree of words.

    Parameters
    ----------
    tree
        The words.
    rows
        The probability of every outcome at each node, float32, ``(n_nodes, n_outcomes)``.
    visits
        How often each node counts.
    """

    tree: PrefixTree
    rows: FloatArray
    visits: FloatArray

    def flow(self, keys: IntArray, n_keys: int) -> FloatArray:
        """Return how often each outcome follows, summed over the nodes of each key."""
        return sums_by_key(self.rows, keys, n_keys, self.visits)


def first_guess(layout: FitLayout, followed: Followed, rng: np.random.Generator) -> FitNumbers:
    """Return logarithms of probabilities to begin a fit with."""
    groups = layout.groups(followed.tree)
    contexts = groups % len(layout.contexts)
    clusters = _clusters(layout, followed, contexts, rng)
    begin = np.full(int(layout.sizes[layout.contexts.start]), 1e-3)
    begin[clusters[0]] = 1
    emission = _emission(layout, followed, groups, clusters)
    moves, entry = _moves(layout, followed, contexts, clusters, rng)
    logarithms = FitNumbers(*(_logarithms(each) for each in (emission, moves, entry, begin)))
    logarithms.entry[~layout.has_state] = -np.inf
    is_state = np.broadcast_to(layout.has_state[layout.pairs[:, 2], None], moves.shape)
    logarithms.moves[~is_state] = -np.inf
    return logarithms


def _logarithms(probabilities: FloatArray) -> FloatArray:
    """Return logarithms in float32; none is too small to change."""
    return np.log(np.maximum(probabilities, MIN_PROBABILITY)).astype(np.float32)


def _clusters(
    layout: FitLayout, followed: Followed, contexts: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return to which state of its context each node belongs."""
    features = _features(layout, followed.rows, rng)
    clusters = np.zeros(len(contexts), np.int64)
    order = np.argsort(contexts, kind="stable")
    begins = np.flatnonzero(np.diff(contexts[order], prepend=-1))
    for nodes in np.split(order, begins[1:]):
        size = int(layout.sizes[contexts[nodes[0]]])
        visits = followed.visits[nodes]
        if size == 1 or not visits.any():
            continue
        some, weights = _sampled(nodes, visits, max(MIN_POINTS, POINTS_PER_STATE * size), rng)
        centres = cluster(features[some], weights, size, rng)
        clusters[nodes] = nearest_centre(features[nodes], centres)
    return clusters


def _sampled(
    nodes: IntArray, visits: FloatArray, n_points: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Draw some of the nodes by their visits, or return all with theirs where these are few."""
    if len(nodes) <= n_points:
        return nodes, visits
    return rng.choice(nodes, n_points, p=visits / visits.sum()), np.ones(n_points)


def _features(layout: FitLayout, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return square roots of probabilities; with position classes, only those of symbols.

    So clusters say nothing of the position, which the classes know.
    """
    if layout.n_classes > 1:
        symbols = rows[:, : layout.n_symbols]
        rows = symbols / np.maximum(symbols.sum(axis=1, keepdims=True), MIN_PROBABILITY)
    features = np.sqrt(rows)
    if features.shape[1] > MAX_FEATURES:
        shape = features.shape[1], MAX_FEATURES
        features = features @ rng.standard_normal(shape, np.float32)
    return np.asarray(features)


def _emission(
    layout: FitLayout, followed: Followed, groups: IntArray, clusters: IntArray
) -> FloatArray:
    """Return the mean outcomes of every state, shape ``(n_rows, n_outcomes)``.

    A state of a position class that was hardly visited has the outcomes of its state in all
    classes, but leaves as its class does.
    """
    states = layout.offsets[groups % len(layout.contexts)] + clusters
    n_states, k = int(layout.offsets[-1]), layout.n_symbols
    of_context = followed.flow(groups % len(layout.contexts), len(layout.contexts))
    of_context += 1e-3 * of_context.sum(axis=0) / of_context.sum()
    prior = _shares(of_context)[np.repeat(np.arange(len(layout.sizes)), layout.sizes)]
    pooled = _shares(followed.flow(states, n_states) + prior)
    if layout.n_classes == 1:
        return pooled
    classes = groups // len(layout.contexts)
    leaving = _shares(followed.flow(classes, layout.n_classes) + MIN_PROBABILITY)
    emission = []
    for number in range(layout.n_classes):
        inside = np.flatnonzero(classes == number)
        visited = Followed(followed.tree, followed.rows[inside], followed.visits[inside])
        symbols = leaving[number, :k].sum() * _shares(pooled[:, :k] + MIN_PROBABILITY)
        mixed = np.column_stack([symbols, np.tile(leaving[number, k:], (n_states, 1))])
        emission.append(_shares(visited.flow(states[inside], n_states) + mixed))
    return np.concatenate(emission)


def _moves(
    layout: FitLayout,
    followed: Followed,
    contexts: IntArray,
    clusters: IntArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return which cluster follows which: every matrix, and every entry."""
    tree, size = followed.tree, layout.max_size
    nodes = np.arange(1, len(tree))
    parents, symbols = tree.parent[nodes], tree.symbol[nodes]
    flow = followed.visits[parents] * followed.rows[parents, symbols]
    shape = len(layout.contexts), size
    entered = contexts[nodes] * size + clusters[nodes]
    entered_by = np.bincount(entered, flow, shape[0] * size).reshape(shape).astype(float)
    entered_by += (0.01 * entered_by.sum(axis=1, keepdims=True) + 1e-9) / layout.sizes[:, None]
    entry = _shares(entered_by * layout.has_state)
    pairs = layout.pair_of[contexts[parents], symbols]
    kept = np.flatnonzero(pairs >= 0)
    where = (pairs[kept] * size + clusters[parents[kept]]) * size + clusters[nodes[kept]]
    n_pairs = len(layout.pairs)
    counts = np.bincount(where, flow[kept], n_pairs * size**2).reshape(n_pairs, size, size)
    prior = _shares(counts.sum(axis=1) + entry[layout.pairs[:, 2]])[:, None]
    moves = _shares(counts + prior * np.maximum(0.1 * counts.sum(axis=2, keepdims=True), 1))
    moves *= rng.uniform(0.9, 1.1, moves.shape)
    return moves, entry


def _shares(numbers: FloatArray) -> FloatArray:
    """Scale numbers so that they sum to 1 along the last axis."""
    return np.asarray(numbers / numbers.sum(axis=-1, keepdims=True))
