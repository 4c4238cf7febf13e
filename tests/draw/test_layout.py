"""Where states stand, how edges run and where labels go, piece by piece."""

from itertools import combinations

import numpy as np
import pytest

from plain_states import boxes, crosses, first
from seqray.draw.layout import circle_order, on_circle, spread, turned


def ring(order: list[int]) -> np.ndarray:
    pull = np.zeros((len(order), len(order)))
    pull[order, order[1:] + order[:1]] = 1
    return pull


def test_states_with_a_heavy_edge_become_neighbours_on_a_circle() -> None:
    cycle = [0, 3, 1, 4, 2]  # the ring 0 → 3 → 1 → 4 → 2 → 0
    places = circle_order(ring(cycle), 0)
    gaps = {abs(places[q] - places[r]) for q, r in zip(cycle, cycle[1:] + cycle[:1], strict=True)}
    assert gaps <= {1, 4}
    assert places[0] == 0


def test_one_state_is_in_the_middle_and_two_are_side_by_side() -> None:
    assert on_circle([0]).tolist() == [0]
    assert np.allclose(on_circle([0, 1]), [-1, 1])
    assert np.allclose(np.abs(on_circle([0, 2, 1])), 1)


def test_two_states_stand_side_by_side_with_the_start_on_the_left() -> None:
    left, right = spread(ring([0, 1]), boxes(2), np.array([0.2, 0.8]), 50)
    assert left.real > right.real
    assert left.imag == right.imag == 0


def test_the_start_is_on_the_left() -> None:
    points = spread(ring([0, 1, 2, 3, 4, 5]), boxes(6), np.eye(6)[3], 50)
    assert points[3].real == points.real.min()


def test_a_ring_has_no_crossing() -> None:
    order = [4, 0, 6, 2, 5, 1, 3]
    points = spread(ring(order), boxes(7), first(7), 50)
    sides = list(zip(order, order[1:] + order[:1], strict=True))
    assert not any(crosses(points, *pair) for pair in combinations(sides, 2))


def test_states_that_no_path_joins_stay_near() -> None:
    pull = np.zeros((6, 6))
    pull[0, 1] = pull[1, 2] = pull[3, 4] = 1
    points = spread(pull, boxes(6), first(6), 50)
    assert np.abs(np.subtract.outer(points, points)).max() < 1000


def test_states_without_any_edge_do_not_touch() -> None:
    points = spread(np.zeros((5, 5)), boxes(5), first(5), 50)
    for a, b in combinations(points, 2):
        assert abs((a - b).real) >= 80 or abs((a - b).imag) >= 40


def test_the_same_graph_gives_the_same_places() -> None:
    pull = np.random.default_rng(1).random((8, 8)) > 0.6
    once, again = (spread(pull * 1.0, boxes(8), first(8), 50) for _ in range(2))
    assert (once == again).all()


def test_a_start_in_the_middle_is_not_turned() -> None:
    points = np.array([1, 1j, -1, -1j, 0])
    assert (turned(points, 4) == points).all()
    assert turned(points, 1)[1] == pytest.approx(-1)
