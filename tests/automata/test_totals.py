"""Sums over all words, and over all that can follow a state."""

import numpy as np
import pytest

from automata import short_words
from seqray import WeightedAutomaton
from seqray.automata.totals import continuation_weights, short_words_sum


def never_stopping():
    """From state 0 the word ends, goes on, or falls into states 1 and 2, which never stop."""
    return WeightedAutomaton.from_edges(
        "ab",
        3,
        {0: 1},
        [(0, "a", 0, 0.2), (0, "b", 1, 0.3), (1, "a", 1, 0.5), (1, "b", 2, 0.5), (2, "a", 1, 1)],
        {0: 0.5},
    )


def test_states_that_never_stop_add_nothing_to_prefix_weights():
    wa = never_stopping()
    assert wa.spectral_radius == pytest.approx(1)
    finite = wa.weights(short_words(wa, 12))
    assert wa.total == pytest.approx(finite.sum(), rel=1e-7)
    assert wa.prefix_weight("a") == pytest.approx(finite.sum() * 0.2, rel=1e-7)
    assert wa.prefix_weights(["b", "bab"]).tolist() == [0, 0]
    np.testing.assert_allclose(wa.next_symbol(["", "a"]), [[0.2, 0, 0.8]] * 2, atol=1e-15)
    np.testing.assert_allclose(wa.next_symbol(["b", "ba"]), 1 / 3)


def test_a_never_stopping_part_in_other_coordinates_adds_nothing_either():
    wa = never_stopping()
    basis = np.array([[1.0, 2, 0], [0, 1, 1], [1, 0, 3]])
    inverse = np.linalg.inv(basis)
    mixed = WeightedAutomaton(
        "ab", wa.initial @ basis, inverse @ wa.transitions @ basis, inverse @ wa.final
    )
    assert mixed.total == pytest.approx(wa.total)
    np.testing.assert_allclose(mixed.next_symbol(["", "a"]), wa.next_symbol(["", "a"]), atol=1e-12)


def test_above_spectral_radius_one_prefix_weights_solve_the_same_equation():
    wa = WeightedAutomaton("ab", [1], [[[1.5]], [[0.5]]], [3])
    assert wa.spectral_radius == 2
    assert wa.total == -3
    np.testing.assert_allclose(wa.next_symbol(["", "a"]), [[1.5, 0.5, -1]] * 2)


def test_a_defective_machine_still_predicts():
    wa = WeightedAutomaton("a", [1, 0], [[[1, 1], [0, 1]]], [0, 1])
    assert np.isfinite(wa.prefix_final).all()
    np.testing.assert_allclose(wa.next_symbol(["", "a", "aa"]).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("loop", "final", "expected"),
    [(0.5, 0.5, True), (0.5, 2, False), (3, -2, False), (-0.5, 1.5, False)],
)
def test_short_words_show_whether_weights_are_a_distribution(loop, final, expected):
    ends = np.full(1, float(final))
    assert short_words_sum(np.ones(1), lambda state: loop * state, ends) is expected
    assert WeightedAutomaton("a", [1], [[[loop]]], [final]).is_distribution is expected


def test_all_that_follows_solves_its_equation():
    rng = np.random.default_rng(0)
    step, final = rng.random((4, 4)) / 5, rng.random(4)
    weights = continuation_weights(step, final)
    np.testing.assert_allclose(weights, final + step @ weights)


def test_a_defective_eigenvalue_of_a_single_state_gives_the_least_squares_solution():
    step, final = np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([0.5, 0.0])  # grows without end
    weights = continuation_weights(step, final)
    np.testing.assert_allclose((np.eye(2) - step) @ weights, final, atol=1e-12)


@pytest.mark.parametrize("stop", [1e-15, 1e-16, 0.0])
def test_a_sum_that_float64_cannot_tell_is_no_number(stop):
    """It was 0."""
    loops = WeightedAutomaton("ab", [1], [[[0.5]], [[0.5 - stop]]], [stop or 1.0])
    assert np.isnan(loops.total)


def test_states_that_never_stop_and_weigh_nothing_leave_the_total_a_number():
    trap = WeightedAutomaton("a", [1, 0], [[[0.5, 0.25], [0, 1]]], [0.25, 0])
    assert trap.total == pytest.approx(0.5)
