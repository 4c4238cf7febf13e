"""Metrics of the weights of words: pure functions on arrays of shape ``(n_words,)``.

Logarithms have base 2, as in PAutomaC's perplexity: divergences are in bits, and
``kl = log₂(perplexity / perplexity of the reference itself)``.
"""

from __future__ import annotations

import numpy as np

from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

SMALLEST_WEIGHT = 1e-30
"""What a weight that is not positive counts as, where a logarithm is taken (paper, section 5.3)."""

MAX_LOG_ERROR_BITS = 3.0
"""Largest error of one logarithm, in bits; a weight that is not positive counts as this."""


MAX_ROUNDING = 1e-12
"""A loss that is not larger than this is 0, but for rounding.

A loss in bits is the difference of two sums of some bits. In float64 sums of a million terms have
errors of this size.
"""


def without_rounding(loss: float) -> float:
    """Return a loss, and 0 for what rounding alone may have made of 0.

    >>> without_rounding(2.7e-15), without_rounding(-1e-16), without_rounding(1e-9)
    (0.0, 0.0, 1e-09)
    """
    return 0.0 if loss <= MAX_ROUNDING else loss


def log_distribution(weights: FloatArray) -> FloatArray:
    """Return log₂ of weights as a distribution over their words, none below `SMALLEST_WEIGHT`.

    Always finite, however small or huge the weights.

    >>> np.exp2(log_distribution(np.array([1.0, 3.0, -1.0]))).round(6)
    array([0.25, 0.75, 0.  ])
    """
    raised = np.where(weights > 0, weights, SMALLEST_WEIGHT)
    largest = raised.max()
    total = np.log2(largest) + np.log2((raised / largest).sum())
    return np.asarray(np.log2(raised) - total)


def perplexity(reference: FloatArray, weights: FloatArray) -> float:
    """Return 2^(−Σ p(w) log₂ q(w)), both sides normalised over the words.

    >>> half = np.array([0.5, 0.5])
    >>> perplexity(half, half), perplexity(half, np.array([0.25, 0.25]))
    (2.0, 2.0)
    """
    check_shapes(reference, weights)
    bits = -(np.exp2(log_distribution(reference)) @ log_distribution(weights))
    return float(2.0**bits) if bits < 1024 else np.inf


def kl_divergence(reference: FloatArray, weights: FloatArray) -> float:
    """Return Σ p(w) log₂(p(w) / q(w)) in bits, both sides normalised over the words.

    >>> round(kl_divergence(np.array([1.0, 0.0]), np.array([1.0, 3.0])), 9)
    2.0
    """
    check_shapes(reference, weights)
    p, q = log_distribution(reference), log_distribution(weights)
    return without_rounding(float(np.exp2(p) @ (p - q)))


def zeros(weights: FloatArray) -> float:
    """Return the share of words whose weight is not positive.

    >>> zeros(np.array([0.5, 0.0, -0.1, 0.2]))
    0.5
    """
    return float(np.mean(~(weights > 0)))


def relative_error(reference: FloatArray, weights: FloatArray) -> float:
    """Return ‖f − g‖ / ‖f‖ over the words; where f is 0 everywhere, 0 or infinite.

    >>> relative_error(np.array([3.0, 4.0]), np.array([3.0, 3.0]))
    0.2
    """
    check_shapes(reference, weights)
    largest = max(np.abs(reference).max(), np.abs(weights).max()) or 1.0
    error = _norm(reference / largest - weights / largest)  # no difference overflows
    size = _norm(reference)
    if size == 0:
        return 0.0 if error == 0 else np.inf
    with np.errstate(over="ignore"):
        return float(np.minimum(np.finfo(float).max, error * np.divide(largest, size)))


def log_error(reference: FloatArray, weights: FloatArray) -> float:
    """Return the mean of |log₂ f(w) − log₂ g(w)|, at most 3 bits per word, where f is positive.

    It counts rare words as much as frequent ones; ``nan`` where f is positive nowhere.

    >>> log_error(np.array([0.5, 0.25, 0.0]), np.array([0.25, -0.1, 0.3]))
    2.0
    """
    check_shapes(reference, weights)
    positive = reference > 0
    if not positive.any():
        return float("nan")
    f, g = reference[positive], weights[positive]
    bits = np.abs(np.log2(np.where(g > 0, g, 1.0)) - np.log2(f))
    errors = np.where(g > 0, np.minimum(MAX_LOG_ERROR_BITS, bits), MAX_LOG_ERROR_BITS)
    return without_rounding(float(errors.mean()))


def weight_agreement(
    reference: FloatArray, weights: FloatArray, negligible: FloatArray | None = None
) -> float:
    """Return the geometric mean over all words of how well both weights agree, ⅛ … 1.

    A word's agreement is 1 − |f − g| / max(|f|, |g|, s), and ⅛ at least. Where both weights are
    positive and above s, it is the smaller one divided by the larger one, so that rare words count
    as much as frequent ones. Where the box gives 0, it is 1 − |g| / s.

    Parameters
    ----------
    reference, weights
        f and g of the words.
    negligible
        s of the words, such as `sizes_by_length`; by default 0.

    Examples
    --------
    >>> weight_agreement(np.array([0.5, 0.2]), np.array([0.25, 0.1])).__round__(12)
    0.5
    >>> weight_agreement(np.array([1.0, 0.0]), np.ones(2), np.ones(2)).__round__(6)
    0.353553
    """
    check_shapes(reference, weights)
    floor = np.zeros(len(reference)) if negligible is None else negligible
    largest = np.maximum(np.maximum(np.abs(reference), np.abs(weights)), floor)
    largest[largest == 0] = 1.0
    difference = np.abs(reference / largest - weights / largest)
    agreement = np.maximum(0.5**MAX_LOG_ERROR_BITS, 1 - difference)
    return float(np.exp2(np.log2(agreement).mean()))


def sizes_by_length(
    weights: FloatArray, lengths: IntArray, at: IntArray, share: float = 0.01
) -> FloatArray:
    """Return a size of weights for each of the lengths ``at``: a quantile of |f|.

    Of the given words that have this length and do not weigh 0, a share is lighter. Between
    lengths that have such words it is interpolated, beyond them it is that of the nearest one;
    where all words weigh 0, it is 0.

    >>> weights = np.array([0.0, -3.0, 4.0, 1.0])
    >>> sizes_by_length(weights, np.array([1, 1, 1, 3]), np.array([0, 1, 3, 9]))
    array([3., 3., 1., 1.])
    """
    check_shapes(weights, lengths)
    sizes = np.abs(weights)
    known = np.unique(lengths[sizes > 0])
    if not len(known):
        return np.zeros(len(at))
    logs = [
        np.quantile(np.log2(sizes[(lengths == n) & (sizes > 0)]), share, method="lower")
        for n in known
    ]
    return np.asarray(np.exp2(np.interp(at, known, logs)))


def max_error(reference: FloatArray, weights: FloatArray) -> float:
    """Return the largest |f(w) − g(w)|.

    >>> max_error(np.array([3.0, 4.0]), np.array([3.0, 3.5]))
    0.5
    """
    check_shapes(reference, weights)
    with np.errstate(over="ignore"):
        return float(np.minimum(np.finfo(float).max, np.abs(reference - weights).max()))


def correlation(reference: FloatArray, weights: FloatArray) -> float:
    """Return Pearson's correlation over the words; ``nan`` where a side is constant.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([-1.0, -2.0, -3.0])), 12)
    -1.0
    """
    check_shapes(reference, weights)
    if any(each.min() == each.max() for each in (reference, weights)):
        return float("nan")
    f, g = reference / np.abs(reference).max(), weights / np.abs(weights).max()
    f, g = f - f.mean(), g - g.mean()
    return float(f @ g / (_norm(f) * _norm(g)))


PRACTICALLY_ZERO = 1e-9
"""Weights up to this share of the box's largest count as 0 where signs are compared."""


def sign_agreement(reference: FloatArray, weights: FloatArray) -> float:
    """Return the share of words where both weights are positive or both negative.

    Words that both give practically 0 do not count (`PRACTICALLY_ZERO`); 1 where no others are.

    >>> sign_agreement(np.array([1.0, -1.0, 0.0]), np.array([0.5, 1.0, 0.0]))
    0.5
    """
    check_shapes(reference, weights)
    largest = np.abs(reference).max()
    counts = np.maximum(np.abs(reference), np.abs(weights)) > PRACTICALLY_ZERO * largest
    is_same = np.sign(reference) == np.sign(weights)
    return float(is_same[counts].mean()) if counts.any() else 1.0


def _norm(values: FloatArray) -> float:
    """Return ‖values‖ without overflow."""
    size = np.abs(values).max()
    return float(size * np.sqrt(np.square(values / size).sum())) if size else 0.0


def check_shapes(first: FloatArray | IntArray, second: FloatArray | IntArray) -> None:
    """Refuse two arrays of different shapes, and empty ones."""
    if first.shape != second.shape or not first.size:
        raise ArgumentError(
            f"expected two arrays of one shape and not empty, got {first.shape} and {second.shape}"
        )
