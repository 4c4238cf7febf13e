"""A scene as a PNG or PDF picture, drawn with matplotlib; no display is needed."""

from __future__ import annotations

import importlib
import logging
import unicodedata
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqray.draw.geometry import Points
from seqray.draw.scene import Box, Line, Polygon, Scene, Shape, Text
from seqray.util.errors import MissingExtraError, install_hint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 192.0
MAX_SIDE_DOTS = 6000.0
POINTS_PER_PIXEL = 0.75  # a pixel is 1/96 of an inch, a point 1/72
QUARTER_ARC_PULL = 0.5523  # of the corners of a Bézier curve that is nearly a quarter circle
STYLE = {
    "font.family": "DejaVu Sans",  # it comes with matplotlib, so pictures are the same everywhere
    "pdf.fonttype": 42,  # whole fonts, so that text can be found and copied
    "lines.scale_dashes": False,
}
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": "seqray", "Producer": None},
}
"""What is written beside the picture: never a date, so that the same picture is the same file."""

_log = logging.getLogger(__name__)


def write_image(scene: Scene, path: Path) -> None:
    """Write a scene to a file that ends in .png or .pdf.

    Raises
    ------
    MissingExtraError
        If there is no matplotlib.
    """
    # The defaults first: no style file of the user's, such as one with text.usetex, has a say.
    styled = _load("matplotlib.style").context(["default", STYLE])
    with styled, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = _figure(scene)
        dots = min(DOTS_PER_INCH, 96 * MAX_SIDE_DOTS / max(scene.view[2:]))
        figure.savefig(path, dpi=dots, metadata=METADATA[path.suffix])
    missing = sum("missing from" in str(warning.message) for warning in caught)
    if missing:
        _log.warning("the font has no sign for %d characters; an .svg file shows them", missing)


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"drawing to .png or .pdf needs matplotlib: {install_hint('plots')} "
            "(.svg and .dot need nothing)"
        ) from error


def _figure(scene: Scene) -> Figure:
    left, top, width, height = scene.view
    figure: Figure = _load("matplotlib.figure").Figure(
        figsize=(width / 96, height / 96), facecolor="white"
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(left, left + width)
    axes.set_ylim(top + height, top)
    shapes = [shape for group in scene.groups for shape in group.shapes]
    for order, shape in enumerate(shapes):
        artist = _artist(shape)
        artist.set_zorder(order)
        axes.add_artist(artist)
    return figure


def _artist(shape: Shape) -> Any:
    if isinstance(shape, Line):
        return _line(shape)
    if isinstance(shape, Polygon):
        return _load("matplotlib.patches").Polygon(_pairs(shape.points), fc=shape.fill, lw=0)
    return _box(shape) if isinstance(shape, Box) else _text(shape)


def _line(line: Line) -> Any:
    dash = (0, [POINTS_PER_PIXEL * part for part in line.dash]) if line.dash else "solid"
    return _load("matplotlib.patches").PathPatch(
        _path(line.points), fill=False, ec=line.colour, lw=POINTS_PER_PIXEL * line.width, ls=dash
    )


def _box(box: Box) -> Any:
    colour, (inside, outline) = _load("matplotlib.colors").to_rgba, box.opacity
    return _load("matplotlib.patches").PathPatch(
        _path(box.centre + _outline(*box.half, box.corner)),
        fc=colour(box.fill, inside) if box.fill else "none",
        ec=colour(box.stroke, outline) if box.stroke else "none",
        lw=POINTS_PER_PIXEL * box.width,
    )


def _outline(width: float, height: float, corner: float) -> Points:
    """Return a box with round corners about 0 as Bézier curves, four corners and four sides."""
    points: list[complex] = []
    for turn, along, across in ((1, width, height), (1j, height, width)) * 2:
        # One side and the corner after it, as if it were the upper one.
        sign = -1 if len(points) >= 12 else 1
        begin, end = complex(corner - along, -across), complex(along - corner, -across)
        pull, down = QUARTER_ARC_PULL * corner, complex(along, corner - across)
        side = [begin, begin, end, end, end + pull, down - 1j * pull]
        points += [sign * turn * point for point in side]
    return np.array([*points, points[0]])


def _text(text: Text) -> Any:
    # Signs that only steer a text's direction have no shape of their own.
    shown = "".join(char for char in text.text if unicodedata.category(char) != "Cf")
    return _load("matplotlib.text").Text(
        text.at.real,
        text.at.imag,
        shown,
        color=text.colour,
        fontsize=POINTS_PER_PIXEL * text.size,
        fontweight="bold" if text.bold else "normal",
        ha="center" if text.centred else "left",
        va="baseline",
        parse_math=False,
    )


def _path(points: Points) -> Any:
    """Return Bézier curves, each of which begins where the one before ends."""
    path = _load("matplotlib.path").Path
    return path(_pairs(points), [path.MOVETO, *[path.CURVE4] * (len(points) - 1)])


def _pairs(points: Points) -> Any:
    return np.column_stack([points.real, points.imag])
