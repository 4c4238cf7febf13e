"""Where states stand, how edges run and where labels go, piece by piece."""

from itertools import combinations

import numpy as np
import pytest

from seqray.draw import labels, routing
from seqray.draw.geometry import Curve, Rims, curve_points
from seqray.draw.labels import arrange
from seqray.draw.layout import circle_order, on_circle, spread, turned
from seqray.draw.routing import Link, route
from seqray.draw.scene import Box, Line, Polygon, Text, moved
from seqray.draw.tangle import Tangle, count_crossings


def boxes(n: int) -> Rims:
    return Rims(np.full(n, 40.0), np.full(n, 20.0), np.full(n, 8.0))


def ring(order: list[int]) -> np.ndarray:
    pull = np.zeros((len(order), len(order)))
    pull[order, order[1:] + order[:1]] = 1
    return pull


def first(n: int) -> np.ndarray:
    return np.eye(n)[0]


# On a circle --------------------------------------------------------------------------------------


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


# By distances -------------------------------------------------------------------------------------


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


def test_states_without_any_edge_stand_apart() -> None:
    points = spread(np.zeros((5, 5)), boxes(5), first(5), 50)
    for a, b in combinations(points, 2):
        assert abs((a - b).real) >= 80 or abs((a - b).imag) >= 40


def test_the_same_graph_gives_the_same_places() -> None:
    pull = np.random.default_rng(1).random((8, 8)) > 0.6
    once, again = (spread(pull * 1.0, boxes(8), first(8), 50) for _ in range(2))
    assert (once == again).all()


def test_states_that_coincide_are_pushed_apart() -> None:
    n, gaps = 4, np.full((4, 4), 30.0)
    lengths = np.full((n, n), 100.0)
    tangle = Tangle(
        np.zeros(n, complex), np.zeros((0, 2), int), lengths, np.ones((n, n)), gaps, boxes(n),
        first(n),
    )  # fmt: skip
    tangle.part()
    for a, b in combinations(tangle.points, 2):
        assert abs((a - b).real) >= 80 + 29 or abs((a - b).imag) >= 40 + 29


def crosses(points: np.ndarray, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two segments cross, by solving for where."""
    if set(one) & set(other):
        return False
    (a, b), (c, d) = points[list(one)], points[list(other)]
    matrix = np.array([[(b - a).real, (c - d).real], [(b - a).imag, (c - d).imag]])
    along = np.linalg.solve(matrix, [(c - a).real, (c - a).imag])
    return bool(((along > 0) & (along < 1)).all())


def test_crossings_are_counted_as_by_hand() -> None:
    rng = np.random.default_rng(4)
    points = rng.normal(size=7) + 1j * rng.normal(size=7)
    ends = np.array([pair for pair in combinations(range(7), 2) if rng.random() < 0.6])
    for state in range(7):
        own = (ends == state).any(axis=1)
        mine, rest = ends[own].sum(axis=1) - state, ends[~own]
        counted = count_crossings(points, mine, rest, points[[state]])[0]
        by_hand = sum(crosses(points, (state, q), tuple(r)) for q in mine for r in rest.tolist())
        assert counted == by_hand


def test_a_start_in_the_middle_is_not_turned() -> None:
    points = np.array([1, 1j, -1, -1j, 0])
    assert (turned(points, 4) == points).all()
    assert turned(points, 1)[1] == pytest.approx(-1)


# Edges --------------------------------------------------------------------------------------------


def test_an_edge_goes_around_a_state_between_its_ends() -> None:
    centres = np.array([0, 300, 150], complex)
    (curve,), n_blocked = route([Link(0, 1)], centres, boxes(3))
    assert n_blocked == 0
    assert boxes(3).clearance(curve.trace[:, None], centres)[:, 2].min() >= routing.MIN_CLEARANCE


def test_an_edge_takes_a_detour_around_a_wall() -> None:
    wall = [400 + 1j * y for y in (-150, -50, 50, 150)]
    centres = np.array([0, 800, *wall])
    curves, n_blocked = route([Link(0, 1)], centres, boxes(6))
    assert n_blocked == 0
    room = boxes(6).clearance(curves[0].trace[:, None], centres)[:, 2:]
    assert room.min() >= routing.MIN_CLEARANCE


def test_an_edge_without_any_way_is_counted() -> None:
    wall = [400 + 1j * y for y in range(-3000, 3001, 50)]
    centres = np.array([0, 800, *wall])
    assert route([Link(0, 1)], centres, boxes(len(centres)))[1] == 1


def test_no_links_are_no_curves() -> None:
    assert route([], np.zeros(1, complex), boxes(1)) == ([], 0)


def test_a_loop_turns_to_the_side_where_there_is_room() -> None:
    centres = np.array([0, -75j])  # the second stands where the loop would best be
    curves, n_blocked = route([Link(0, 0)], centres, boxes(2))
    assert n_blocked == 0
    assert curves[0].trace.imag.max() > -20


def test_an_arrow_from_outside_comes_from_the_left_and_ends_at_the_rim() -> None:
    (curve,), _ = route([Link(routing.OUTSIDE, 0)], np.zeros(1, complex), boxes(1))
    assert curve.trace[0].real == pytest.approx(-40 - routing.ENTRY_REACH)
    assert curve.head[1].real == pytest.approx(-41, abs=0.5)


def test_the_rim_is_as_far_as_its_clearance_says() -> None:
    rims = Rims(np.array([40.0, 15.0]), np.array([20.0, 15.0]), np.array([8.0, 15.0]))
    turns = np.exp(2j * np.pi * np.arange(72) / 72)
    for state in (0, 1):
        rim = turns * rims.along(state, turns)
        assert np.allclose(rims.some([state]).clearance(rim[:, None], np.zeros(1)), 0, atol=1e-9)


def test_points_of_a_curve_begin_and_end_at_its_corners() -> None:
    points = curve_points(np.array([0, 1j, 2 + 1j, 3]), 5)
    assert points[0] == 0
    assert points[-1] == 3
    assert points[2] == pytest.approx(1.125 + 0.75j)


def test_shapes_of_every_kind_can_be_moved() -> None:
    by = 3 + 4j
    line = Line(np.array([0, 1, 2, 3], complex), "red", 1.0)
    assert (moved(line, by).points == line.points + by).all()
    assert (moved(Polygon(np.array([1j]), "red"), by).points == [3 + 5j]).all()
    assert moved(Box(1j, (1, 1), 1, None), by).centre == 3 + 5j
    assert moved(Text(1j, "a"), by).at == 3 + 5j


# Labels -------------------------------------------------------------------------------------------


def straight(length: float) -> Curve:
    corners = np.linspace(0, length, 4) + 0j
    return Curve(
        corners, np.array([length, length + 11], complex), np.linspace(0, length, 121) + 0j
    )


def test_labels_stand_on_their_lines_and_beside_them_only_where_that_is_allowed() -> None:
    half = np.array([20.0, 10.0])
    where, cost = labels.on_line(straight(200), half)
    assert (where.imag == 0).all()
    assert where[cost.argmin()] == pytest.approx(100, abs=4)
    beside, costs = labels.beside(straight(200), half)
    assert set(np.round(beside.imag, 6)) == {0, 14, -14}
    assert costs[beside.imag != 0].min() > costs[beside.imag == 0].max()


def test_a_picture_grows_until_its_labels_have_room() -> None:
    centres = np.array([-60, 60], complex)
    found = arrange(
        lambda scale: scale * centres, boxes(2), [Link(0, 1)], [(25.0, 10.0)], largest=4
    )
    assert list(found.labels) == [0]
    assert found.centres[1].real > 60


def test_labels_without_room_are_left_out_at_the_largest_scale() -> None:
    found = arrange(
        lambda scale: np.array([-60, 60], complex), boxes(2), [Link(0, 1)], [(300.0, 300.0)],
        largest=2,
    )  # fmt: skip
    assert found.labels == {}


def test_links_without_labels_need_no_room() -> None:
    found = arrange(lambda scale: np.zeros(1, complex), boxes(1), [Link(0, 0)], [None], largest=2)
    assert found.labels == {}
    assert len(found.curves) == 1
