"""What all figures share: how they look, how they are made, and how they are written.

Colours and style are those of `seqray.util.plots`. Where two things share a panel, their markers or
lines differ too, so that a print in grey can be read.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqray.experiments.findings import Findings
from seqray.experiments.table import Result
from seqray.util.arrays import FloatArray
from seqray.util.errors import SeqrayError
from seqray.util.files import writing
from seqray.util.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATH = {"test": r"$S_\mathrm{test}$", "rnn": r"$S_\mathrm{RNN}$"}
"""The sets of words, as titles write them."""


class NothingToDrawError(SeqrayError):
    """What a figure shows is not in the results; the message says what is missing."""


class Drawing(NamedTuple):
    """A figure: its file's name, what it is in the paper, what it shows, and how it is made."""

    name: str
    part: str
    caption: str
    make: Callable[[Findings], Figure]


def draw(drawing: Drawing, findings: Findings) -> Figure:
    """Make a figure.

    Raises
    ------
    NothingToDrawError
        Where the results hold nothing that it shows.

    Examples
    --------
    >>> from seqray.experiments.figures import DRAWINGS
    >>> draw(DRAWINGS[0], Findings([]))
    Traceback (most recent call last):
    seqray.experiments.plots.NothingToDrawError: no results of PAutomaC on S_test in the table
    """
    with styled():
        return drawing.make(findings)


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as SVG and PNG; the same figure always gives the same bytes."""
    with styled():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it is laid out now, and need not be for every file
    for ending, metadata in ((".svg", {"Date": None}), (".png", {"Software": None})):
        with writing(folder / f"{name}{ending}") as fresh, styled():
            figure.savefig(fresh, dpi=150, metadata=metadata, facecolor="white")


def panels(
    rows: int,
    columns: int,
    *,
    width: float,
    height: float,
    ratios: Sequence[float] = (),
    **how: Any,
) -> tuple[Figure, Any]:
    """Return an empty figure and its axes, ``axes[row][column]``."""
    made = importlib.import_module("matplotlib.figure").Figure
    figure = made(figsize=(width, height), layout="constrained")
    grid = {"width_ratios": ratios} if ratios else None
    return figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw=grid, **how)


def mark(marker: str, colour: str, label: str, *, hollow: bool = False) -> Any:
    """Return what a legend shows of points."""
    lines = importlib.import_module("matplotlib.lines")
    face = "none" if hollow else colour
    return lines.Line2D([], [], ls="", marker=marker, color=colour, mfc=face, ms=5, label=label)


def line(colour: str, label: str, dashes: Any, *, width: float = 1.4) -> Any:
    """Return what a legend shows of a line."""
    lines = importlib.import_module("matplotlib.lines")
    return lines.Line2D([], [], color=colour, ls=dashes, lw=width, label=label)


def legend(figure: Figure, *handles: Any) -> None:
    """Put a legend above all panels, where it covers nothing."""
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), columnspacing=1.5)


def needed(rows: Mapping[str, Result], what: str) -> Mapping[str, Result]:
    """Return rows, or say that there are none."""
    if not rows:
        raise NothingToDrawError(f"no results of {what} in the table")
    return rows


def values_of(rows: Sequence[Any], name: str) -> FloatArray:
    """Return a column of some rows."""
    return np.array([getattr(row, name) for row in rows], float)
