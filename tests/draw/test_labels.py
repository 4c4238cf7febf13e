import numpy as np

from seqray.draw.geometry import Rims
from seqray.draw.labels import arrange
from seqray.draw.routing import Link

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
