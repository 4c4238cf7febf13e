import tracemalloc

import numpy as np
import pytest

from seqray.extraction import svd
from seqray.extraction.svd import ChunkedMatrix, truncated_svd


def rng(seed=0):
    return np.random.default_rng(seed)


def orthogonal(n, columns, seed):
    return np.linalg.qr(rng(seed).standard_normal((n, columns)))[0]


def test_the_projected_svd_is_right_down_to_small_singular_values(monkeypatch):
    sizes = np.geomspace(1, 1e-9, 40)
    matrix = orthogonal(220, 40, 1) * sizes @ orthogonal(260, 40, 2).T
    exact_left, exact, exact_right = truncated_svd(matrix, 30, seed=rng())
    monkeypatch.setattr(svd, "MAX_EXACT_SIZE", 100)
    left, values, right = truncated_svd(matrix, 30, seed=rng())
    assert (left.shape, values.shape, right.shape) == ((220, 30), (30,), (30, 260))
    np.testing.assert_allclose(values, exact, rtol=1e-6)
    np.testing.assert_allclose(values, sizes[:30], rtol=1e-6)
    np.testing.assert_allclose(left.T @ left, np.eye(30), atol=1e-10)
    np.testing.assert_allclose(right @ right.T, np.eye(30), atol=1e-10)
    score = np.abs((left * exact_left).sum(axis=0) * (right.T * exact_right.T).sum(axis=0))
    np.testing.assert_allclose(score, 1, atol=1e-6)


def test_the_projected_svd_reaches_the_smallest_of_a_full_spectrum(monkeypatch):
    sizes = np.geomspace(1, 1e-9, 200)
    matrix = orthogonal(200, 200, 3) * sizes @ orthogonal(200, 200, 4).T
    monkeypatch.setattr(svd, "MAX_EXACT_SIZE", 100)
    values = truncated_svd(matrix, 40, seed=rng())[1]
    np.testing.assert_allclose(values, sizes[:40], rtol=1e-6)


def test_the_projected_svd_drops_what_is_lost_in_rounding(monkeypatch):
    matrix = orthogonal(150, 7, 5) @ orthogonal(150, 7, 6).T
    monkeypatch.setattr(svd, "MAX_EXACT_SIZE", 100)
    assert len(truncated_svd(matrix, 30, seed=rng())[1]) == 7


def chunked(matrix, n_rows):
    def chunks():
        for begin in range(0, len(matrix), n_rows):
            some = slice(begin, min(begin + n_rows, len(matrix)))
            yield some, matrix[some]

    return ChunkedMatrix(matrix.shape, chunks)


def test_products_in_chunks_are_those_of_the_whole():
    matrix, right = rng(1).standard_normal((50, 30)), rng(2).standard_normal((50, 4))
    parts = chunked(matrix, 7)
    np.testing.assert_allclose(parts.times(matrix.T), matrix @ matrix.T, atol=1e-12)
    np.testing.assert_allclose(parts.transposed_times(right), matrix.T @ right, atol=1e-12)
    np.testing.assert_allclose(parts.left_times(right), right.T @ matrix, atol=1e-12)


@pytest.mark.parametrize("shape", [(300, 260), (260, 300), (300, 35), (35, 300)])
def test_a_matrix_in_chunks_has_the_same_svd(shape):
    sizes = np.geomspace(1, 1e-9, 35)
    matrix = orthogonal(shape[0], 35, 1) * sizes @ orthogonal(shape[1], 35, 2).T
    exact_left, exact, exact_right = truncated_svd(matrix, 30, seed=rng())
    left, values, right = truncated_svd(chunked(matrix, 41), 30, seed=rng())
    np.testing.assert_allclose(values, exact, rtol=1e-7)
    np.testing.assert_allclose(values[:20], exact[:20], rtol=1e-10)
    np.testing.assert_allclose(left.T @ left, np.eye(30), atol=1e-10)
    product, wanted = left * values @ right, exact_left * exact @ exact_right
    np.testing.assert_allclose(product, wanted, atol=1e-13)


def test_chunks_of_a_full_spectrum_are_iterated_until_the_smallest_is_right():
    sizes = np.geomspace(1, 1e-9, 200)
    matrix = orthogonal(200, 200, 3) * sizes @ orthogonal(200, 200, 4).T
    values = truncated_svd(chunked(matrix, 30), 40, seed=rng())[1]
    np.testing.assert_allclose(values, sizes[:40], rtol=1e-9)


@pytest.mark.parametrize(
    ("shape", "rank", "is_projected"),
    [
        *(((100, 300), 5, False), ((101, 300), 5, True), ((300, 101), 5, True)),
        *(((104, 300), 26, False), ((105, 300), 26, True)),
    ],
)
def test_only_large_matrices_of_which_few_values_are_wanted_are_projected(
    monkeypatch, shape, rank, is_projected
):
    monkeypatch.setattr(svd, "MAX_EXACT_SIZE", 100)
    generator = rng()
    truncated_svd(rng(1).standard_normal(shape), rank, seed=generator)
    assert (generator.bit_generator.state != rng().bit_generator.state) == is_projected


@pytest.mark.parametrize("scale", [1.0, 2.0**40, 2.0**-40])
def test_what_is_lost_in_rounding_is_relative_to_the_largest_value(scale):
    sizes = np.array([1, 1e-10])
    matrix = scale * (orthogonal(150, 2, 5) * sizes @ orthogonal(150, 2, 6).T)
    values = truncated_svd(matrix, 30, seed=rng())[1]
    np.testing.assert_allclose(values, scale * sizes, rtol=1e-4)


@pytest.mark.parametrize("shape", [(4000, 2), (2, 4000)])
def test_rounding_grows_with_the_longer_side(shape):
    tall = orthogonal(4000, 2, 5) * np.array([1, 1e-13]) @ orthogonal(2, 2, 6)
    matrix = tall if shape[0] > shape[1] else tall.T
    assert truncated_svd(matrix, 2, seed=rng())[1] == pytest.approx([1])


@pytest.mark.parametrize("of", [np.asarray, ChunkedMatrix.of])
def test_a_matrix_of_zeros_or_of_one_column_has_one_value(of):
    left, values, right = truncated_svd(of(np.zeros((5, 4))), 3, seed=rng())
    assert (left.shape, values.tolist(), right.shape) == ((5, 1), [0], (1, 4))
    assert truncated_svd(of(np.ones((4, 1))), 3, seed=rng())[1] == pytest.approx([2])


@pytest.mark.parametrize("of", [np.asarray, ChunkedMatrix.of])
@pytest.mark.parametrize("shape", [(3, 1000), (1000, 3)])
def test_a_thin_matrix_needs_no_square_one(of, shape):
    matrix = of(rng().standard_normal(shape))
    assert peak_bytes(lambda: truncated_svd(matrix, 2, seed=rng())) < 1000 * 1000


def test_a_matrix_in_chunks_needs_memory_for_the_wanted_directions_only():
    def chunks():
        for begin in range(0, 1000, 10):
            yield slice(begin, begin + 10), np.outer(np.arange(begin, begin + 10), np.ones(1000))

    matrix = ChunkedMatrix((1000, 1000), chunks)
    assert peak_bytes(lambda: truncated_svd(matrix, 2, seed=rng())) < 10 * 22 * 2000 * 8


def peak_bytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_often(matrix, rank):
    """Return how often a matrix is read, and its singular values."""
    n_reads = 0

    def chunks():
        nonlocal n_reads
        n_reads += 1
        return iter([(slice(0, len(matrix)), matrix)])

    values = truncated_svd(ChunkedMatrix(matrix.shape, chunks), rank, seed=rng())[1]
    return n_reads, values


def slowly_falling(smallest, n=200):
    return orthogonal(n, n, 3) * np.geomspace(1, smallest, n) @ orthogonal(n, n, 4).T


def test_iteration_ends_when_every_wanted_value_has_settled_and_no_later():
    matrix = slowly_falling(0.1)
    n_reads, values = read_often(matrix, 10)
    np.testing.assert_allclose(values, np.geomspace(1, 0.1, 200)[:10], rtol=1e-9)
    assert 20 < n_reads < 60  # at most there would be 102
    for scale in (2.0**40, 2.0**-40):
        assert read_often(scale * matrix, 10)[0] == n_reads


def test_what_rounding_moves_is_not_waited_for():
    sizes = np.geomspace(1, 1e-12, 40)
    matrix = orthogonal(220, 40, 1) * sizes @ orthogonal(260, 40, 2).T
    for rank in (1, 38):
        assert read_often(matrix, rank)[0] <= 8
    assert read_often(np.zeros((60, 50)), 5)[0] == 4


@pytest.mark.parametrize("shape", [(300, 35), (35, 300), (35, 35)])
def test_with_as_many_directions_as_rows_or_columns_nothing_is_iterated(shape):
    matrix = rng().standard_normal(shape)
    n_reads, values = read_often(matrix, 30)
    assert n_reads == 2
    np.testing.assert_allclose(values, np.linalg.svd(matrix)[1][:30], rtol=1e-10)
