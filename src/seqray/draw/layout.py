"""Where states stand: on a circle, or as far apart as the graph says, with few crossings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from seqray.draw.geometry import Points, Rims
from seqray.util.arrays import BoolArray, FloatArray, IntArray

GAP = 46.0  # between two states; linked ones need more, for a label
UPRIGHT = 0.7  # how much of a label's room an edge needs that runs up or down
ROOM = 12.0  # between a state and an edge that is not its own
CROSSING, THROUGH, TOUCHING, ASIDE = 0.4, 3.0, 12.0, 0.25
CROWDED, LABEL = 0.6, 70 + 45j  # the room that labels need, at the middles of edges
FLAT = 1.3  # states and words are wide, so heights count more than widths
APART = 0.1  # how much the distance counts between states that no path joins
SWEEPS, FIRST_SWEEPS = 12, 3
BEGINNINGS, MAX_BEGINNINGS = 60, 8  # tried at random, for all states together


# On a circle --------------------------------------------------------------------------------------


def circle_order(pull: FloatArray, first: int) -> list[int]:
    """Return each state's place on a circle: those that pull each other are neighbours.

    Parameters
    ----------
    pull
        How strongly state i wants to be near state j, shape ``(n_states, n_states)``.
    first
        The state at place 0.
    """
    n = len(pull)
    pull = pull * (1 - np.eye(n))
    pull = pull / (pull.max() or 1.0)
    pull = pull + pull.T
    chords = np.sin(np.pi / n * np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    place = np.arange(n)
    for _ in range(12):  # sweeps of improving swaps; a few are enough
        before = place.copy()
        for q in range(n):
            for r in range(q):
                # Every chord at q or r changes, but not the one between the two.
                change = (pull[q] - pull[r]) * (chords[place[r]] - chords[place[q]])[place]
                if change.sum() - change[q] - change[r] < -1e-9:
                    place[[q, r]] = place[[r, q]]
        if (place == before).all():
            break
    return [int(p) for p in (place - place[first]) % n]


def on_circle(places: Sequence[int]) -> Points:
    """Return the points of places on the unit circle; a single one stands in its middle."""
    n = len(places)
    if n == 1:
        return np.zeros(1, complex)
    first = -1 + 0j if n == 2 else -1j  # two stand side by side, more begin at the top
    points: Points = first * np.exp(2j * np.pi * np.array(places) / n)
    return points


# By distances -------------------------------------------------------------------------------------


def spread(pull: FloatArray, rims: Rims, start: FloatArray, edge_length: float) -> Points:
    """Place states so that linked ones are near each other, no two touch, and few edges cross.

    Some beginnings, the best end: the plane that keeps most of the graph's distances, a circle,
    and a few at random, always the same ones. From each, distances are made as right as they can
    be (stress majorisation), the start is turned to the left, and states are moved one at a time
    while that helps; for those that do not look like the best, a few times only.

    Parameters
    ----------
    pull
        The size of the heaviest transition from state i to state j, 0 where none is shown, shape
        ``(n_states, n_states)``.
    rims
        The states' outlines.
    start
        How much of all words begin in each state, shape ``(n_states,)``.
    edge_length
        The room between two linked states.

    Returns
    -------
    Points
        The centres, shape ``(n_states,)``. The same graph gives the same ones.
    """
    n = len(pull)
    first = int(start.argmax())
    if n == 1:
        return np.zeros(1, complex)
    if n == 2:  # side by side
        side = rims.width.sum() / 2 + edge_length
        return np.asarray(np.where(np.arange(2) == first, -side, side), complex)
    linked = ((pull + pull.T) > 0) & ~np.eye(n, dtype=bool)
    ends = np.argwhere(np.triu(linked))
    lengths, joined = _graph_distances(linked, rims, edge_length)
    trust = np.where(joined, 1.0, APART)
    gaps = np.where(linked, edge_length, GAP)
    circle = on_circle(circle_order(pull, first)) * lengths.mean() / 2
    tangles = []
    rng = np.random.default_rng(0)
    others = [lengths.max() * rng.normal(size=(n, 2)) @ [1, 1j] for _ in range(BEGINNINGS // n)]
    for begin in (_plane(lengths), circle, *others[:MAX_BEGINNINGS]):
        points = _turned(_stress(begin, lengths, trust), first)
        points = points.real + 1j * points.imag / FLAT
        tangle = _Tangle(points, ends, lengths, trust, gaps, rims, start)
        tangle.untie(range(FIRST_SWEEPS))
        tangles.append(tangle)
    tangles.sort(key=_Tangle.cost)
    for tangle in tangles[:2]:
        tangle.untie(range(FIRST_SWEEPS, SWEEPS))
        tangle.part()
    return min(tangles[:2], key=_Tangle.cost).points


def scattered(pull: FloatArray, rims: Rims, start: FloatArray, edge_length: float) -> Points:
    """Place many states quickly: by their distances only, and so that no two touch.

    The parameters are those of `spread`, for three states or more.
    """
    n = len(pull)
    linked = ((pull + pull.T) > 0) & ~np.eye(n, dtype=bool)
    lengths, joined = _graph_distances(linked, rims, edge_length)
    trust = np.where(joined, 1.0, APART)
    points = _turned(_stress(_plane(lengths), lengths, trust), int(start.argmax()))
    points = points.real + 1j * points.imag / FLAT
    gaps = np.where(linked, edge_length, GAP / 3)
    tangle = _Tangle(points, np.argwhere(np.triu(linked)), lengths, trust, gaps, rims, start)
    tangle.part()
    return tangle.points


def _graph_distances(
    linked: BoolArray, rims: Rims, edge_length: float
) -> tuple[FloatArray, BoolArray]:
    """Return how far apart states should stand, going along edges, and whether any path leads."""
    from scipy.sparse.csgraph import shortest_path  # noqa: PLC0415 - only drawings need it

    reach = (rims.width + rims.height) / 2
    steps = np.where(linked, np.add.outer(reach, reach) + edge_length, 0.0)
    found = shortest_path(steps, directed=False)
    joined = np.isfinite(found)
    some = found[joined & (found > 0)]
    far = float(np.median(some)) if len(some) else edge_length + 2 * float(reach.max())
    return np.where(joined, found, far), joined


def _plane(lengths: FloatArray) -> Points:
    """Return the plane that keeps most of the distances (classical scaling)."""
    n = len(lengths)
    middle = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-middle @ lengths**2 @ middle / 2)
    axes = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1, 1)
    # Where states coincide, a nudge: no two of them the same.
    nudge = np.exp(2.4j * np.arange(n)) * lengths.max() * 1e-3
    return np.asarray(axes[:, 1] + 1j * axes[:, 0] + nudge)


def _stress(points: Points, lengths: FloatArray, trust: FloatArray) -> Points:
    """Move points so that their distances come as near to the wanted ones as they can."""
    n = len(points)
    with np.errstate(divide="ignore"):
        weight = np.where(lengths > 0, trust * lengths**-2.0, 0.0)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(150):
        off = points[:, None] - points
        size = np.abs(off) + np.eye(n)
        pulled = (weight * lengths * off / size).sum(axis=1)
        points = inverse @ pulled
    return points


def _turned(points: Points, first: int) -> Points:
    """Turn points about their middle so that the first stands on the left."""
    points = points - points.mean()
    if abs(points[first]) < 1e-9 * np.abs(points).max():
        return points
    return np.asarray(points * -abs(points[first]) / points[first])


class _Tangle:
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
        self._heights = np.maximum(UPRIGHT * gaps, GAP)
        self._start = start / (np.abs(start).sum() or 1.0)
        self._halves: Points = rims.width + ROOM + 1j * (rims.height + ROOM)

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
        """Push states apart that are too near to each other, the shorter way, until none are."""
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
            # Of two states that coincide the first goes one way and the second the other.
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
        costs = (np.hypot(off.real, FLAT * off.imag) / lengths - 1) ** 2 @ self._trust[
            state, others
        ]
        costs += TOUCHING * self._touching(state, others, off).sum(axis=1)
        costs += ASIDE * self._start[state] * places.real / lengths.mean() * len(others)
        own = (self._ends == state).any(axis=1)
        mine, rest = self._ends[own].sum(axis=1) - state, self._ends[~own]
        costs += THROUGH * self._through(state, mine, rest, places)
        if len(mine) and len(rest):
            costs += CROSSING * self._crossings(mine, rest, places)
            costs += CROWDED * self._crowding(mine, rest, places)
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

    def _through(self, state: int, mine: IntArray, rest: IntArray, places: Points) -> FloatArray:
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

    def _crossings(self, mine: IntArray, rest: IntArray, places: Points) -> FloatArray:
        """Count the edges that those of a state cross, shape ``(n_places,)``."""
        a, b = places[:, None, None], self.points[mine][:, None]
        c, d = self.points[rest[:, 0]], self.points[rest[:, 1]]

        def side(p: Points, q: Points, r: Points) -> FloatArray:
            return np.asarray(np.sign((np.conj(q - p) * (r - p)).imag))

        apart = (mine[:, None] != rest[:, 0]) & (mine[:, None] != rest[:, 1])
        crossed = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
        return np.asarray((crossed & apart).sum(axis=(1, 2)))

    def _crowding(self, mine: IntArray, rest: IntArray, places: Points) -> FloatArray:
        """Return how near the middles of edges, where labels stand, come to each other."""
        middles = (places[:, None] + self.points[mine]) / 2
        others = (self.points[rest[:, 0]] + self.points[rest[:, 1]]) / 2
        off = middles[:, :, None] - others
        near = 1 - np.maximum(np.abs(off.real) / LABEL.real, np.abs(off.imag) / LABEL.imag)
        return np.asarray(np.maximum(near, 0).sum(axis=(1, 2)))


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
