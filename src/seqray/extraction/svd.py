"""The truncated singular value decomposition that both methods use."""

from __future__ import annotations

import numpy as np

from seqray.util.arrays import FloatArray
from seqray.util.random import Seed, random_generator

MAX_EXACT_SIZE = 2000
"""A matrix with more rows and more columns than this is factored by random projection."""

MAX_ITERATIONS = 50
"""Steps of subspace iteration, at most."""


def truncated_svd(
    matrix: FloatArray, rank: int, *, seed: Seed
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the leading singular vectors and values ``(left, values, right)`` of a matrix.

    At most ``rank`` of them, and none that is lost in rounding, but at least one.

    Parameters
    ----------
    matrix
        Shape ``(m, n)``.
    rank
        How many at most.
    seed
        For the random projection, used above `MAX_EXACT_SIZE` rows and columns.

    Returns
    -------
    left, values, right
        Shapes ``(m, r)``, ``(r,)`` and ``(r, n)``.
    """
    rng = random_generator(seed)
    if min(matrix.shape) > MAX_EXACT_SIZE and 4 * rank < min(matrix.shape):
        left, values, right = _projected_svd(matrix, rank, rng)
    else:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    floor = max(matrix.shape) * np.finfo(float).eps * values[0]
    n = min(rank, int((values > floor).sum()))
    n = max(1, n)
    return left[:, :n], values[:n], right[:n]


def _projected_svd(
    matrix: FloatArray, rank: int, rng: np.random.Generator, *, tolerance: float = 1e-9
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Subspace iteration from a random start, orthogonal again after every product.

    Without that the small singular values drown in rounding. It ends when no wanted value moves
    any more.
    """
    space, _ = np.linalg.qr(matrix @ rng.standard_normal((matrix.shape[1], rank + 20)))
    values = np.zeros(rank)
    for _ in range(MAX_ITERATIONS):
        other, _ = np.linalg.qr(matrix.T @ space)
        space, triangle = np.linalg.qr(matrix @ other)
        before, values = values, np.linalg.svd(triangle, compute_uv=False)[:rank]
        if (np.abs(values - before) <= tolerance * values + 1e-15 * values[0]).all():
            break
    left, values, right = np.linalg.svd(space.T @ matrix, full_matrices=False)
    return space @ left, values, right
