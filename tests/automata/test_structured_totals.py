"""Sums over all words, with and without a dense matrix."""

import numpy as np
import pytest
from hypothesis import given

from seqray import Grouping, StructuredAutomaton
from seqray.automata import structured_totals
from seqray.automata.generators import random_structured
from seqray.automata.structured_totals import (
    step_sum,
    structured_continuations,
    structured_radius,
)
from seqray.automata.totals import continuation_weights
from structured_cases import random_case, structured_automata


@pytest.fixture
def sparse_only(monkeypatch):
    monkeypatch.setattr(structured_totals, "MAX_DENSE_STATES", 0)


@given(structured_automata())
def test_the_step_sum_is_that_of_the_dense_automaton(wa):
    np.testing.assert_allclose(step_sum(wa.blocks), wa.to_dense().transitions.sum(axis=0))
    np.testing.assert_allclose(wa.step_sum, wa.to_dense().step_sum)


@pytest.mark.usefixtures("sparse_only")
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("signed", [False, True])
def test_the_sparse_solution_is_the_dense_one(seed, signed):
    wa = random_case(seed, signed=signed, leaking=True, n_groups=6)
    solved = structured_continuations(wa.blocks, wa.final)
    expected = continuation_weights(wa.to_dense().step_sum, wa.final)
    np.testing.assert_allclose(solved, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("sparse_only")
def test_what_never_stops_weighs_nothing():
    grouping = Grouping([[1, 2], [1, 1], [2, 2]], [1, 2, 2])
    emission = [[0.5, 0.25, 0.25], [1, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]
    entry = [1, 0.5, 0.5, 0.5, 0.5]
    wa = StructuredAutomaton("ab", grouping, [1], emission, entry, {(2, 1): np.eye(2)[::-1] / 4})
    expected = wa.to_dense().prefix_final
    assert expected[1:3].tolist() == [0, 0]
    np.testing.assert_allclose(wa.prefix_final, expected, rtol=1e-12)


@pytest.mark.usefixtures("sparse_only")
def test_where_no_word_ends_nothing_weighs_anything():
    wa = StructuredAutomaton("a", Grouping([[0]], [2]), [1, 0], [[1, 0], [1, 0]], [0.5, 0.5])
    assert structured_continuations(wa.blocks, wa.final).tolist() == [0, 0]


@pytest.mark.usefixtures("sparse_only")
def test_a_singular_system_has_its_least_squares_solution():
    matrix = np.array([[1.0, 1.0], [0.0, 1.0]])
    wa = StructuredAutomaton(
        "a", Grouping([[0]], [2]), [1, 0], np.array([[0, 0], [0, 1.0]]), [1, 0], {(0, 0): matrix}
    )
    expected = np.linalg.lstsq(np.eye(2) - matrix, wa.final, rcond=None)[0]
    np.testing.assert_allclose(structured_continuations(wa.blocks, wa.final), expected, atol=1e-12)


def test_many_states_are_solved_sparsely():
    wa = random_structured(range(5), 70, seed=0, remembering=0.5)
    doubled = wa.final * np.linspace(1, 2, wa.n_states)
    solved = structured_continuations(wa.blocks, doubled)
    expected = np.linalg.solve(np.eye(wa.n_states) - wa.step_sum, doubled)
    np.testing.assert_allclose(solved, expected, rtol=1e-12)


@pytest.mark.parametrize("remembering", [0, 0.5, 1])
def test_the_spectral_radius_of_many_states_is_that_of_the_dense_matrix(remembering):
    wa = random_structured(range(4), 80, seed=1, remembering=remembering)
    expected = np.abs(np.linalg.eigvals(wa.step_sum)).max()
    assert structured_radius(wa.blocks) == pytest.approx(expected, rel=1e-9)
    assert wa.spectral_radius == pytest.approx(expected, rel=1e-9)


@given(structured_automata())
def test_the_total_is_that_of_the_dense_automaton(wa):
    assert wa.total == pytest.approx(wa.to_dense().total, rel=1e-9, abs=1e-9, nan_ok=True)
