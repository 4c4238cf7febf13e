"""Products of many vectors with many small matrices, which are stacked."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from seqray.automata.tree import sort_codes
from seqray.util.arrays import FloatArray, IntArray

GATHERED_NUMBERS = 2**17
"""How many numbers of stacked matrices, 1 MiB, are copied at a time, so that they stay in the
cache."""

BLOCK_SIZES = np.array([1, 4, 8, 16])
"""How many vectors one call may multiply by a matrix: a few more cost less than another call."""

_SIZE_OF_RUN = np.searchsorted(BLOCK_SIZES, np.arange(BLOCK_SIZES[-1] + 1))  # the last for more

Chosen: TypeAlias = IntArray | slice
"""Which rows of an array; those of a slice are not copied."""


class MatrixProducts(NamedTuple):
    """Products of vectors and matrices: product ``i`` is row ``i`` of ``vectors[rows]``.

    Row ``r`` of ``vectors`` is the product of the vector ``origins[r]``; some rows may be no
    product.
    """

    vectors: FloatArray
    origins: Chosen
    rows: Chosen


def chosen_rows(array: FloatArray, chosen: Chosen) -> FloatArray:
    """Return the chosen rows of an array."""
    return array[chosen] if isinstance(chosen, slice) else array.take(chosen, axis=0)


def chosen_of(rows: Chosen, chosen: Chosen) -> Chosen:
    """Return which rows of an array are chosen among some of them; a slice is the first ones.

    >>> chosen_of(slice(3), np.array([1, 2])), chosen_of(np.array([5, 7, 9]), slice(2))
    (array([1, 2]), array([5, 7]))
    """
    return chosen if isinstance(rows, slice) else rows[chosen]


def stacked_products(
    vectors: FloatArray, origins: Chosen, stacked: FloatArray, numbers: IntArray
) -> MatrixProducts:
    """Return the products of chosen vectors, with the matrix of a number each.

    Each matrix is one row of ``stacked``. Vectors with the same matrix are a run, which is filled
    up to blocks of one size. The smallest blocks come first.

    >>> stacked = np.array([[1.0, 0, 0, 1], [0, 1, 1, 0]])  # the identity, and what swaps
    >>> products = stacked_products(np.eye(2), np.array([1, 0]), stacked, np.array([0, 1]))
    >>> chosen_rows(products.vectors, products.rows)
    array([[0., 1.],
           [0., 1.]])
    """
    if len(numbers) < len(stacked):  # most runs are short
        products = block_products(chosen_rows(vectors, origins), stacked, numbers)
        return MatrixProducts(products, origins, slice(len(numbers)))
    counts = np.bincount(numbers, minlength=len(stacked))
    sizes = _SIZE_OF_RUN.take(counts, mode="clip")
    n_blocks = -(-counts // BLOCK_SIZES.take(sizes))
    n_rows = n_blocks * BLOCK_SIZES.take(sizes)
    by_size = sort_codes(sizes)
    first_rows = np.empty_like(n_rows)
    first_rows[by_size] = n_rows.take(by_size).cumsum() - n_rows.take(by_size)
    order = sort_codes(numbers)
    rows = np.empty_like(order)
    shifts = first_rows - counts.cumsum() + counts
    rows[order] = shifts.take(numbers.take(order)) + np.arange(len(order))
    laid = np.zeros(int(n_rows.sum()), np.int64)
    laid[rows] = np.arange(len(order)) if isinstance(origins, slice) else origins
    before = vectors.take(laid, axis=0)
    products = np.empty_like(before)
    matrices, begin, first = by_size.repeat(n_blocks.take(by_size)), 0, 0
    for size, n in zip(BLOCK_SIZES.tolist(), np.bincount(sizes, n_blocks).tolist(), strict=False):
        end, last = begin + size * int(n), first + int(n)
        block_products(before[begin:end], stacked, matrices[first:last], products[begin:end])
        begin, first = end, last
    return MatrixProducts(products, laid, rows)


def block_products(
    vectors: FloatArray, stacked: FloatArray, numbers: IntArray, out: FloatArray | None = None
) -> FloatArray:
    """Return the product of each block of rows with the matrix of a number, the last for -1.

    Each matrix is one row of ``stacked``. All blocks have the same number of rows.

    >>> stacked = np.array([[1.0, 0, 0, 1], [0, 1, 1, 0]])  # the identity, and what swaps
    >>> block_products(np.arange(8.0).reshape(4, 2), stacked, np.array([0, 1]))
    array([[0., 1.],
           [2., 3.],
           [5., 4.],
           [7., 6.]])
    """
    size, n_columns = vectors.shape[1], stacked.shape[1] // vectors.shape[1]
    out = np.empty((len(vectors), n_columns)) if out is None else out
    shape = len(numbers), len(vectors) // max(1, len(numbers))
    blocks, products = vectors.reshape(*shape, size), out.reshape(*shape, n_columns)
    n_together = max(1, GATHERED_NUMBERS // stacked.shape[1])
    is_whole = stacked.flags.c_contiguous  # `take` is faster, but copies all if it is not
    for begin in range(0, len(blocks), n_together):
        here = slice(begin, begin + n_together)
        some = numbers[here]
        matrices = stacked.take(some, axis=0, mode="wrap") if is_whole else stacked[some]
        np.matmul(blocks[here], matrices.reshape(-1, size, n_columns), out=products[here])
    return out
