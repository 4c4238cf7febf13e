"""How edges run: around states, from outside, in loops."""

import numpy as np
import pytest

from plain_states import boxes
from seqray.draw import routing
from seqray.draw.geometry import Rims
from seqray.draw.routing import OUTSIDE, Link, route


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


def test_an_edge_that_is_blocked_everywhere_is_counted() -> None:
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


def test_a_lone_edge_runs_straight():
    (curve,), n_blocked = route([Link(0, 1)], np.array([0, 200 + 0j]), Rims.discs(20, 2))
    assert np.allclose(curve.trace.imag, 0)
    assert n_blocked == 0


def test_an_edge_keeps_clear_of_a_state_in_between():
    centres = np.array([0, 150, 300], complex)
    (curve,), n_blocked = route([Link(0, 2)], centres, Rims.discs(20, 3))
    assert abs(curve.trace - centres[1]).min() > 20
    assert n_blocked == 0


def test_two_directions_do_not_run_on_the_same_line():
    links = [Link(0, 1, 0.16), Link(1, 0, 0.16)]
    (there, back), _ = route(links, np.array([0, 200 + 0j]), Rims.discs(20, 2))
    assert abs(there.trace[:, None] - back.trace[None]).min() > 10


def test_loops_and_arrows_from_outside_end_at_their_state():
    links = [Link(0, 0, toward=-1j), Link(OUTSIDE, 0, toward=-1 + 0j)]
    curves, n_blocked = route(links, np.zeros(1, complex), Rims.discs(20, 1))
    for curve in curves:
        assert 18 < abs(curve.head[-1]) < 26
    assert n_blocked == 0


def test_nothing_to_draw_is_fine():
    assert route([], np.zeros(1, complex), Rims.discs(20, 1)) == ([], 0)


@pytest.mark.parametrize("direction", [1, 1j, np.exp(0.9j)])
def test_a_label_leaves_the_line_of_the_opposite_edge_free(direction: complex) -> None:
    centres = np.array([0, 260 * direction])
    size = (34.0, 17.0)
    links = routing.parted_links([(0, 1), (1, 0)], centres, [size, size])
    curves, _ = route(links, centres, Rims.discs(25, 2))
    (middle, other) = (curve.trace[len(curve.trace) // 2] for curve in curves)
    for place, line in ((middle, curves[1].trace), (other, curves[0].trace)):
        apart = line - place
        inside = (np.abs(apart.real) < size[0]) & (np.abs(apart.imag) < size[1])
        assert not inside.any()
