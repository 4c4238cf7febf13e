"""States that are moved one at a time until their edges cross little and cover no state."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from seqray.draw.geometry import Points, Rims
from seqray.util.arrays import FloatArray, IntArray

# In pixels:
STATE_GAP = 46.0  # between two states; linked ones need more, for a label
EDGE_GAP = 12.0  # between a state and an edge that is not its own
LABEL_SIZE = 70 + 45j  # the room that labels need, at the middles of edges

UPRIGHT_SHARE = 0.7  # how much of a label's room an edge needs that runs up or down
FLATNESS = 1.3  # states and words are wide, so heights count more than widths
CROSSING_COST, COVERING_COST, TOUCHING_COST = 0.4, 3.0, 12.0
CROWDING_COST = 0.6  # of labels
START_COST = 0.25  # of a start state that stands on the right


class Tangle:
    """States that are moved one at a time, while that costs less."""

    def __init__(
        self,
        points: Points,
        ends: IntArray,
        lengths: FloatArray,
        trust: FloatArray,
        gaps: FloatArray,
        rims: Rims,
        start: FloatArray,
    ) -> None:
        self.points: Points = points.copy()
        self._ends, self._rims = ends, rims
        self._lengths, self._trust = lengths, trust
        self._gaps = gaps  # between states that stand side by side, or one above the other
        self._heights = np.maximum(UPRIGHT_SHARE * gaps, STATE_GAP)
        self._start = start / (np.abs(start).sum() or 1.0)
        self._halves: Points = rims.width + EDGE_GAP + 1j * (rims.height + EDGE_GAP)

    def untie(self, sweeps: Iterable[int]) -> None:
        """Move every state to the best of some places around it, nearer in each sweep."""
        turns = np.exp(2j * np.pi * np.arange(10) / 10)
        step = float(np.median(self._lengths[self._lengths > 0]))
        for sweep in sweeps:
            moved = False
            for state in range(len(self.points)):
                here = self.points[state]
                radii = step * np.array([0.1, 0.35, 0.9]) * 0.85**sweep
                places = np.concatenate([[here], here + np.outer(radii, turns).ravel()])
                costs = self._costs(state, places)
                best = int(costs.argmin())
                if costs[best] < costs[0] - 1e-6:
                    self.points[state], moved = places[best], True
            if not moved:
                break

    def part(self) -> None:
        """Push states that are too near away from each other, until none are."""
        rims, n = self._rims, len(self.points)
        width = np.add.outer(rims.width, rims.width) + self._gaps
        height = np.add.outer(rims.height, rims.height) + self._heights
        for _ in range(200):
            off = self.points[:, None] - self.points
            right, down = width - np.abs(off.real), height - np.abs(off.imag)
            near = (right > 0.5) & (down > 0.5) & ~np.eye(n, dtype=bool)
            if not near.any():
                break
            sign = np.where(off.real < 0, -1, 1), np.where(off.imag < 0, -1, 1)
            # Two states that coincide go in opposite directions.
            first = np.sign(np.subtract.outer(np.arange(n), np.arange(n)))
            sign = np.where(off.real == 0, first, sign[0]), np.where(off.imag == 0, first, sign[1])
            push = np.where(right < down, right * sign[0], 1j * down * sign[1])
            self.points = self.points + 0.3 * (push * near).sum(axis=1)

    def cost(self) -> float:
        """Return what all states cost where they are."""
        at = [self._costs(q, self.points[[q]])[0] for q in range(len(self.points))]
        return float(np.sum(at))

    def _costs(self, state: int, places: Points) -> FloatArray:
        """Return the cost of each place for one state, shape ``(n_places,)``."""
        others = np.delete(np.arange(len(self.points)), state)
        lengths, there = self._lengths[state, others], self.points[others]
        off = places[:, None] - there
        costs = (np.hypot(off.real, FLATNESS * off.imag) / lengths - 1) ** 2 @ self._trust[
            state, others
        ]
        costs += TOUCHING_COST * self._touching(state, others, off).sum(axis=1)
        costs += START_COST * self._start[state] * places.real / lengths.mean() * len(others)
        own = (self._ends == state).any(axis=1)
        mine, rest = self._ends[own].sum(axis=1) - state, self._ends[~own]
        costs += COVERING_COST * self._covering(state, mine, rest, places)
        if len(mine) and len(rest):
            costs += CROSSING_COST * count_crossings(self.points, mine, rest, places)
            costs += CROWDING_COST * self._crowding(mine, rest, places)
        return np.asarray(costs)

    def _touching(self, state: int, others: IntArray, off: Points) -> FloatArray:
        """Return by how much the gap to each other state is too small, 0 to 1 and above."""
        rims = self._rims
        dx = np.abs(off.real) - rims.width[others] - rims.width[state]
        dy = np.abs(off.imag) - rims.height[others] - rims.height[state]
        return np.asarray(
            np.maximum(
                1 - np.maximum(dx / self._gaps[state, others], dy / self._heights[state, others]), 0
            )
        )

    def _covering(self, state: int, mine: IntArray, rest: IntArray, places: Points) -> FloatArray:
        """Return how much edges run through states: own ones, and others through this one."""
        points, halves = self.points, self._halves
        cost = np.zeros(len(places))
        if len(mine):
            near = _nearness(places[:, None, None], points[mine][:, None], points, halves)
            near[:, :, state] = 0
            near[:, np.arange(len(mine)), mine] = 0
            cost += near.sum(axis=(1, 2))
        if len(rest):
            a, b = points[rest[:, 0]], points[rest[:, 1]]
            cost += _nearness(a, b, places[:, None], halves[state]).sum(axis=1)
        return cost

    def _crowding(self, mine: IntArray, rest: IntArray, places: Points) -> FloatArray:
        """Return how near the middles of edges, where labels stand, come to each other."""
        middles = (places[:, None] + self.points[mine]) / 2
        others = (self.points[rest[:, 0]] + self.points[rest[:, 1]]) / 2
        off = middles[:, :, None] - others
        near = 1 - np.maximum(
            np.abs(off.real) / LABEL_SIZE.real, np.abs(off.imag) / LABEL_SIZE.imag
        )
        return np.asarray(np.maximum(near, 0).sum(axis=(1, 2)))


def count_crossings(points: Points, mine: IntArray, rest: IntArray, places: Points) -> FloatArray:
    """Count the edges that those of a state cross, for each place of the state.

    Parameters
    ----------
    points
        Where the other states stand.
    mine
        The other ends of the state's edges.
    rest
        The ends of all other edges, shape ``(n_edges, 2)``.
    places
        Where the state may stand, shape ``(n_places,)``.
    """
    a, b = places[:, None, None], points[mine][:, None]
    c, d = points[rest[:, 0]], points[rest[:, 1]]

    def side(p: Points, q: Points, r: Points) -> FloatArray:
        return np.asarray(np.sign((np.conj(q - p) * (r - p)).imag))

    disjoint = (mine[:, None] != rest[:, 0]) & (mine[:, None] != rest[:, 1])
    crossed = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    return np.asarray((crossed & disjoint).sum(axis=(1, 2)))


def _nearness(a: Points, b: Points, centre: Points, half: Points) -> FloatArray:
    """Return how near edges from ``a`` to ``b`` come to states, 0 where they are clear of them.

    Distances are in units of ``half``, the width and height of a state with some room; shapes are
    broadcast.
    """
    ax, ay = (a - centre).real / half.real, (a - centre).imag / half.imag
    dx, dy = (b - a).real / half.real, (b - a).imag / half.imag
    along = np.clip(-(ax * dx + ay * dy) / (dx * dx + dy * dy), 0, 1)
    x, y = ax + along * dx, ay + along * dy
    return np.asarray(np.maximum(1.2 - np.sqrt(x * x + y * y), 0))
