"""Where states stand: on a circle, or at the distances of the graph, with few crossings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqray.draw.geometry import Points, Rims
from seqray.draw.tangle import FLATNESS, STATE_GAP, Tangle
from seqray.util.arrays import BoolArray, FloatArray

UNJOINED_TRUST = 0.1  # how much the distance counts between states that no path joins
N_SWEEPS, N_FIRST_SWEEPS = 12, 3
N_RANDOM_STARTS, MAX_RANDOM_STARTS = 60, 8  # for all states together, and for one graph


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
    trust = np.where(joined, 1.0, UNJOINED_TRUST)
    gaps = np.where(linked, edge_length, STATE_GAP)
    circle = on_circle(circle_order(pull, first)) * lengths.mean() / 2
    tangles = []
    rng = np.random.default_rng(0)
    others = [
        lengths.max() * rng.normal(size=(n, 2)) @ [1, 1j] for _ in range(N_RANDOM_STARTS // n)
    ]
    for begin in (_plane(lengths), circle, *others[:MAX_RANDOM_STARTS]):
        points = turned(_stress(begin, lengths, trust), first)
        points = points.real + 1j * points.imag / FLATNESS
        tangle = Tangle(points, ends, lengths, trust, gaps, rims, start)
        tangle.untie(range(N_FIRST_SWEEPS))
        tangles.append(tangle)
    tangles.sort(key=Tangle.cost)
    for tangle in tangles[:2]:
        tangle.untie(range(N_FIRST_SWEEPS, N_SWEEPS))
        tangle.part()
    return min(tangles[:2], key=Tangle.cost).points


def scattered(pull: FloatArray, rims: Rims, start: FloatArray, edge_length: float) -> Points:
    """Place many states quickly: by their distances only, and so that no two touch.

    The parameters are those of `spread`, for three states or more.
    """
    n = len(pull)
    linked = ((pull + pull.T) > 0) & ~np.eye(n, dtype=bool)
    lengths, joined = _graph_distances(linked, rims, edge_length)
    trust = np.where(joined, 1.0, UNJOINED_TRUST)
    points = turned(_stress(_plane(lengths), lengths, trust), int(start.argmax()))
    points = points.real + 1j * points.imag / FLATNESS
    gaps = np.where(linked, edge_length, STATE_GAP / 3)
    tangle = Tangle(points, np.argwhere(np.triu(linked)), lengths, trust, gaps, rims, start)
    tangle.part()
    return tangle.points


def _graph_distances(
    linked: BoolArray, rims: Rims, edge_length: float
) -> tuple[FloatArray, BoolArray]:
    """Return the distances of states along edges, and whether any path joins them."""
    from scipy.sparse.csgraph import shortest_path  # noqa: PLC0415 - only drawings need it

    reach = (rims.width + rims.height) / 2
    steps = np.where(linked, np.add.outer(reach, reach) + edge_length, 0.0)
    distances = shortest_path(steps, directed=False)
    joined = np.isfinite(distances)
    some = distances[joined & (distances > 0)]
    far = float(np.median(some)) if len(some) else edge_length + 2 * float(reach.max())
    return np.where(joined, distances, far), joined


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


def turned(points: Points, first: int) -> Points:
    """Turn points about their middle so that the first stands on the left."""
    points = points - points.mean()
    if abs(points[first]) < 1e-9 * np.abs(points).max():
        return points
    return np.asarray(points * -abs(points[first]) / points[first])
