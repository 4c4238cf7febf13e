"""Shapes that drawings are made of, and whether they come too close to each other.

Points are complex numbers, x to the right and y down, so that multiplying by ``1j`` turns a
direction clockwise by a right angle. A box is ``(x, y, half width, half height)``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqray.util.arrays import BoolArray, FloatArray, IntArray

Points: TypeAlias = NDArray[np.complexfloating[Any, Any]]

FONT, LEADING = 12.0, 1.2
HEAD = 11.0  # the length of an arrow head
MAX_PEN = 5.0


@dataclass(frozen=True, eq=False)
class Rims:
    """The outlines of states: boxes with round corners, or discs where the corner is all there is.

    Parameters
    ----------
    width
        Half the width of each, shape ``(n_states,)``.
    height
        Half the height, shape ``(n_states,)``.
    corner
        The radius of the corners, shape ``(n_states,)``.
    """

    width: FloatArray
    height: FloatArray
    corner: FloatArray

    @staticmethod
    def discs(radius: float, n: int) -> Rims:
        """Return ``n`` discs of one size."""
        return Rims(np.full(n, radius), np.full(n, radius), np.full(n, radius))

    def some(self, states: Sequence[int]) -> Rims:
        """Return those of some states."""
        which = list(states)
        return Rims(self.width[which], self.height[which], self.corner[which])

    def boxes(self, centres: Points) -> FloatArray:
        """Return the box around each, shape ``(n_states, 4)``."""
        return np.column_stack([centres.real, centres.imag, self.width, self.height])

    def clearance(self, points: Points, centres: Points) -> FloatArray:
        """Return how far outside of each the points are, below 0 where inside.

        The last axis of ``points`` is that of the states; shapes are broadcast.
        """
        off = points - centres
        dx = np.abs(off.real) - (self.width - self.corner)
        dy = np.abs(off.imag) - (self.height - self.corner)
        outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
        return np.asarray(outside + np.minimum(np.maximum(dx, dy), 0) - self.corner)

    def along(self, state: int, directions: Points) -> FloatArray:
        """Return how far a state's rim is from its centre in some directions of length 1.

        >>> Rims(*np.array([[20], [10], [0.0]])).along(0, np.array([1, 1j, (1 + 1j) / 2**0.5]))
        array([20.        , 10.        , 14.14213562])
        """
        width, height, corner = (a[state] for a in (self.width, self.height, self.corner))
        dx, dy = np.abs(directions.real), np.abs(directions.imag)
        with np.errstate(divide="ignore"):
            side, top = width / dx, height / dy
        inner = complex(width - corner, height - corner)
        aim = dx * inner.real + dy * inner.imag  # on the corner's arc, |t·d − inner| = corner
        arc = aim + np.sqrt(np.maximum(aim**2 - abs(inner) ** 2 + corner**2, 0))
        flat = np.where(side * dy <= inner.imag, side, np.where(top * dx <= inner.real, top, arc))
        return np.asarray(flat)


class Curve(NamedTuple):
    """A cubic Bézier curve from rim to rim, and the arrow head that ends it."""

    corners: Points
    head: Points  # its base and its tip
    trace: Points  # points along the curve, to the base


def curve_points(corners: Points, n_points: int) -> Points:
    """Return points along Bézier curves, shape ``(..., n_points)`` for ``(..., 4)``."""
    t = np.linspace(0.0, 1.0, n_points)
    basis = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    return np.asarray(corners @ basis)


def trim(corners: Points, origin: int, target: int, centres: Points, rims: Rims) -> Curve:
    """Cut a curve between two states at their rims, and leave room for the arrow head.

    An origin of -1 is no state: there the curve keeps its beginning.
    """
    p0, p1, p2, p3 = corners
    # Steps of two pixels at most, to find the rims and the base of the head.
    steps = max(201, int(np.abs(np.diff(corners)).sum() / 2))
    t = np.linspace(0.0, 1.0, steps)
    path = curve_points(corners, steps)
    slope = 3 * ((p1 - p0) * (1 - t) ** 2 + 2 * (p2 - p1) * t * (1 - t) + (p3 - p2) * t**2)
    outside = rims.some([origin, target]).clearance(path[:, None], centres[[origin, target]])
    begin = int(np.argmax(outside[:, 0] >= 0)) if origin >= 0 else 0
    tip = steps - 1 - int(np.argmax(outside[::-1, 1] >= 1))
    away = np.abs(path - path[tip])
    away[tip:] = 0
    end = max(steps - 1 - int(np.argmax(away[::-1] >= HEAD)), begin + 1)
    ease = (t[end] - t[begin]) / 3 * slope
    inner = [path[begin], path[begin] + ease[begin], path[end] - ease[end], path[end]]
    trace = path[np.linspace(begin, end, 121).astype(int)]
    return Curve(np.array(inner), path[[end, tip]], trace)


def head_corners(curve: Curve, pen: float) -> Points:
    """Return the three corners of an arrow head: its tip, and both ends of its base."""
    base, tip = curve.head
    side = 1j * (tip - base) / (abs(tip - base) or 1.0) * (3.5 + 0.8 * pen)
    return np.array([tip, base + side, base - side])


def head_boxes(curves: Sequence[Curve]) -> FloatArray:
    """Return the box around each arrow head, as if it were one of the widest."""
    corners = np.array([head_corners(curve, MAX_PEN) for curve in curves]).reshape(-1, 3)
    low = np.stack([corners.real.min(axis=1), corners.imag.min(axis=1)], axis=1)
    high = np.stack([corners.real.max(axis=1), corners.imag.max(axis=1)], axis=1)
    return np.concatenate([(low + high) / 2, (high - low) / 2], axis=1)


def points_within(boxes: FloatArray, points: Points, margin: float) -> IntArray:
    """Count the points within ``margin`` of each box."""
    x, y, width, height = boxes.T[:, :, None]
    within = (abs(points.real - x) < width + margin) & (abs(points.imag - y) < height + margin)
    return np.asarray(np.count_nonzero(within, axis=1))


def near_states(boxes: FloatArray, centres: Points, rims: Rims, margin: float) -> BoolArray:
    """Whether each box comes closer to a state than ``margin``."""
    x, y, width, height = boxes.T[:, :, None]
    dx = np.maximum(abs(centres.real - x) - width - (rims.width - rims.corner), 0)
    dy = np.maximum(abs(centres.imag - y) - height - (rims.height - rims.corner), 0)
    return np.asarray((np.hypot(dx, dy) - rims.corner).min(axis=1) < margin)


def overlaps(boxes: FloatArray, others: FloatArray, margin: float) -> FloatArray:
    """Return by how much each box and each other overlap, ``(n, n_others)``, 0 if they do not."""
    x, y, width, height = boxes.T[:, :, None]
    u, v, other_width, other_height = np.reshape(others, (-1, 4)).T
    dx = width + other_width + margin - abs(x - u)
    dy = height + other_height + margin - abs(y - v)
    return np.asarray(np.maximum(np.minimum(dx, dy), 0.0))


def box_corners(box: FloatArray) -> Points:
    """Return the upper left and the lower right corner of a box."""
    x, y, width, height = box
    return np.array([x - width + 1j * (y - height), x + width + 1j * (y + height)])


def half_size(lines: Sequence[str], font: float = FONT) -> tuple[float, float]:
    """Return half the width and height of centred lines, on the generous side."""
    return max(map(text_width, lines)) * font / 2, len(lines) * font * LEADING / 2


def text_width(text: str) -> float:
    """Estimate a text's width in ems; no font is at hand, so assume a wide one."""
    return sum(
        0.0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 1.15
        if unicodedata.east_asian_width(char) in "WF"
        else 0.95
        if char in "mwMW@%—…"
        else 0.38
        if char in " .,:;'|!ijlI"
        else 0.64
        if char.isascii() and not char.isupper()
        else 0.8
        for char in text
    )
