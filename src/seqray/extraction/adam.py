"""Adam: gradient steps scaled by how large gradients have been."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqray.util.arrays import FloatArray

MAX_NUMBERS_AT_ONCE = 2**15
"""So many parameters are moved at once: they stay in the processor's cache."""

SQUARE_DECAY = 0.99
"""How much of the mean of squared gradients a step keeps."""

WARM_UP_STEPS = 20
"""The learning rate rises over so many steps."""


class Adam:
    """Adam with a short warm-up and a learning rate that falls to 0 along a cosine.

    Parameters
    ----------
    n_steps
        How many steps there will be.
    learning_rate
        The largest learning rate.

    Examples
    --------
    >>> numbers = np.array([1.0])
    >>> adam = Adam(200, 0.1)
    >>> for _ in range(200):
    ...     adam.step([numbers], [2 * numbers])  # the gradient of a square
    >>> bool(abs(numbers[0]) < 0.001)
    True
    """

    def __init__(self, n_steps: int, learning_rate: float) -> None:
        self.n_steps, self.n_done, self.learning_rate = n_steps, 0, learning_rate
        self._means: list[FloatArray] = []
        self._squares: list[FloatArray] = []

    def step(self, parameters: Sequence[FloatArray], gradients: Sequence[FloatArray]) -> None:
        """Move parameters, in place, against their gradients."""
        if not self.n_done:
            self._means = [np.zeros_like(each) for each in gradients]
            self._squares = [np.zeros_like(each) for each in gradients]
        self.n_done += 1
        warm, done = min(1, self.n_done / WARM_UP_STEPS), self.n_done / self.n_steps
        rate = self.learning_rate * warm * (1 + np.cos(np.pi * done)) / 2
        first, second = 1 - 0.9**self.n_done, 1 - SQUARE_DECAY**self.n_done
        scales = np.float32(rate / first), np.float32(second)
        for each in zip(parameters, gradients, self._means, self._squares, strict=True):
            flat = [numbers.reshape(-1) for numbers in each]
            for begin in range(0, flat[0].size, MAX_NUMBERS_AT_ONCE):
                _move(scales, *(numbers[begin : begin + MAX_NUMBERS_AT_ONCE] for numbers in flat))


def _move(
    scales: tuple[np.float32, np.float32],
    parameters: FloatArray,
    gradients: FloatArray,
    means: FloatArray,
    squares: FloatArray,
) -> None:
    """Move some parameters, and the means of their gradients and of their squares, in place."""
    change = gradients - means
    change *= 0.1
    means += change
    np.multiply(gradients, gradients, out=change)
    change -= squares
    change *= 1 - SQUARE_DECAY
    squares += change
    np.divide(squares, scales[1], out=change)
    np.sqrt(change, out=change)
    change += 1e-8
    np.divide(means, change, out=change)
    change *= scales[0]
    parameters -= change
