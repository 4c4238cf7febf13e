"""Pivoted orthogonalisation."""

import numpy as np
import pytest

from seqray.automata.span import extended, perpendicular, pivoted_rows


@pytest.fixture
def rows():
    return np.random.default_rng(1).normal(size=(30, 6))


def test_what_is_left_is_perpendicular_to_the_basis(rows):
    basis = np.linalg.qr(rows[:3].T)[0].T
    np.testing.assert_allclose(perpendicular(rows, basis) @ basis.T, 0, atol=1e-14)
    np.testing.assert_allclose(perpendicular(rows[:3], basis), 0, atol=1e-14)


def test_a_basis_grows_and_stays_orthonormal_even_along_nearly_equal_rows(rows):
    basis = np.empty((0, 6))
    for i in range(6):
        basis = extended(basis, rows[0] + 1e-8 * rows[i + 1])
    np.testing.assert_allclose(basis @ basis.T, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(basis[0], (row := rows[0] + 1e-8 * rows[1]) / np.linalg.norm(row))


def test_each_row_is_the_furthest_from_the_span_of_those_before(rows):
    order, distances = pivoted_rows(rows)
    basis = np.empty((0, 6))
    for row, distance in zip(order, distances, strict=True):
        left = np.linalg.norm(perpendicular(rows, basis), axis=1)
        assert left.argmax() == row
        assert left.max() == pytest.approx(distance)
        basis = extended(basis, rows[row])


def test_distances_vanish_where_rows_span_no_more():
    rows = np.outer(np.arange(1.0, 5), [1.0, 2, 3])
    order, distances = pivoted_rows(rows)
    assert order[0] == 3
    assert (distances[1:] < 1e-12).all()
