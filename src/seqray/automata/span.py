"""Pivoted orthogonalisation: which rows span a space, and orthonormal bases that grow.

Rows are taken greedily, the one furthest from the span of those before first. `pivoted_rows` does
so for rows that are all known. Where each row that is taken leads to new ones, as with the states
that words reach, the caller chooses the next row, and `extended` and `perpendicular` do the rest.
"""

from __future__ import annotations

import numpy as np

from seqray.util.arrays import FloatArray, IntArray


def perpendicular(rows: FloatArray, basis: FloatArray) -> FloatArray:
    """Subtract from rows what lies in the span of an orthonormal basis, given as rows.

    It is subtracted twice: that is enough for rounding not to matter (Kahan).

    >>> perpendicular(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))
    array([[0., 4.]])
    """
    rows = rows - (rows @ basis.T) @ basis
    return rows - (rows @ basis.T) @ basis


def extended(basis: FloatArray, row: FloatArray) -> FloatArray:
    """Append the direction in which a row leaves the span of an orthonormal basis.

    The row must not lie in that span.

    >>> extended(np.array([[1.0, 0.0]]), np.array([3.0, 4.0]))
    array([[1., 0.],
           [0., 1.]])
    """
    direction = perpendicular(row[None, :], basis)
    return np.concatenate([basis, direction / np.linalg.norm(direction)])


def pivoted_rows(rows: FloatArray) -> tuple[IntArray, FloatArray]:
    """Order rows so that each is the one furthest from the span of those before it.

    Returns
    -------
    order, distances
        The numbers of the first ``min(n_rows, n_columns)`` rows, and the distance of each from the
        span of those before it. Distances never grow.

    Examples
    --------
    >>> order, distances = pivoted_rows(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.5]]))
    >>> order, distances.round(9)
    (array([1, 2]), array([2. , 0.5]))
    """
    from scipy.linalg import qr  # noqa: PLC0415 - loads slowly

    triangle, order = qr(rows.T, mode="r", pivoting=True)
    distances = np.abs(np.diag(triangle))
    return order[: len(distances)].astype(np.int64), distances
