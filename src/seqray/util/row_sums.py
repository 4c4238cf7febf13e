"""Sums of the rows of an array by key: a product with a sparse matrix of 0 and 1.

`numpy.add.reduceat` needs sorted rows, and takes five to ten times as long along the first axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqray.util.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array

MIN_ROWS_AT_ONCE = 2**16
"""How many rows are summed at a time in float64, at least, so that no large array is copied."""


def summing_matrix(
    keys: IntArray, n_keys: int, *, counted: BoolArray | None = None, dtype: type = np.float32
) -> csc_array:
    """Return the matrix that sums rows by key, shape ``(n_keys, n_rows)``.

    Row ``i`` of what it is multiplied with has the key ``keys[i]``. It does not count where
    ``counted`` is False.

    >>> summing_matrix(np.array([1, 0, 1]), 2) @ np.array([[1.0], [10.0], [100.0]])
    array([[ 10.],
           [101.]])
    """
    from scipy.sparse import csc_array  # noqa: PLC0415 - loads slowly

    ends = np.arange(len(keys) + 1)
    if counted is not None:
        ends, keys = np.append(0, np.cumsum(counted)), keys[counted]
    return csc_array((np.ones(len(keys), dtype), keys, ends), shape=(n_keys, len(ends) - 1))


def sums_by_key(rows: FloatArray, keys: IntArray, n_keys: int, weights: FloatArray) -> FloatArray:
    """Return the weighted sums of rows by key in float64, shape ``(n_keys, n_columns)``.

    >>> sums_by_key(np.ones((3, 1)), np.array([1, 0, 1]), 2, np.array([0.5, 1, 2]))
    array([[1. ],
           [2.5]])
    """
    sums = np.zeros((n_keys, rows.shape[1]))
    n_at_once = max(MIN_ROWS_AT_ONCE, n_keys)
    for begin in range(0, len(rows), n_at_once):
        here = slice(begin, begin + n_at_once)
        weighted = rows[here] * weights[here, None].astype(np.float64)
        sums += summing_matrix(keys[here], n_keys, dtype=np.float64) @ weighted
    return sums
