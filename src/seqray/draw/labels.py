"""Where labels stand: on their own edges, clear of states, arrow heads and each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from seqray.draw.geometry import (
    Curve,
    Points,
    Rims,
    head_boxes,
    near_states,
    overlaps,
    points_within,
)
from seqray.draw.routing import OUTSIDE, Link, route
from seqray.util.arrays import FloatArray

MAX_LABELS = 150
BESIDE_COST = 150.0  # what it costs a label not to stand on its line
MAX_BESIDE_SHARE = 0.03  # of labels beside their lines: with more, the picture is made larger
NOWHERE = np.array([1e9, 1e9, 0.0, 0.0])
GROWTH = 1.1
AROUND = np.array([0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6])
AROUND_COST: FloatArray = np.arange(len(AROUND), dtype=float)
STATE_ROOM, HEAD_ROOM, LABEL_ROOM = 3.0, 1.0, 8.0


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Where everything is.

    Parameters
    ----------
    centres
        Of the states, shape ``(n_states,)``.
    rims
        The states' outlines.
    curves
        One a link.
    labels
        The box ``(x, y, half width, half height)`` of each link's label, for those that have a
        label and a place for it.
    """

    centres: Points
    rims: Rims
    curves: Sequence[Curve]
    labels: dict[int, FloatArray]


def arrange(
    centres_at: Callable[[float], Points],
    rims: Rims,
    links: Sequence[Link],
    sizes: Sequence[tuple[float, float] | None],
    *,
    largest: float,
) -> Arrangement:
    """Route edges and place labels on the smallest picture on which all labels have room.

    Parameters
    ----------
    centres_at
        Returns the states' centres at a scale, 1 or more.
    rims
        The states' outlines.
    links
        What is drawn; the last ones choose the place of their label first.
    sizes
        Half the width and height of each link's label, None where there is none.
    largest
        The largest scale to try. If labels have no room there, some are left out.
    """
    n_labels = sum(size is not None for size in sizes)
    scale, best, fewest = 1.0, None, np.inf
    while True:
        centres = centres_at(scale)
        curves, n_blocked = route(links, centres, rims)
        labels = _place(links, curves, sizes, centres, rims, on_line)
        n_missing = n_labels - len(labels)
        scale *= GROWTH if n_missing < 0.1 * n_labels else GROWTH**2
        last = scale > largest or n_labels > MAX_LABELS
        if n_missing and (last or n_missing <= MAX_BESIDE_SHARE * n_labels):
            more = _place(links, curves, sizes, centres, rims, beside)
            labels = more if len(more) > len(labels) else labels
        left = n_blocked * len(links) + n_labels - len(labels)
        if best is None or left <= fewest:
            best, fewest = Arrangement(centres, rims, curves, labels), left
        if last or not left:
            return best


def _place(
    links: Sequence[Link],
    curves: Sequence[Curve],
    sizes: Sequence[tuple[float, float] | None],
    centres: Points,
    rims: Rims,
    along: Callable[[Curve, FloatArray], tuple[Points, FloatArray]],
) -> dict[int, FloatArray]:
    """Return the box of each label that has a place; ``along`` says where those of edges may be.

    Each label has a few candidates. The heaviest edge chooses first; then all choose again, given
    what the others chose, until nothing changes.
    """
    wanted = [i for i in range(len(links))[::-1] if sizes[i] is not None][:MAX_LABELS]
    heads = head_boxes(curves)
    traces = np.concatenate([curve.trace[::3] for curve in curves] or [centres[:0]])
    candidates, costs = {}, {}
    for i in wanted:
        boxes, cost = _candidates(links[i], curves[i], sizes[i], centres, along)
        blocked = near_states(boxes, centres, rims, STATE_ROOM)
        blocked |= (overlaps(boxes, heads, HEAD_ROOM) > 0).any(axis=1)
        if not blocked.all():
            boxes, cost = boxes[~blocked], cost[~blocked]
            candidates[i], costs[i] = boxes, cost + 3.0 * points_within(boxes, traces, 0.0)
    taken = np.tile(NOWHERE, (len(links), 1))  # until one is chosen
    chosen = dict.fromkeys(candidates, -1)
    for _ in range(12):
        before = dict(chosen)
        for i, boxes in candidates.items():
            taken[i] = NOWHERE
            over = overlaps(boxes, taken, LABEL_ROOM)
            cost = costs[i] + np.where(over > 0, 500 + over, 0).sum(axis=1)
            chosen[i] = int(cost.argmin())
            taken[i] = boxes[chosen[i]]
        if chosen == before:
            break
    placed: dict[int, FloatArray] = {}
    for i in chosen:
        others = np.array(list(placed.values()))
        if not overlaps(taken[[i]], others, LABEL_ROOM).any():
            placed[i] = taken[i]
    return placed


def _candidates(
    link: Link,
    curve: Curve,
    size: tuple[float, float] | None,
    centres: Points,
    along: Callable[[Curve, FloatArray], tuple[Points, FloatArray]],
) -> tuple[FloatArray, FloatArray]:
    """Return boxes where a link's label may stand, shape ``(n, 4)``, and what each costs."""
    half = np.array(size)
    middle = curve.trace[len(curve.trace) // 2]
    if link.origin == OUTSIDE:
        where = _beyond(curve.trace[0], curve.trace[0] - curve.head[1], half)
        cost = AROUND_COST
    elif link.origin == link.target:
        where = _beyond(middle, middle - centres[link.target], half)
        cost = AROUND_COST
    else:
        where, cost = along(curve, half)
    return np.column_stack([where.real, where.imag, np.tile(half, (len(where), 1))]), cost


def on_line(curve: Curve, half: FloatArray) -> tuple[Points, FloatArray]:
    """Return middles of boxes on a curve, best in its middle, and what each costs."""
    at = np.arange(8, len(curve.trace) - 8, 4)
    return curve.trace[at], np.abs(at - len(curve.trace) // 2) / 7.0


def beside(curve: Curve, half: FloatArray) -> tuple[Points, FloatArray]:
    """Return middles of boxes on a curve and, where need be, at either side of it."""
    on, away = on_line(curve, half)
    course = np.gradient(on)
    aside = 1j * course / np.where(course == 0, 1, np.abs(course))
    aside = aside * (np.abs(aside.real) * half[0] + np.abs(aside.imag) * half[1] + 4)
    where = np.concatenate([on, on + aside, on - aside])
    return where, np.concatenate([away, away + BESIDE_COST, away + BESIDE_COST])


def _beyond(point: complex, direction: complex, half: FloatArray) -> Points:
    """Return middles of boxes that lie just beyond a point, in nearly one direction."""
    turned = direction / abs(direction) * np.exp(0.25j * AROUND)
    flat = np.maximum(abs(turned.real) / half[0], abs(turned.imag) / half[1])
    return np.asarray(point + turned * (1 / flat + 4))
