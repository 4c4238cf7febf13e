"""The noise of a box, measured by two answers to each of some words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.util.arrays import FloatArray

ROUNDING_SHARE = 1e-5
"""Differences up to this share of an answer are no noise: a word's batch alters that much."""

MAX_RELATIVE_NOISE = 0.5
"""Above this share of an answer, noise no longer grows with it: the answer is mostly noise."""


@dataclass(frozen=True)
class Noise:
    """How much the answers of a box differ from one time to the next.

    Parameters
    ----------
    level
        The standard deviation of an answer.
    relative
        Whether that is a share of the answer, or the same for all answers.
    """

    level: float
    relative: bool

    def __str__(self) -> str:
        return f"{self.level:.2g}{' of the answer' if self.relative else ''}"

    def of(self, answers: FloatArray) -> FloatArray:
        """Return the standard deviation of each answer."""
        return self.level * (np.abs(answers) if self.relative else np.ones_like(answers))


NO_NOISE = Noise(0.0, relative=False)
"""The noise of a box that always answers the same."""


def measure_noise(first: FloatArray, second: FloatArray, *, repeat: int = 1) -> Noise:
    """Measure noise from two answers to each of some words.

    The first may be the mean of several. Whichever explains the differences better is taken: noise
    that grows with the answer, or noise that does not.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = 10.0 ** np.arange(-50, 50)
    >>> noisy = [values * (1 + 0.1 * rng.normal(size=100)) for _ in range(2)]
    >>> noise = measure_noise(*noisy)
    >>> noise.relative, round(noise.level, 2)
    (True, 0.1)
    """
    scale = max(float(np.abs(first).max()), float(np.abs(second).max()), np.finfo(float).tiny)
    first, second = first / scale, second / scale  # squares must not underflow
    difference = first - second
    least = 1e-6 if (first < 0).any() else 0.0  # answers of both signs come close to 0
    sizes = np.maximum(np.maximum(np.abs(first), np.abs(second)) * ROUNDING_SHARE, least)
    if (np.abs(difference) <= sizes).all():
        return NO_NOISE
    noise = _likelier(first, second, difference, 1 + 1 / repeat)
    return noise if noise.relative else Noise(noise.level * scale, relative=False)


def _likelier(first: FloatArray, second: FloatArray, difference: FloatArray, share: float) -> Noise:
    """Return the likelier noise; a difference has ``share`` times the variance of an answer."""
    same = Noise(float(np.sqrt(np.mean(difference**2) / share)), relative=False)
    size = (np.abs(first) + np.abs(second)) / 2
    if not size.all():
        return same
    growing = Noise(float(np.sqrt(np.mean((difference / size) ** 2) / share)), relative=True)
    if growing.level > MAX_RELATIVE_NOISE:
        return same
    # Both explain the sum of squares equally; the likelier one expects smaller deviations.
    return min(same, growing, key=lambda noise: float(np.log(noise.of(size)).sum()))
