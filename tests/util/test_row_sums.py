import numpy as np
import pytest

from seqray.util import row_sums
from seqray.util.row_sums import summing_matrix, sums_by_key


@pytest.fixture
def keys():
    return np.random.default_rng(0).integers(0, 5, 40)


def test_rows_are_summed_by_key(keys):
    rows = np.random.default_rng(1).random((40, 3), np.float32)
    sums = summing_matrix(keys, 7) @ rows
    expected = [rows[keys == key].sum(axis=0) for key in range(7)]
    np.testing.assert_allclose(sums, expected, rtol=1e-5)
    assert sums.dtype == np.float32
    assert not sums[5:].any()


def test_rows_that_do_not_count_are_left_out(keys):
    rows, counted = np.eye(40), np.arange(40) % 3 > 0
    sums = summing_matrix(keys, 5, counted=counted) @ rows
    np.testing.assert_array_equal(sums, np.equal.outer(np.arange(5), keys) & counted)


def test_no_rows_have_sums_of_0():
    nothing = np.empty(0, np.int64)
    assert (summing_matrix(nothing, 2) @ np.empty((0, 3))).tolist() == [[0] * 3] * 2
    assert sums_by_key(np.empty((0, 3)), nothing, 2, np.empty(0)).tolist() == [[0] * 3] * 2


def test_weighted_sums_are_the_same_in_pieces(keys, monkeypatch):
    rng = np.random.default_rng(2)
    rows, weights = rng.random((40, 3), np.float32), rng.random(40)
    expected = [weights[keys == key] @ rows[keys == key].astype(float) for key in range(5)]
    for n_rows in (2**16, 6):
        monkeypatch.setattr(row_sums, "MIN_ROWS_AT_ONCE", n_rows)
        np.testing.assert_allclose(sums_by_key(rows, keys, 5, weights), expected, rtol=1e-12)
