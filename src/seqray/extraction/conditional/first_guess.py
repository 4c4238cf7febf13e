"""The first guess of a fit: contexts that go on alike share a state (k-means on their blocks)."""

from __future__ import annotations

import numpy as np

from seqray.extraction.conditional.blocks import ConditionalBlocks
from seqray.extraction.conditional.gradient import LogParameters
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.row_sums import summing_matrix

MIN_PROBABILITY = 1e-7
"""The smallest probability of the first guess: a probability of 0 would never change."""

MAX_ITERATIONS = 20
"""Iterations of k-means, at most; it ends where no point changes its centre."""


def first_guess(
    blocks: ConditionalBlocks, n_states: int, rng: np.random.Generator
) -> LogParameters:
    """Return parameters where contexts that go on alike share a state, from counts of transitions.

    Every transition has a small probability, so that it can be learnt.
    """
    features, contexts, visits = blocks.features, blocks.contexts, blocks.visits
    centres = cluster(features[contexts], visits, n_states, rng)
    state = nearest_centre(features, centres)
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
    mass = np.bincount(origin, visits, n) / visits.sum()
    goes_on += 0.05 * symbols[:, :, None] * (mass + 1 / n) / 2
    goes_on *= rng.uniform(0.9, 1.1, goes_on.shape)
    every = np.column_stack([goes_on.reshape(n, -1), ends])
    every = np.maximum(every / every.sum(axis=1, keepdims=True), MIN_PROBABILITY)
    begin = np.full(n, 1e-3)
    begin[origin[0]] = 1
    return np.log(begin).astype(np.float32), np.log(every).astype(np.float32)


def cluster(
    points: FloatArray,
    weights: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    max_iterations: int = MAX_ITERATIONS,
) -> FloatArray:
    """Return the centres of weighted k-means (begun by k-means++), shape ``(n_clusters, …)``.

    There are fewer where there are not as many different points.
    """
    centres = points[:1]
    far = np.full(len(points), np.inf)
    for _ in range(n_clusters - 1):
        away = points - centres[-1]
        far = np.minimum(far, np.einsum("ij,ij->i", away, away))
        up_to = np.cumsum(weights * far)
        if up_to[-1] <= 1e-12 * weights.sum():
            break
        another = np.searchsorted(up_to[:-1], rng.random() * up_to[-1], side="right")
        centres = np.concatenate([centres, points[another : another + 1]])
    nearest = nearest_centre(points, centres)
    weighted = weights[:, None] * points
    for _ in range(max_iterations):
        sums = summing_matrix(nearest, len(centres), dtype=weighted.dtype.type) @ weighted
        size = np.bincount(nearest, weights, len(centres))[:, None]
        centres = np.where(size > 0, sums / np.maximum(size, 1e-300), centres)
        before, nearest = nearest, nearest_centre(points, centres)
        if (nearest == before).all():
            break
    return centres[np.unique(nearest)]


def nearest_centre(points: FloatArray, centres: FloatArray) -> IntArray:
    """Return the nearest centre of each point."""
    nearest: IntArray = ((centres**2).sum(axis=1) - points @ (2 * centres.T)).argmin(axis=1)
    return nearest
