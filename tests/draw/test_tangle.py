"""States that are moved until their edges cross little."""

from itertools import combinations

import numpy as np

from plain_states import boxes, crosses, first
from seqray.draw.tangle import Tangle, count_crossings


def test_states_that_coincide_are_separated() -> None:
    n, gaps = 4, np.full((4, 4), 30.0)
    lengths = np.full((n, n), 100.0)
    tangle = Tangle(
        np.zeros(n, complex), np.zeros((0, 2), int), lengths, np.ones((n, n)), gaps, boxes(n),
        first(n),
    )  # fmt: skip
    tangle.part()
    for a, b in combinations(tangle.points, 2):
        assert abs((a - b).real) >= 80 + 29 or abs((a - b).imag) >= 40 + 29


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
