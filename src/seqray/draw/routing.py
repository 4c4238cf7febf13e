"""How edges run: curves that keep clear of states that are not theirs, and of arrow heads.

Every link has a few candidates, the nicest first: an edge bends more or less, to either side; a
loop, or the arrow into a start state, sits at any side of its state. Each takes the best one given
what the others took, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqray.draw.geometry import HEAD, Curve, Points, Rims, curve_points, trim
from seqray.util.arrays import BoolArray, FloatArray, IntArray

OUTSIDE = -1  # the origin of an arrow into a start state
MIN_CLEARANCE, GOOD_CLEARANCE = 7.0, 15.0  # of an edge and a state that is not its own
BLOCKED_COST = 1e4
CELL = 6.0  # lines in one cell of this size come together
N_POINTS = 61
SWEEPS = 5
BENDS = np.array([0, 0.1, -0.1, 0.2, -0.2, 0.32, -0.32, 0.46, -0.46, 0.6, -0.6])
DETOURS = np.array([-1.1, -0.8, -0.55, -0.35, -0.18, 0, 0.18, 0.35, 0.55, 0.8, 1.1])
PLAIN_BEND, MIN_PARTING_BEND, MAX_PARTING_BEND = 0.05, 0.16, 0.36
MAX_BENT_LENGTH = 320.0  # longer edges bend as far as one of this length
LABEL_CLEARANCE = 10.0  # of a label, and the line and the label of the opposite edge
SHIFTS = np.array([0.0, 9.0, -9.0])  # to the left, in pixels
_FAR = 1e9 + 0j
LOOP_REACH, ENTRY_REACH = 30.0, 36.0  # how far a loop, and an arrow into a start state, reach out


class Link(NamedTuple):
    """What is drawn as a curve: an edge, a loop, or an arrow that comes from outside."""

    origin: int
    target: int
    bend: float = 0.0  # the nicest bend, as a share of the length; to the left if positive
    inwards: float = 0.0  # how far its middle is pulled towards 0, as a share of the distance
    toward: complex = 0j  # the side at which a loop, or an arrow from outside, would best be


class _Choice(NamedTuple):
    """The candidates of one link."""

    corners: Points  # (n, 4)
    points: Points  # (n, N_POINTS)
    outside: BoolArray  # (n, N_POINTS), which points are outside of the link's own states
    heads: Points  # (n,), the middle of each arrow head
    cost: FloatArray  # (n,), what each costs by itself


def parted_links(
    ends: Sequence[tuple[int, int]],
    centres: Points,
    sizes: Sequence[tuple[float, float] | None],
) -> list[Link]:
    """Return links between states; opposite ones bend so far that no label covers the other line.

    Parameters
    ----------
    ends
        Origin and target of each link.
    centres
        Of the states, shape ``(n_states,)``.
    sizes
        Half the width and height of each link's label, None where there is none.

    Examples
    --------
    >>> links = parted_links([(0, 1), (1, 0), (1, 2)], np.array([0, 100j, 200j]), [(24, 9)] * 3)
    >>> [round(link.bend, 2) for link in links]
    [0.34, 0.34, 0.05]
    """
    labels = dict(zip(ends, sizes, strict=False))
    links = []
    for q, r in ends:
        if q == r or (r, q) not in labels:
            links.append(Link(q, r, bend=PLAIN_BEND))
            continue
        along = centres[r] - centres[q]
        both = [labels[pair] or (0.0, 0.0) for pair in ((q, r), (r, q))]
        bend = _parting(both, along) / min(max(abs(along), 1.0), MAX_BENT_LENGTH)
        links.append(Link(q, r, bend=float(np.clip(bend, MIN_PARTING_BEND, MAX_PARTING_BEND))))
    return links


def _parting(sizes: Sequence[tuple[float, float]], along: complex) -> float:
    """Return the distance of two lines at which neither label covers the other line.

    Of lines from left to right, the labels then stand one above the other.
    """
    flat, steep = abs(along.real) / max(abs(along), 1.0), abs(along.imag) / max(abs(along), 1.0)
    reach = max(width * steep + height * flat for width, height in sizes) + LABEL_CLEARANCE
    return max(reach, flat * (sum(height for _, height in sizes) + LABEL_CLEARANCE))


def route(links: Sequence[Link], centres: Points, rims: Rims) -> tuple[list[Curve], int]:
    """Choose a curve for each link; return them, and how many come too near to a strange state.

    Parameters
    ----------
    links
        What to draw.
    centres
        Of the states, shape ``(n_states,)``.
    rims
        The states' outlines.

    Examples
    --------
    >>> (curve,), n_blocked = route([Link(0, 1)], np.array([0, 100 + 0j]), Rims.discs(20, 2))
    >>> [round(point.real) for point in (*curve.trace[[0, -1]], *curve.head)], n_blocked
    ([20, 67, 67, 78], 0)
    """
    choices = [_choice(link, centres, rims) for link in links]
    if not choices:
        return [], 0
    crowd = _Crowd(choices)
    # Loops and arrows from outside find a place anywhere, so they come last.
    edges = [i for i, link in enumerate(links) if link.origin not in (link.target, OUTSIDE)]
    rest = sorted(set(range(len(links))) - set(edges))
    for sweep in range(SWEEPS):
        moved = [crowd.choose(i) for i in (edges if sweep == 0 else edges + rest)]
        if sweep and not any(moved):
            break
    curves = [
        trim(choice.corners[at], link.origin, link.target, centres, rims)
        for link, choice, at in zip(links, choices, crowd.chosen, strict=True)
    ]
    taken = zip(choices, crowd.chosen, strict=True)
    return curves, sum(bool(choice.cost[at] >= BLOCKED_COST) for choice, at in taken)


class _Crowd:
    """What links have taken so far: which cells of a grid their lines cross, and their heads."""

    def __init__(self, choices: Sequence[_Choice]) -> None:
        self.chosen = [-1] * len(choices)
        self._choices, self._heads = choices, np.full(len(choices), _FAR)
        every = np.concatenate([choice.points.ravel() for choice in choices])
        self._corner = complex(every.real.min() - 2 * CELL, every.imag.min() - 2 * CELL)
        size = complex(every.real.max(), every.imag.max()) - self._corner
        self._columns = int(size.real / CELL) + 3
        self._lines = np.zeros((int(size.imag / CELL) + 3) * self._columns, np.int64)
        self._headed = np.zeros_like(self._lines)
        around = [-1, 0, 1]
        self._around = np.add.outer(self._columns * np.array(around), around).ravel()

    def choose(self, i: int) -> bool:
        """Let one link take the best candidate given what others took; whether that is another."""
        before, choice = self.chosen[i], self._choices[i]
        if before >= 0:
            self._take(i, before, -1)
        cost = choice.cost + self._crowding(choice)
        at = int(cost.argmin())
        if before >= 0 and cost[before] <= cost[at] + 1e-9:
            at = before
        self._take(i, at, 1)
        return at != before

    def _take(self, i: int, at: int, sign: int) -> None:
        choice = self._choices[i]
        self._lines[self._cells(choice.points[at][choice.outside[at]])] += sign  # each cell once
        self._headed[self._cells(choice.heads[at]) + self._around] += sign
        self.chosen[i] = at
        self._heads[i] = choice.heads[at] if sign > 0 else _FAR

    def _cells(self, points: Points) -> IntArray:
        off = (points - self._corner) / CELL
        return np.asarray(off.imag.astype(np.int64) * self._columns + off.real.astype(np.int64))

    def _crowding(self, choice: _Choice) -> FloatArray:
        """Return what candidates cost because of others: lines, and heads, that come together."""
        cells, heads = self._cells(choice.points), self._cells(choice.heads)
        same = np.abs(choice.heads[:, None] - self._heads) < 15
        return np.asarray(
            8.0 * (self._headed[cells] * choice.outside).sum(axis=1)
            + 30.0 * same.sum(axis=1)
            + 8.0 * self._lines[heads[:, None] + self._around].max(axis=1)
            + 2.0 * (self._lines[cells] * choice.outside).sum(axis=1)
        )


def _choice(link: Link, centres: Points, rims: Rims) -> _Choice:
    if link.origin == OUTSIDE:
        return _checked(link, centres, rims, *_entries(link, centres, rims))
    if link.origin == link.target:
        return _checked(link, centres, rims, *_loops(link, centres, rims))
    choice = _checked(link, centres, rims, *_bends(link, centres, rims))
    if choice.cost.min() < BLOCKED_COST:
        return choice
    return _checked(link, centres, rims, *_detours(link, centres))


def _checked(link: Link, centres: Points, rims: Rims, corners: Points, cost: FloatArray) -> _Choice:
    """Add to candidates what they cost where they come near to strange states."""
    points = curve_points(corners, N_POINTS)
    room = rims.clearance(points[:, ::2, None], centres)
    own = [q for q in (link.origin, link.target) if q != OUTSIDE]
    room[..., own] = np.inf
    nearest = room.min(axis=(1, 2))
    cost = cost + np.where(nearest < MIN_CLEARANCE, BLOCKED_COST * (1 + MIN_CLEARANCE - nearest), 0)
    cost += 4 * np.clip(GOOD_CLEARANCE - nearest, 0, GOOD_CLEARANCE)
    ends = rims.some(own).clearance(points[..., None], centres[own])
    into = ends[:, ::-1, -1] >= 1 + HEAD / 2
    heads = points[np.arange(len(points)), N_POINTS - 1 - into.argmax(axis=1)]
    return _Choice(corners, points, np.asarray((ends >= 0).all(axis=2)), heads, cost)


def _bends(link: Link, centres: Points, rims: Rims) -> tuple[Points, FloatArray]:
    ends = np.array([link.origin, link.target])
    a, b = centres[ends]
    # Wide states are aimed at beside their middles, so that not all heads come to one point.
    flat = np.maximum(rims.width[ends] - rims.height[ends], 0)
    a, b = np.array([a, b]) + np.clip((b - a).real * np.array([0.3, -0.3]), -flat, flat)
    bends, shifts = np.meshgrid(link.bend + BENDS, SHIFTS, indexing="ij")
    bends, aside = bends.ravel(), -1j * (b - a) / abs(b - a) * shifts.ravel()
    middle = (a + b) / 2 * (1 - link.inwards) + aside
    # Long edges bend less: the bulge is what takes room.
    middle = middle - 1j * (b - a) * bends * min(1.0, MAX_BENT_LENGTH / abs(b - a))
    begin, end = a + aside, b + aside
    inner = begin + (middle - begin) * 2 / 3, end + (middle - end) * 2 / 3
    cost = 60 * np.abs(bends - link.bend) + 0.5 * np.abs(aside)
    return np.stack([begin, *inner, end], axis=1), cost


def _detours(link: Link, centres: Points) -> tuple[Points, FloatArray]:
    """Return curves that leave and arrive at any angle, for edges that otherwise are blocked."""
    a, b = centres[link.origin], centres[link.target]
    first, second = (bends.ravel() for bends in np.meshgrid(DETOURS, DETOURS))
    aside = -1j * (b - a)
    inner = a + (b - a) / 4 + aside * first, b - (b - a) / 4 + aside * second
    ends = np.full(len(first), a), np.full(len(first), b)
    cost = 100 * (np.abs(first) + np.abs(second)) + 40 * np.abs(first - second)
    return np.stack([ends[0], *inner, ends[1]], axis=1), cost


def _directions(link: Link, n: int, nicest: complex) -> tuple[Points, FloatArray]:
    """Return directions around a state, and how far each is from the nicest."""
    wanted = link.toward or nicest
    turns = wanted / abs(wanted) * np.exp(2j * np.pi * np.arange(n) / n)
    return turns, 6 * (1 - np.cos(2 * np.pi * np.arange(n) / n))


def _loops(link: Link, centres: Points, rims: Rims) -> tuple[Points, FloatArray]:
    turns, cost = _directions(link, 16, -1j)
    rim = rims.along(link.target, turns)
    depth = np.minimum(rim, LOOP_REACH)
    foot = centres[link.target] + (rim - depth) * turns
    reach = (depth + LOOP_REACH) / 0.65 * turns
    corners = np.stack([foot, foot + reach * np.exp(-0.55j), foot + reach * np.exp(0.55j), foot])
    return corners.T, cost


def _entries(link: Link, centres: Points, rims: Rims) -> tuple[Points, FloatArray]:
    turns, cost = _directions(link, 16, -1 + 0j)
    rim = rims.along(link.target, turns)
    tip = centres[link.target]
    tail = tip + (rim + ENTRY_REACH) * turns
    return np.stack([tail + (tip - tail) * share for share in (0, 1 / 3, 2 / 3, 1)], axis=1), cost
