"""Numbers times powers of 2, so that products over long words stay within float64.

The columns are nodes of a quadrature rule, see `seqray.explain.shapley`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.util.arrays import FloatArray, IntArray

EXPONENT_OF_ZERO = -10_000
"""The exponent that stands for the number 0."""


class Scaled(NamedTuple):
    """Numbers ``values[..., m] * 2 ** exponents[..., m]``, one column per node."""

    values: FloatArray
    exponents: IntArray


def rescaled_nodes(values: FloatArray, exponents: IntArray) -> Scaled:
    """Bring arrays of shape ``(..., n_nodes, n_states)`` to a size near 1, node by node."""
    axes = tuple(axis for axis in range(values.ndim) if axis != values.ndim - 2)
    sizes = np.abs(values).max(axis=axes)
    shift = np.frexp(sizes)[1].astype(np.int64)
    shifted = np.ldexp(values, -shift[:, None])
    return Scaled(
        shifted,
        np.where(sizes > 0, np.maximum(exponents + shift, EXPONENT_OF_ZERO), EXPONENT_OF_ZERO),
    )


def add_vectors(one: Scaled, other: Scaled) -> Scaled:
    """Add vectors, node by node."""
    top = np.maximum(one.exponents, other.exponents)
    parts = (np.ldexp(x.values, (x.exponents - top)[:, None]) for x in (one, other))
    return rescaled_nodes(sum(parts), top)  # type: ignore[arg-type]


def add_numbers(one: Scaled, other: Scaled) -> Scaled:
    """Add numbers, node by node."""
    top = np.maximum(one.exponents, other.exponents)
    values = np.ldexp(one.values, one.exponents - top) + np.ldexp(
        other.values, other.exponents - top
    )
    return Scaled(values, top)


def dot(left: Scaled, right: Scaled) -> Scaled:
    """Return the products of row and column vectors, node by node."""
    products = np.einsum("mr,mr->m", left.values, right.values)
    return Scaled(products, left.exponents + right.exponents)


def at_all_nodes(vector: FloatArray, n_nodes: int, exponent: int = 0) -> Scaled:
    """Return the same vector at all nodes."""
    return rescaled_nodes(np.tile(vector, (n_nodes, 1)), np.full(n_nodes, exponent))


def stacked(parts: list[Scaled], n_nodes: int) -> Scaled:
    """Return what there is at all positions as arrays of shape ``(n, n_nodes)``."""
    values = np.array([part.values for part in parts]).reshape(-1, n_nodes)
    exponents = np.array([part.exponents for part in parts], np.int64).reshape(-1, n_nodes)
    return Scaled(values, exponents)


def shrunk(values: FloatArray) -> tuple[FloatArray, int]:
    """Bring an array to a size not far from 1; also return the exponent that was taken out."""
    shift = int(np.frexp(np.abs(values).max())[1])
    return (values, 0) if abs(shift) < 64 else (np.ldexp(values, -shift), shift)


def power(bases: FloatArray, exponent: int) -> Scaled:
    """Return a power of numbers from 0 to 1."""
    if not exponent:
        return Scaled(np.ones(len(bases)), np.zeros(len(bases), np.int64))
    logarithms = exponent * np.log2(np.where(bases > 0, bases, 1.0))
    whole = np.floor(logarithms)
    return Scaled(np.where(bases > 0, np.exp2(logarithms - whole), 0.0), whole.astype(np.int64))


def times_row(factors: Scaled, row: int, other: Scaled) -> Scaled:
    """Multiply by a row of factors, node by node."""
    factor = factors.values[row].reshape((-1,) + (1,) * (other.values.ndim - 1))
    return Scaled(other.values * factor, other.exponents + factors.exponents[row])
