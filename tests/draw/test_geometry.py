"""Rims of states, and curves."""

import numpy as np
import pytest

from seqray.draw.geometry import Rims, curve_points


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
