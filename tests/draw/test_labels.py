"""Where labels go."""

import numpy as np
import pytest

from plain_states import boxes
from seqray.draw import labels
from seqray.draw.geometry import Curve, Rims
from seqray.draw.labels import arrange
from seqray.draw.routing import Link


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


SQUARE = 120 * np.array([1, 1j, -1, -1j])


def arranged(links, sizes, largest=3.0):
    return arrange(lambda scale: scale * SQUARE, Rims.discs(20, 4), links, sizes, largest=largest)


def overlap(a, b):
    return (abs(a[:2] - b[:2]) < a[2:] + b[2:]).all()


def test_labels_cover_neither_each_other_nor_states():
    links = [Link(q, (q + step) % 4) for q in range(4) for step in (1, 2)]
    arrangement = arranged(links, [(20.0, 8.0)] * len(links))
    labels = list(arrangement.labels.values())
    states = [np.array([c.real, c.imag, 20, 20]) for c in arrangement.centres]
    assert len(labels) == len(links)
    for i, label in enumerate(labels):
        assert not any(overlap(label, other) for other in labels[:i])
        assert not any(overlap(label, state) for state in states)


def test_the_picture_grows_until_labels_have_room():
    links = [Link(q, (q + 1) % 4) for q in range(4)]
    small = arranged(links, [(5.0, 5.0)] * 4)
    large = arranged(links, [(80.0, 30.0)] * 4)
    assert abs(large.centres[0]) > abs(small.centres[0])
    assert len(large.labels) == 4


def test_labels_without_room_are_left_out():
    links = [Link(q, r) for q in range(4) for r in range(4)]
    arrangement = arranged(links, [(300.0, 300.0)] * 16, largest=1.0)
    assert len(arrangement.labels) < 16
    assert len(arrangement.curves) == 16


def test_a_link_without_a_label_has_none():
    assert list(arranged([Link(0, 1), Link(1, 2)], [None, (10.0, 5.0)]).labels) == [1]
