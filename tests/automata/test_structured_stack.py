"""Products of many vectors with many small matrices."""

import numpy as np
import pytest

from seqray.automata import structured_stack
from seqray.automata.structured_stack import block_products, chosen_rows, stacked_products


def case(counts, size=3, seed=0):
    """Draw vectors, matrices, and the number of a matrix for each product, in any order."""
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return rng.random((50, size)), rng.random((len(counts), size**2)), numbers


def expected(vectors, stacked, numbers):
    """Return the product of each vector with the matrix of a number, one by one."""
    size = vectors.shape[1]
    pairs = zip(vectors, stacked[numbers].reshape(-1, size, size), strict=True)
    return np.array([vector @ matrix for vector, matrix in pairs]).reshape(-1, size)


@pytest.mark.parametrize(
    "counts",
    [[0, 1, 2, 3, 4, 5, 8, 9, 16], [17, 40, 0], [1, 0, 0, 0, 0], [1, 1, 1], [0, 5], [200], []],
)
def test_products_are_those_of_single_vectors_whatever_the_runs(counts):
    vectors, stacked, numbers = case(counts)
    origins = np.random.default_rng(1).integers(len(vectors), size=len(numbers))
    products = stacked_products(vectors, origins, stacked, numbers)
    of_pairs = expected(vectors[origins], stacked, numbers)
    np.testing.assert_allclose(
        chosen_rows(products.vectors, products.rows), of_pairs, rtol=1e-14, atol=0
    )
    np.testing.assert_array_equal(
        chosen_rows(chosen_rows(vectors, products.origins), products.rows), vectors[origins]
    )


@pytest.mark.parametrize("counts", [[20, 0, 3], [1, 0, 0, 0, 1]])
def test_the_first_vectors_may_be_a_slice(counts):
    vectors, stacked, numbers = case(counts)
    products = stacked_products(vectors, slice(len(numbers)), stacked, numbers)
    of_pairs = expected(vectors[: len(numbers)], stacked, numbers)
    np.testing.assert_allclose(
        chosen_rows(products.vectors, products.rows), of_pairs, rtol=1e-14, atol=0
    )


@pytest.mark.parametrize("n_numbers", [1, 20, 2**17])
def test_matrices_that_are_copied_in_pieces_give_the_same(monkeypatch, n_numbers):
    monkeypatch.setattr(structured_stack, "GATHERED_NUMBERS", n_numbers)
    vectors, stacked, _ = case([1] * 10)
    numbers = np.array([3, 3, 9, -1, 0])
    products = block_products(vectors, stacked, numbers)
    assert products.shape == vectors.shape
    of_pairs = expected(vectors, stacked, numbers.repeat(10))
    np.testing.assert_allclose(products, of_pairs, rtol=1e-14, atol=0)


def test_readers_that_overlap_and_are_not_square_are_read():
    vectors = np.random.default_rng(0).random((4, 2))
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(12.0), 6)[::2]
    products = block_products(vectors, windows, np.array([1, 0]))
    np.testing.assert_allclose(products[:2], vectors[:2] @ np.arange(2.0, 8).reshape(2, 3))
    np.testing.assert_allclose(products[2:], vectors[2:] @ np.arange(6.0).reshape(2, 3))
