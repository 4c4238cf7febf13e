"""Confidence intervals: how sure a measured fidelity is, from the evaluation words alone.

The evaluation words are a sample. An interval estimates the value that a metric would have with
infinitely many words like them; for metrics that are normalised over the evaluation words, such as
``kl``, that is the limit of longer and longer samples. Whole words are drawn again or left out,
never single prefixes: those of one word belong together. `IntervalKind` lists how the interval of
a metric is made. Fewer than `MIN_WORDS` words give no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeAlias

import numpy as np

from seqray.util.arrays import FloatArray
from seqray.util.random import Seed, random_generator

CONFIDENCE_LEVEL = 0.95
"""The share of samples within an interval."""

N_SAMPLES = 400
"""How often words are drawn again."""

MIN_WORDS = 20
"""Fewer evaluation words than this say nothing about how sure a metric is."""

N_GROUPS = 50
"""Groups of words for the jackknife, each of which is left out once."""

NORMAL_QUANTILE = 1.96
"""Of the normal distribution, for `CONFIDENCE_LEVEL`."""

STUDENT_QUANTILE = 2.01
"""Of Student's distribution with `N_GROUPS` - 1 degrees of freedom, for `CONFIDENCE_LEVEL`."""

MAX_ROUNDING = 1e-12
"""A metric above 0 that no sample makes larger than this is 0, but for rounding."""

MAX_NUMBERS_DRAWN = 2**21
"""Numbers that are drawn at once, so that memory is bounded."""

Interval: TypeAlias = tuple[float, float]
Estimate: TypeAlias = Callable[[FloatArray], FloatArray]
"""Takes how often each word was drawn, ``(n_samples, n_words)``; returns the metric of each."""


class IntervalKind(Enum):
    """How the confidence interval of a metric is made."""

    PERCENTILE = "percentile"
    """The percentile bootstrap; for means over prefixes or words."""

    SKEWED = "skewed"
    """For metrics above 0 whose logarithm is closer to normal than they are themselves.

    Two intervals that are each a little short are joined: the percentile bootstrap's, and one that
    is normal in the logarithm, with the error of a jackknife over groups of words.
    """

    SKEWED_BELOW_1 = "skewed below 1"
    """As `SKEWED`, for what a metric lacks to 1: near 1 that is rare, and skewed."""

    SHARE_OF_WORDS = "share of words"
    """Wilson's interval of a share of words, which holds for rare events, too."""


def confidence_intervals(
    estimates: Mapping[str, Estimate], kinds: Mapping[str, IntervalKind], n_words: int
) -> dict[str, Interval]:
    """Return the interval of each metric that has one.

    Parameters
    ----------
    estimates
        By name, how to measure each metric on drawn words.
    kinds
        By name, which kind of interval each metric has.
    n_words
        The number of evaluation words.
    """
    if n_words < MIN_WORDS:
        return {}
    shares = {n: e for n, e in estimates.items() if kinds[n] is IntervalKind.SHARE_OF_WORDS}
    intervals = {
        name: wilson(round(estimate(np.ones((1, n_words)))[0] * n_words), n_words)
        for name, estimate in shares.items()
    }
    drawn_again = bootstrap({n: e for n, e in estimates.items() if n not in shares}, n_words)
    for name, ends in drawn_again.items():
        interval = _widened(ends, estimates[name], n_words, kinds[name])
        if interval is not None:
            intervals[name] = interval
    return intervals


def _widened(
    ends: Interval, estimate: Estimate, n_words: int, kind: IntervalKind
) -> Interval | None:
    """Return a percentile interval, joined with the one by logarithms where a metric is skewed."""
    below_1 = kind is IntervalKind.SKEWED_BELOW_1
    no_word_loses = ends[0] == 1 if below_1 else ends[1] <= MAX_ROUNDING
    if kind is IntervalKind.PERCENTILE or no_word_loses:
        return ends
    others = _skewed(estimate, n_words, below_1)
    return None if others is None else (min(ends[0], others[0]), max(ends[1], others[1]))


def wilson(n_hits: int, n_words: int) -> Interval:
    """Return Wilson's interval of a share of words.

    >>> [round(end, 4) for end in wilson(0, 500)]
    [0.0, 0.0076]
    """
    share, square = n_hits / n_words, NORMAL_QUANTILE**2
    middle = share + square / (2 * n_words)
    half = NORMAL_QUANTILE * np.sqrt(share * (1 - share) / n_words + square / (4 * n_words**2))
    low, high = (float((middle + sign * half) / (1 + square / n_words)) for sign in (-1, 1))
    return (low if n_hits else 0.0), (high if n_hits < n_words else 1.0)


def _skewed(estimate: Estimate, n_words: int, below_1: bool) -> Interval | None:
    """Return the interval by the logarithm of a metric above 0, or of what one lacks to 1."""
    if not below_1:
        return _log_normal(estimate, n_words)
    lacks = _log_normal(lambda drawn: 1 - estimate(drawn), n_words)
    return None if lacks is None else (1 - lacks[1], 1 - lacks[0])


def _log_normal(estimate: Estimate, n_words: int) -> Interval | None:
    """Return an interval of a metric above 0 by its logarithm; None where it has none."""
    group = np.random.default_rng(0).permutation(n_words) % N_GROUPS
    left = (group != np.arange(min(N_GROUPS, n_words))[:, None]).astype(float)
    value, values = estimate(np.ones((1, n_words)))[0], estimate(left)
    if not (value > 0 and (values > 0).all() and np.isfinite(values).all()):
        return None
    logs = np.log(values)
    error = np.sqrt((len(logs) - 1) * np.mean((logs - logs.mean()) ** 2))
    low, high = (float(value * np.exp(sign * STUDENT_QUANTILE * error)) for sign in (-1, 1))
    return low, high


def bootstrap(
    estimates: Mapping[str, Estimate], n_words: int, *, seed: Seed = 0
) -> dict[str, Interval]:
    """Return the percentile interval of each metric that has a value in every sample.

    Parameters
    ----------
    estimates
        By name, how to measure each metric on drawn words.
    n_words
        The number of evaluation words.
    seed
        Random seed, a number or a generator.

    Examples
    --------
    >>> heights = np.arange(100.0)
    >>> low, high = bootstrap({"mean": lambda drawn: drawn @ heights / 100}, 100)["mean"]
    >>> 43 < low < 46 and 53 < high < 56
    True
    """
    rng = random_generator(seed)
    parts: dict[str, list[FloatArray]] = {name: [] for name in estimates}
    step = max(1, min(N_SAMPLES, MAX_NUMBERS_DRAWN // n_words))
    for begin in range(0, N_SAMPLES, step):
        n_samples = min(step, N_SAMPLES - begin)
        drawn = rng.multinomial(n_words, np.full(n_words, 1 / n_words), n_samples).astype(float)
        for name, estimate in estimates.items():
            parts[name].append(estimate(drawn))
    values = {name: np.concatenate(each) for name, each in parts.items()}
    return {name: _middle(each) for name, each in values.items() if not np.isnan(each).any()}


def _middle(values: FloatArray) -> Interval:
    """Return the ends of the middle part of values, some of which may be infinite."""
    cut = int(len(values) * (1 - CONFIDENCE_LEVEL) / 2)
    ordered = np.sort(values)
    return float(ordered[cut]), float(ordered[-1 - cut])
