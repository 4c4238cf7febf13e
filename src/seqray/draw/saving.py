"""Drawings as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from seqray.draw.canvas import write_image
from seqray.draw.dot import to_dot
from seqray.draw.styles import picture
from seqray.draw.svg import to_svg
from seqray.formats.automaton_file import AutomatonLike
from seqray.util.errors import ArgumentError
from seqray.util.files import writing


def _svg(automaton: AutomatonLike, path: Path, **options: Any) -> None:
    path.write_text(to_svg(automaton, **options), "utf-8")


def _dot(automaton: AutomatonLike, path: Path, **options: Any) -> None:
    path.write_text(to_dot(automaton, **options), "utf-8")


def _image(automaton: AutomatonLike, path: Path, **options: Any) -> None:
    write_image(picture(automaton, **options), path)


DRAWINGS = {".svg": _svg, ".dot": _dot, ".png": _image, ".pdf": _image}
"""How to draw to a file, by its ending. To add a format, add a function and a line here."""


def save_drawing(
    automaton: AutomatonLike,
    path: str | os.PathLike[str],
    *,
    threshold: float | None = None,
    names: Sequence[str] | None = None,
    mass: ArrayLike | None = None,
) -> None:
    """Draw an automaton to a file, in the format that its name ends in.

    Parameters
    ----------
    automaton
        What to draw: an automaton, or what one is in: an extraction, a named automaton, which is
        drawn with its names, or the path of a run folder.
    path
        A file that ends in ``.svg``, ``.dot`` (for Graphviz), ``.png`` or ``.pdf``; the last two
        need matplotlib, ``pip install '.[plots]'`` in seqray's folder.
    threshold, names, mass
        As in `to_svg`.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "wa.svg")
    ...     save_drawing(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), file, names=["start"])
    ...     "ends 50 %" in file.read_text("utf-8")
    True
    """
    ending = Path(path).suffix
    if ending not in DRAWINGS:
        raise ArgumentError(f"{path}: a drawing ends in {' '.join(DRAWINGS)}, not {ending!r}")
    with writing(path) as fresh:
        DRAWINGS[ending](automaton, fresh, threshold=threshold, names=names, mass=mass)
