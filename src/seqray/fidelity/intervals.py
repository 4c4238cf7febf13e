"""Confidence intervals: how sure a measured fidelity is, from the evaluation words alone.

The evaluation words are a sample. An interval estimates the value that a metric would have with
infinitely many words like them. Metrics of the weights of words, such as ``kl`` and
``relative_error``, have none: the few words of the largest weights decide them, and a sample may
lack those. Whole words count, never single prefixes: those of one word belong together.
`IntervalKind` lists how the interval of a metric is made. Fewer than `MIN_WORDS` words give no
interval. Nor is there one where few words carry the metric or its error, see `MIN_CARRIERS`: other
samples may have other such words, and these do not say which.

No interval knows of kinds of words that are too rare to be among the evaluation words;
`seldom_seen` says how rare these may be. The campaign ``intervals`` in ``reliability/`` measures
how often intervals hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple, TypeAlias

import numpy as np

from seqray.fidelity.word_metrics import MAX_ROUNDING
from seqray.util.arrays import FloatArray

CONFIDENCE_LEVEL = 0.95
"""The share of samples whose interval holds the true value."""

TAIL = (1 - CONFIDENCE_LEVEL) / 2
"""The share of samples that have the true value below their interval, and above it."""

NORMAL_QUANTILE = 1.959964
"""Standard errors that an interval reaches to each side, for `CONFIDENCE_LEVEL`."""

MIN_WORDS = 20
"""Fewer evaluation words than this say nothing about how sure a metric is."""

MIN_CARRIERS = 40
"""So many words at least have to make up a metric, and its variance, for an interval.

As many as that, if all of them counted alike. With fewer, intervals were measured to hold the true
value in 55 to 85 of 100 samples of some automata, or always.
"""

EXTRA_WORDS = 0.7
"""How many words more, like the worst of these, the end of an interval allows for.

With half a word intervals of few losses held the true value too seldom, with a whole one too often.
"""

FEW_HITS = 10
"""A share of words that fewer than these show, or lack, has a bound to one side."""

MAX_GAMMA_SHAPE = 1e6
"""With a larger shape a gamma distribution is taken to be normal."""

Interval: TypeAlias = tuple[float, float]


class Estimate(NamedTuple):
    """A metric as a function of sums over words, so that words can be left out or added.

    Examples
    --------
    The mean length of four words, and that of the same words without the last:

    >>> lengths = np.array([1.0, 2.0, 3.0, 6.0])
    >>> mean = Estimate((lengths, np.ones(4)), np.divide)
    >>> float(mean(np.ones(4))), float(mean(np.array([1.0, 1.0, 1.0, 0.0])))
    (3.0, 2.0)
    """

    columns: tuple[FloatArray, ...]  # what is summed, each of shape (n_words,)
    value: Callable[..., FloatArray]  # takes the sums, returns the metric; elementwise

    def __call__(self, counts: FloatArray) -> FloatArray:
        """Return the metric where each word counts so often; one value per row of ``counts``."""
        return self.value(*(counts @ column for column in self.columns))

    def spread(self) -> Spread | None:
        """Return how the metric depends on single words; None where it is not always finite.

        Nor is there one where squares, which an error is made of, leave the range of float64.
        """
        sums = [column.sum() for column in self.columns]
        with np.errstate(all="ignore"):
            value = float(self.value(*sums))
            pairs = list(zip(sums, self.columns, strict=True))
            without = self.value(*(total - column for total, column in pairs))
            changes = self.value(*(total + column for total, column in pairs)) - value
            n = len(without)
            deviations = without - without.mean()
            variance = float((n - 1) / n * np.square(deviations).sum())
            largest_square = np.square(np.append(changes, value)).max()
            if not math.isfinite(variance + largest_square):
                return None
        up, down = max(0.0, float(changes.max())), max(0.0, float(-changes.min()))
        return Spread(value, variance, up, down, n, _equal_parts(np.square(deviations)))


def _equal_parts(parts: FloatArray) -> float:
    """Return how many equal parts would vary as these do, which make up a sum.

    >>> float(_equal_parts(np.array([2.0, 2.0, 0.0, 0.0])))
    2.0
    """
    largest = float(parts.max(initial=0.0))
    if not largest:
        return 0.0
    relative = parts / largest
    return float(relative.sum() ** 2 / np.square(relative).sum())


class Spread(NamedTuple):
    """A metric, its variance by a jackknife, and what one more word may change."""

    value: float
    variance: float
    up: float  # by how much a second copy of a word raises the metric, at most
    down: float  # by how much it lowers the metric, at most
    n_words: int
    n_varying: float  # how many words make up the variance, if they counted alike

    @property
    def is_carried(self) -> bool:
        """Whether enough words make up the metric, a loss, and its variance."""
        is_exact = self.value <= MAX_ROUNDING or self.variance <= (MAX_ROUNDING * self.value) ** 2
        n_carriers = min(self.n_varying, 0.0 if is_exact else self.value**2 / self.variance)
        return n_carriers >= MIN_CARRIERS

    @property
    def mirrored(self) -> Spread:
        """The same of 1 less the metric."""
        return self._replace(value=1 - self.value, up=self.down, down=self.up)


class IntervalKind(Enum):
    """How the confidence interval of a metric is made.

    Its error is that of a jackknife over words, and its upper end that of a sample with some more
    words like the worst of these (`EXTRA_WORDS`).
    """

    LOSS = "loss"
    """A loss of any size, at least 0: with the quantiles of a gamma distribution (`loss_interval`).

    There is none where no word loses anything, or where few words make up the loss.
    """

    SHARE = "share"
    """A mean over prefixes between 0 and 1: the same for it, or for what it lacks to 1 if less."""

    SHARE_OF_WORDS = "share of words"
    """The exact interval of a share of words, by Clopper and Pearson; a bound where it is rare."""


def confidence_intervals(
    estimates: Mapping[str, Estimate], kinds: Mapping[str, IntervalKind], n_words: int
) -> dict[str, Interval]:
    """Return the interval of each metric that has one.

    Parameters
    ----------
    estimates
        By name, each metric as a function of sums over words.
    kinds
        By name, which kind of interval each metric has.
    n_words
        The number of evaluation words.
    """
    if n_words < MIN_WORDS:
        return {}
    intervals = {name: _interval(each, kinds[name]) for name, each in estimates.items()}
    return {name: ends for name, ends in intervals.items() if ends is not None}


def _interval(estimate: Estimate, kind: IntervalKind) -> Interval | None:
    spread = estimate.spread()
    if spread is None:
        return None
    if kind is IntervalKind.SHARE_OF_WORDS:
        return exact_share(round(spread.value * spread.n_words), spread.n_words)
    if kind is IntervalKind.SHARE and spread.value > 0.5:
        ends = loss_interval(1 - spread.value, spread.variance, spread.down)
        return (max(0.0, 1 - ends[1]), 1 - ends[0]) if spread.mirrored.is_carried else None
    return loss_interval(*spread[:3]) if spread.is_carried else None


def loss_interval(loss: float, variance: float, step: float) -> Interval:
    """Return the interval of a mean of losses, few of which may be large.

    The mean has nearly a gamma distribution. The upper end is that of a sample with more of the
    largest loss, ``step`` (Fay and Feuer 1997, for weighted sums of rare events; `EXTRA_WORDS`).

    >>> [round(end, 4) for end in loss_interval(0.1, 1e-4, 1 / 1000)]
    [0.0814, 0.1213]
    """
    low = _gamma_quantile(TAIL, loss, variance)
    more = EXTRA_WORDS * step
    high = _gamma_quantile(1 - TAIL, loss + more, variance + more * step)
    return min(low, loss), max(high, loss)


def _gamma_quantile(share: float, mean: float, variance: float) -> float:
    if variance <= 0 or mean <= 0:
        return mean
    shape = mean / variance * mean
    if shape > MAX_GAMMA_SHAPE:
        return mean + (1 if share > 0.5 else -1) * NORMAL_QUANTILE * math.sqrt(variance)
    from scipy.special import gammaincinv  # noqa: PLC0415 - loads slowly

    return float(mean * gammaincinv(shape, share) / shape)


def signed_interval(value: float, variance: float, up: float, down: float) -> Interval:
    """Return the interval of a mean of either sign; one more word moves it ``up`` or ``down``.

    >>> [round(end, 5) for end in signed_interval(0.0, 0.0, 1 / 1000, 1 / 1000)]
    [-0.00296, 0.00296]
    """
    return (
        value - down - NORMAL_QUANTILE * math.sqrt(variance + down**2),
        value + up + NORMAL_QUANTILE * math.sqrt(variance + up**2),
    )


def exact_share(n_hits: int, n_words: int) -> Interval:
    """Return the interval of a share of words by Clopper and Pearson (1934).

    What fewer than `FEW_HITS` words, and less than a tenth, show, or lack, has a bound to one side,
    which holds in 95 of 100 samples; to the other side the interval ends at 0 or 1. So in samples
    of a hundred words or more each share that three words or more are expected to show is held in
    92 to 98 of 100 samples, and rarer ones always.

    >>> [[round(end, 4) for end in exact_share(*each)] for each in ((0, 500), (30, 500), (9, 20))]
    [[0.0, 0.006], [0.0408, 0.0845], [0.2306, 0.6847]]
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - loads slowly

    low_tail = high_tail = TAIL
    if min(n_hits, n_words - n_hits) < min(FEW_HITS, n_words / 10):
        is_rare = 2 * n_hits <= n_words
        low_tail, high_tail = (0.0, 2 * TAIL) if is_rare else (2 * TAIL, 0.0)
    low, high = 0.0, 1.0
    if n_hits > 0 and low_tail:
        low = float(betaincinv(n_hits, n_words - n_hits + 1, low_tail))
    if n_hits < n_words and high_tail:
        high = float(betaincinv(n_hits + 1, n_words - n_hits, 1 - high_tail))
    return low, high


def why_no_interval(lost: float, n_words: int) -> str:
    """Return why the bits that an automaton loses on some words have no confidence interval.

    >>> why_no_interval(0.0, 2000)
    'No word loses anything: with 95 % confidence, fewer than 1 in 667 words do'
    """
    if lost <= MAX_ROUNDING:
        rare = f"1 in {seldom_seen(n_words):,} words"
        return f"No word loses anything: with 95 % confidence, fewer than {rare} do"
    return (
        f"No confidence interval of bits: fewer than {MIN_CARRIERS} words carry the loss or its "
        "error, or the automaton has negative weights; on other words it may be several times as "
        "large or small"
    )


def seldom_seen(n_words: int) -> int:
    """Return m: what one of m words shows, or fewer, may well be missing among the words.

    By the rule of three: with a probability of 5 % none of ``n_words`` shows what one in m does.

    >>> seldom_seen(2000)
    667
    """
    return max(1, math.ceil(n_words / 3))
