"""Next-symbol probabilities as rows of numbers: normalising them, comparing them, what they lack.

A row has one number per symbol, and the probability that the word ends last.
"""

from __future__ import annotations

import numpy as np

from seqray.util.arrays import FloatArray

MIN_LEAK = 1e-5
"""A box leaks where its next-symbol probabilities sum to less than 1 by more than this."""


def leak_of(probabilities: FloatArray) -> FloatArray:
    """Return the probability of symbols outside the alphabet: what a row lacks to sum to 1.

    ``probabilities`` have one row per state, the end last; a lack of up to `MIN_LEAK` is rounding.

    >>> leak_of(np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.1], [0.7, 0.6, -0.3]])).round(6)
    array([0. , 0.2, 0. ])
    """
    lack = 1 - probabilities.sum(axis=1)
    return np.where(lack > MIN_LEAK, lack, 0.0)


def with_elsewhere(probabilities: FloatArray) -> FloatArray:
    """Append what a row lacks to sum to 1 as one more outcome, see `leak_of`.

    >>> with_elsewhere(np.array([[0.4, 0.3, 0.1]])).round(6)
    array([[0.4, 0.3, 0.1, 0.2]])
    """
    return np.column_stack([probabilities, leak_of(probabilities)])


def normalised(rows: FloatArray) -> FloatArray:
    """Clip numbers below 0 and scale each row to sum to 1; a row without any becomes uniform.

    >>> normalised(np.array([[0.5, 0.75, -0.25], [0, 0, 0]])).round(3)
    array([[0.4  , 0.6  , 0.   ],
           [0.333, 0.333, 0.333]])
    """
    positive = np.maximum(rows, 0)
    total = positive.sum(axis=-1, keepdims=True)
    uniform = np.full(positive.shape, 1 / rows.shape[-1])
    return np.asarray(np.divide(positive, total, out=uniform, where=total > 0))


def as_probabilities(rows: FloatArray) -> FloatArray:
    """Read an automaton's predictions as probabilities: none below 0, no sum above 1.

    Rows keep what they leak, see `leak_of`. A row without any positive entry becomes uniform.

    >>> as_probabilities(np.array([[0.5, 0.75, -0.25], [0, 0, 0], [0.4, 0.2, -0.1]])).round(3)
    array([[0.4  , 0.6  , 0.   ],
           [0.333, 0.333, 0.333],
           [0.333, 0.167, 0.   ]])
    """
    leak = np.where((rows > 0).any(axis=1), leak_of(rows), 0.0)
    return np.asarray(normalised(rows) * np.maximum(1 - leak, 0)[:, None])


def total_variation(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the total variation distance of distributions, ½ Σ |p − q|, along the last axis.

    Both have the same shape, or shapes that broadcast.

    >>> total_variation(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0.25, 0.75]))
    array([0.25, 0.75])
    """
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)
