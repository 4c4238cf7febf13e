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
