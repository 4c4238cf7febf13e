import numpy as np

from seqray.draw.geometry import Rims
from seqray.draw.routing import OUTSIDE, Link, route


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
