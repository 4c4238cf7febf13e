"""A noise probe: a few words are queried again, to see whether a box answers the same."""

from __future__ import annotations

import logging

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.queries.cache_check import mixed_groups, query_in_groups
from seqray.blackbox.queries.noise import NO_NOISE, Noise, measure_noise
from seqray.blackbox.queries.oracle import Oracle, QueryMode
from seqray.util.arrays import FloatArray, IntArray

logger = logging.getLogger(__name__)

N_PROBED = 16
"""Words that are queried once more."""

BUDGET_SHARE = 16
"""They take one in so many of a budget, at most."""

NOISE_BLOCK = b"noise, by other batches"
"""The block in which the noise of a box is cached."""


def probe_noise(oracle: Oracle, words: Words, weights: FloatArray) -> Noise:
    """Measure the noise of a box: query a few words again, beside others than before.

    Parameters
    ----------
    oracle
        What to query.
    words, weights
        Words of which some are queried again, and their first answers.
    """
    if oracle.is_deterministic:
        return NO_NOISE
    oracle.meter.check()
    which = _probed(oracle, words, weights)
    words, weights = words[which], weights[which]
    if oracle.mode is QueryMode.STATES:
        noise = measure_noise(weights, query_in_groups(oracle.weights, words))
    else:
        oracle.meter.spend(_cost(oracle, words))  # in every run, so that a budget means the same
        noise = _cached_noise(oracle) or _measured(oracle, words, weights)
    if noise.level > 0:
        logger.warning(
            "%s answers differently each time, by %s: query it more than once (repeat)",
            *(oracle.who, noise),
        )
    return noise


def _probed(oracle: Oracle, words: Words, weights: FloatArray) -> IntArray:
    """Return which words to query again: some with a weight, from all over, that are affordable."""
    some = np.flatnonzero(weights)
    if len(some) < min(N_PROBED, len(weights)):
        some = np.arange(len(weights))
    which = some[np.unique(np.linspace(0, len(some) - 1, N_PROBED).round().astype(np.int64))]
    meter = oracle.meter
    if meter.budget is None:
        return which
    limit = min(meter.budget / BUDGET_SHARE, meter.left)
    costs = np.array([_cost(oracle, words[[i]]) for i in which.tolist()])
    return which[: max(1, int((costs.cumsum() <= limit).sum()))]


def _cost(oracle: Oracle, words: Words) -> int:
    """Return how many queries it takes to query words again in groups."""
    return sum(oracle.cost_of(words[group]) for group in mixed_groups(len(words)))


def _cached_noise(oracle: Oracle) -> Noise | None:
    """Return the noise that an earlier run measured, unless the box is noisy only now.

    With a guide, or with another one, a noisy box has other noise.
    """
    cached = None if oracle.facts is None else oracle.facts.find(NOISE_BLOCK)
    if cached is None or (oracle.is_noisy and not cached[0] > 0):
        return None
    if oracle.guide is not None and cached[0] > 0:
        return None
    return Noise(float(cached[0]), relative=bool(cached[1]))


def _measured(oracle: Oracle, words: Words, first: FloatArray) -> Noise:
    """Measure the noise, and cache it."""
    again = query_in_groups(oracle.uncached_weights, words)
    noise = measure_noise(first, again, repeat=oracle.meter.repeat)
    if oracle.facts is not None and oracle.guide is None:  # a guide may hide noise
        oracle.facts.add(NOISE_BLOCK, np.array([noise.level, noise.relative]))
    return noise
