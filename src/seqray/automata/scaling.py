"""Scales of states: weights stay within the range of float64, however long the word.

A state is a vector with a scale of its own, a logarithm. That is enough unless its coordinates
drift to very different sizes. After aⁿ, a mixture of two models may hold one of them at 10⁻⁵⁰⁰ of
the other, and after bⁿ it is back. A vector with one common scale has lost it by then;
`precise_log_weight` gives every coordinate an exponent of its own. It is slow, and needed for very
few words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from seqray.util.arrays import BoolArray, FloatArray, IntArray

_ZERO_EXPONENT = -(2**40)  # of a coordinate that is 0


def scaled(weights: FloatArray, log_scale: FloatArray) -> FloatArray:
    """Multiply by exp(log_scale), in place; in logarithms, for the scale alone may overflow."""
    far = np.flatnonzero(log_scale)
    if len(far):
        with np.errstate(divide="ignore", over="ignore"):
            sizes = np.exp(np.log(np.abs(weights[far])) + log_scale[far])
        weights[far] = np.sign(weights[far]) * sizes
    return weights


def rescale(vectors: FloatArray, log_scale: FloatArray) -> BoolArray:
    """Bring vectors that left the safe range back into it, in place; return which are too wide.

    Coordinates of those may be lost, now or before the next look at them.
    """
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if squares.max(initial=1) < 1e100 and squares.min(initial=1) > 1e-100:
        return _too_wide(vectors)
    far = np.flatnonzero((squares > 1e100) | (squares < 1e-100))
    sizes = np.abs(vectors[far]).max(axis=1)
    far, sizes = far[sizes > 0], sizes[sizes > 0]
    wide = np.zeros(len(vectors), bool)
    wide[far] = _too_wide(vectors[far])  # before the smallest coordinates become 0
    vectors[far] /= sizes[:, None]
    log_scale[far] += np.log(sizes)
    return wide | _too_wide(vectors)


def _too_wide(vectors: FloatArray) -> BoolArray:
    """Whether the coordinates of each vector differ in size so much that some may be lost."""
    sizes = np.abs(vectors)
    if sizes.min(initial=np.inf) > 1e-50 and sizes.max(initial=0) < 1e50:
        return np.zeros(len(vectors), bool)
    largest = sizes.max(axis=1, initial=0)
    sizes[sizes == 0] = np.inf
    return np.asarray(sizes.min(axis=1) < 1e-100 * largest)


class Scales(NamedTuple):
    """The scales of vectors, as logarithms, and which vectors are, or were, too wide."""

    log_scale: FloatArray
    wide: BoolArray

    @classmethod
    def none(cls, n_vectors: int) -> Scales:
        """Return those of vectors that have none, and are not too wide."""
        return cls(np.zeros(n_vectors), np.zeros(n_vectors, bool))

    def put(self, rows: IntArray | slice, scales: Scales) -> None:
        """Set those of some vectors."""
        self.log_scale[rows], self.wide[rows] = scales

    def take(self, rows: IntArray | slice) -> Scales:
        """Return those of some vectors."""
        return Scales(self.log_scale[rows], self.wide[rows])


def scales_of(vectors: FloatArray, before: Scales | None = None) -> Scales | None:
    """Bring vectors into the safe range, in place, and return their scales.

    None says that no vector has a scale or is too wide, which is nearly always so.
    """
    log_scale = np.zeros(len(vectors)) if before is None else before.log_scale
    wide = rescale(vectors, log_scale)
    if before is not None:
        wide |= before.wide
    return Scales(log_scale, wide) if log_scale.any() or wide.any() else None


def precise_log_weight(
    initial: FloatArray, matrices: Iterable[FloatArray], final: FloatArray
) -> tuple[float, float]:
    """Return the sign and the natural logarithm of the weight of one word, given its matrices.

    >>> halves = np.array([0.5, 0.5])
    >>> models = np.array([np.diag([0.9, 0.1]), np.diag([0.1, 0.9])])
    >>> sign, log = precise_log_weight(halves, np.repeat(models, 5000, axis=0), np.ones(2))
    >>> sign, round(float(log / (5000 * np.log(0.9 * 0.1))), 12)
    (1.0, 1.0)
    """
    mantissas, exponents = _normal(initial, np.zeros(len(initial), np.int64))
    for matrix in matrices:
        mantissas, exponents = _multiply(mantissas, exponents, matrix)
    mantissas, exponents = _multiply(mantissas, exponents, final[:, None])
    mantissa, exponent = float(mantissas[0]), int(exponents[0])
    if mantissa == 0:
        return 0.0, -np.inf
    return float(np.sign(mantissa)), float(np.log(abs(mantissa)) + exponent * np.log(2))


def _multiply(
    mantissas: FloatArray, exponents: IntArray, matrix: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return a row vector times a matrix, an exponent for every coordinate."""
    terms, shifts = _normal(mantissas[:, None] * matrix, exponents[:, None])
    largest = shifts.max(axis=0)
    return _normal(np.ldexp(terms, np.maximum(shifts - largest, -1100)).sum(axis=0), largest)


def _normal(values: FloatArray, exponents: IntArray) -> tuple[FloatArray, IntArray]:
    """Split values into mantissas in [0.5, 1) and exponents."""
    mantissas, more = np.frexp(values)
    return mantissas, np.where(mantissas == 0, _ZERO_EXPONENT, exponents + more)
