"""A picture as plain shapes, before it is written in any format.

Styles make a `Scene`; `seqray.draw.svg` and `seqray.draw.canvas` write it. Nothing here knows what
an automaton is.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from seqray.draw.geometry import FONT, LEADING, Points, text_width
from seqray.draw.graph import NEGATIVE, POSITIVE

PAPER, TINT, INK, MUTED = "#FFFFFF", "#F4F4F0", "#222222", "#555555"
SMALL_FONT = 11.0
MARGIN = 14.0
MIN_WIDTH = 560.0


@dataclass(frozen=True, eq=False)
class Line:
    """A cubic Bézier curve: where it begins, two corners that pull it, and where it ends."""

    points: Points
    colour: str
    width: float
    dash: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Polygon:
    """A filled polygon."""

    points: Points
    fill: str


@dataclass(frozen=True, eq=False)
class Box:
    """A box with round corners around ``centre``; a disc if the corner is half of each side."""

    centre: complex
    half: tuple[float, float]
    corner: float
    fill: str | None
    stroke: str | None = None
    width: float = 1.5
    opacity: tuple[float, float] = (1.0, 1.0)  # of the inside, and of the outline


@dataclass(frozen=True, eq=False)
class Text:
    """A line of text; ``at`` is on its base line, at its middle or its beginning."""

    at: complex
    text: str
    colour: str = INK
    size: float = FONT
    bold: bool = False
    centred: bool = True


Shape: TypeAlias = Line | Polygon | Box | Text


@dataclass(frozen=True, eq=False)
class Group:
    """Shapes that belong together: what they are, what they stand for, what pointing at them says.

    Parameters
    ----------
    kind
        ``state``, ``edge``, ``head``, ``label``, ``legend`` or ``caption``.
    shapes
        In the order in which they are drawn.
    data
        Which state or edge it is.
    tooltip
        What is shown when somebody points at it.
    """

    kind: str
    shapes: Sequence[Shape]
    data: Mapping[str, int] = field(default_factory=dict)
    tooltip: str = ""


@dataclass(frozen=True, eq=False)
class Scene:
    """A whole picture.

    Parameters
    ----------
    title
        What it is.
    description
        What it shows, in words.
    view
        Left, top, width and height, in pixels.
    groups
        In the order in which they are drawn.
    """

    title: str
    description: str
    view: tuple[float, float, float, float]
    groups: Sequence[Group]


@dataclass(frozen=True, eq=False)
class LegendEntry:
    """A sample, drawn about its own middle, and what it means."""

    shapes: Sequence[Shape]
    width: float
    text: str


def page(
    title: str,
    reading: str,
    caption: str,
    drawn: Sequence[Group],
    corners: Points,
    legend: Sequence[LegendEntry],
) -> Scene:
    """Put a drawing, its legend and its caption on a page that is just large enough.

    Parameters
    ----------
    title
        What the picture is.
    reading
        How it is read, for those who do not see it.
    caption
        What stands below it.
    drawn
        The drawing.
    corners
        Points that have to be on the page.
    legend
        What is explained, in rows.
    """
    width = max(MIN_WIDTH, float(np.ptp(corners.real)) + 2 * MARGIN)
    left = float(corners.real.min() + corners.real.max() - width) / 2
    top = float(corners.imag.min()) - MARGIN
    bottom = float(corners.imag.max()) + MARGIN
    explained, bottom = _legend(legend, left + MARGIN, bottom + 18, width - 2 * MARGIN)
    room = int((width - 2 * MARGIN) / (0.58 * SMALL_FONT))
    n_lines = max(-(-len(caption) // room), 1)
    lines = textwrap.wrap(caption, min(room, len(caption) // n_lines + 10))  # of one length
    below = [
        Text(complex(left + MARGIN, bottom + 22 + 15 * at), line, MUTED, SMALL_FONT, centred=False)
        for at, line in enumerate(lines)
    ]
    height = bottom + 22 + 15 * len(lines) - top
    groups = [*drawn, Group("legend", explained), Group("caption", below)]
    return Scene(title, f"{caption}. {reading}", (left, top, width, height), groups)


def _legend(
    entries: Sequence[LegendEntry], left: float, y: float, width: float
) -> tuple[list[Shape], float]:
    """Set entries in rows from ``y`` down; return them and where the last row stands."""
    shapes: list[Shape] = []
    x = left
    for entry in entries:
        gap = 8.0 if entry.width else 0.0
        room = entry.width + gap + text_width(entry.text) * FONT + 16
        if x > left and x + room > left + width:
            x, y = left, y + 22
        shapes += [moved(shape, complex(x + entry.width / 2, y)) for shape in entry.shapes]
        at = complex(x + entry.width + gap, y + 0.35 * FONT)
        shapes.append(Text(at, entry.text, centred=False))
        x += room
    return shapes, y


def moved(shape: Shape, by: complex) -> Shape:
    """Return a shape somewhere else."""
    if isinstance(shape, (Line, Polygon)):
        return replace(shape, points=shape.points + by)
    if isinstance(shape, Box):
        return replace(shape, centre=shape.centre + by)
    return replace(shape, at=shape.at + by)


def text_block(
    centre: complex, lines: Sequence[tuple[str, str, bool]], size: float = FONT
) -> list[Text]:
    """Return centred lines, each with its colour and whether it is bold."""
    step = size * LEADING
    first = centre.imag - step * (len(lines) - 1) / 2 + 0.35 * size
    return [
        Text(complex(centre.real, first + at * step), text, colour, size, bold)
        for at, (text, colour, bold) in enumerate(lines)
    ]


def stroke(points: Points, weight: float, pen: float) -> Line:
    """Return the line of an edge: its colour, and dashes where its weight is negative."""
    dash = (4 + 2 * pen, 2 + 1.5 * pen) if weight < 0 else None
    return Line(points, sign_colour(weight), pen, dash)


def sample_line(weight: float, pen: float) -> Line:
    """Return a short horizontal line for a legend."""
    return stroke(np.array([-16, -16 / 3, 16 / 3, 16], complex), weight, pen)


def sign_colour(weight: float) -> str:
    """Return the colour of a weight's sign."""
    return NEGATIVE if weight < 0 else POSITIVE
