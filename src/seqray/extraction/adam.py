"""Adam: gradient steps scaled by how large gradients have been."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from seqray.util.arrays import FloatArray

MAX_NUMBERS_AT_ONCE = 2**17
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
        for number, here in self.pieces(parameters):
            self.move(number, here, parameters[number][here], gradients[number][here])

    def pieces(self, parameters: Sequence[FloatArray]) -> Iterator[tuple[int, slice]]:
        """Begin a step; yield the number of an array, and which of its rows to `move` next.

        A piece stays in the processor's cache: what else is to be done with these rows is done
        fastest now.
        """
        if not self.n_done:
            self._means = [np.zeros_like(each) for each in parameters]
            self._squares = [np.zeros_like(each) for each in parameters]
        self.n_done += 1
        for number, each in enumerate(parameters):
            n_rows = max(1, MAX_NUMBERS_AT_ONCE * len(each) // max(1, each.size))
            for begin in range(0, len(each), n_rows):
                yield number, slice(begin, min(begin + n_rows, len(each)))

    def move(self, number: int, here: slice, parameters: FloatArray, gradients: FloatArray) -> None:
        """Move some rows of an array, in place, against their gradients."""
        warm, done = min(1, self.n_done / WARM_UP_STEPS), self.n_done / self.n_steps
        rate = self.learning_rate * warm * (1 + np.cos(np.pi * done)) / 2
        first, second = 1 - 0.9**self.n_done, 1 - SQUARE_DECAY**self.n_done
        scales = np.float32(rate / first), np.float32(second)
        _move(scales, parameters, gradients, self._means[number][here], self._squares[number][here])


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
