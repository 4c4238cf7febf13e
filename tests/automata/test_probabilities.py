"""Rows of next-symbol probabilities: normalising, comparing, what they lack."""

import numpy as np
import pytest

from seqray.automata.probabilities import (
    as_probabilities,
    leak_of,
    normalised,
    total_variation,
    with_elsewhere,
)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(50, 4))


def test_normalised_rows_are_distributions_in_proportion_to_what_is_positive(rows):
    found = normalised(rows)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(
        found[(rows > 0).any(axis=1)] > 0, rows[(rows > 0).any(axis=1)] > 0
    )


def test_a_row_with_nothing_positive_is_uniform():
    np.testing.assert_array_equal(normalised(np.array([-1.0, 0, -2, 0])), np.full(4, 0.25))
    np.testing.assert_array_equal(as_probabilities(np.array([[-1.0, 0]])), [[0.5, 0.5]])


def test_probabilities_keep_what_they_leak():
    rows = np.array([[0.5, 0.25], [0.75, 0.25], [1.5, -0.25]])
    read = as_probabilities(rows)
    np.testing.assert_array_equal(read[:2], rows[:2])
    np.testing.assert_array_equal(read[2], [1, 0])
    np.testing.assert_array_equal(leak_of(rows), [0.25, 0, 0])
    np.testing.assert_allclose(with_elsewhere(read).sum(axis=1), 1)


def test_rounding_is_no_leak():
    assert leak_of(np.array([[0.5, 0.5 - 1e-7]])) == 0


def test_total_variation_is_a_distance_of_at_most_one(rows):
    p, q, r = (normalised(np.roll(rows, shift, axis=0)) for shift in range(3))
    np.testing.assert_array_equal(total_variation(p, p), 0)
    np.testing.assert_array_equal(total_variation(p, q), total_variation(q, p))
    assert (total_variation(p, r) <= total_variation(p, q) + total_variation(q, r) + 1e-12).all()
    assert total_variation(p, q).max() <= 1
    assert total_variation(np.array([1.0, 0]), np.array([0, 1.0])) == 1


def test_total_variation_is_the_largest_difference_of_an_event(rows):
    p, q = normalised(rows), normalised(-rows)
    np.testing.assert_allclose(total_variation(p, q), np.maximum(p - q, 0).sum(axis=1))
