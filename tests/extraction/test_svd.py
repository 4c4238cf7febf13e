import numpy as np

from seqray.extraction import svd
from seqray.extraction.svd import truncated_svd


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
