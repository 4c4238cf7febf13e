"""The truncated singular value decomposition that both methods use, of matrices of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from seqray.util.arrays import FloatArray
from seqray.util.random import Seed, random_generator

MAX_EXACT_SIZE = 2000
"""A matrix with more rows and more columns than this is factored by random projection."""

MAX_ITERATIONS = 50
"""Steps of subspace iteration, at most."""

N_EXTRA_DIRECTIONS = 20
"""The random projection has this many directions more than singular values are wanted."""


@dataclass(frozen=True, eq=False)
class ChunkedMatrix:
    """A matrix that is read a few rows at a time, from the first to the last, and again.

    Parameters
    ----------
    shape
        The number of rows, and of columns.
    chunks
        Returns an iterator over slices of rows, with their values.

    Examples
    --------
    >>> matrix = ChunkedMatrix.of(np.eye(2))
    >>> matrix.times(np.ones((2, 1))).tolist(), matrix.transposed_times(np.eye(2)).tolist()
    ([[1.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]])
    """

    shape: tuple[int, int]
    chunks: Callable[[], Iterator[tuple[slice, FloatArray]]]

    @classmethod
    def of(cls, matrix: FloatArray) -> ChunkedMatrix:
        """Return a matrix in memory as one chunk."""
        n_rows, n_columns = matrix.shape
        return cls((n_rows, n_columns), lambda: iter([(slice(0, n_rows), matrix)]))

    def times(self, right: FloatArray) -> FloatArray:
        """Return the product with a matrix that has a row for each column."""
        product = np.empty((self.shape[0], right.shape[1]))
        for rows, part in self.chunks():
            np.matmul(part, right, out=product[rows])
        return product

    def transposed_times(self, right: FloatArray) -> FloatArray:
        """Return the product of the transposed matrix with one that has as many rows."""
        product = np.zeros((self.shape[1], right.shape[1]))
        for rows, part in self.chunks():
            product += part.T @ right[rows]
        return product

    def left_times(self, left: FloatArray) -> FloatArray:
        """Return the product of the transpose of a matrix that has as many rows with this one."""
        product = np.zeros((left.shape[1], self.shape[1]))
        for rows, part in self.chunks():
            product += left[rows].T @ part
        return product


def truncated_svd(
    matrix: FloatArray | ChunkedMatrix, rank: int, *, seed: Seed, tolerance: float = 1e-9
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the leading singular vectors and values ``(left, values, right)`` of a matrix.

    At most ``rank`` of them, and none that is lost in rounding, but at least one.

    Parameters
    ----------
    matrix
        Shape ``(m, n)``. One that is read in chunks is read twice per step of subspace iteration;
        ``m + n`` rows of ``rank + 20`` numbers fit into memory a few times.
    rank
        How many at most.
    seed
        For the random projection, used above `MAX_EXACT_SIZE` rows and columns.
    tolerance
        Subspace iteration ends when no value changes by more, relative to itself.

    Returns
    -------
    left, values, right
        Shapes ``(m, r)``, ``(r,)`` and ``(r, n)``.
    """
    rng = random_generator(seed)
    if isinstance(matrix, ChunkedMatrix):
        left, values, right = _projected_svd(matrix, rank, rng, tolerance)
    elif min(matrix.shape) > MAX_EXACT_SIZE and 4 * rank < min(matrix.shape):
        left, values, right = _projected_svd(ChunkedMatrix.of(matrix), rank, rng, tolerance)
    else:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    floor = max(matrix.shape) * np.finfo(float).eps * values[0]
    n = min(rank, int((values > floor).sum()))
    n = max(1, n)
    return left[:, :n], values[:n], right[:n]


def _projected_svd(
    matrix: ChunkedMatrix, rank: int, rng: np.random.Generator, tolerance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Subspace iteration from a random start, orthogonal again after every product.

    Without that the small singular values drown in rounding. It ends when no wanted value moves
    any more. With as many directions as the matrix has rows or columns, the first step is exact.
    """
    n_directions = min(rank + N_EXTRA_DIRECTIONS, *matrix.shape)
    space, _ = np.linalg.qr(matrix.times(rng.standard_normal((matrix.shape[1], n_directions))))
    values = np.zeros(min(rank, n_directions))
    for _ in range(MAX_ITERATIONS):
        if n_directions == min(matrix.shape):
            break
        other, _ = np.linalg.qr(matrix.transposed_times(space))
        space, triangle = np.linalg.qr(matrix.times(other))
        before, values = values, np.linalg.svd(triangle, compute_uv=False)[:rank]
        if (np.abs(values - before) <= tolerance * values + 1e-15 * values[0]).all():
            break
    left, values, right = np.linalg.svd(matrix.left_times(space), full_matrices=False)
    return space @ left, values, right
