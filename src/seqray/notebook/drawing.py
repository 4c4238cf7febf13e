"""Drawings for notebooks: small automata with the names of their states."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqray.automata.purpose import Purpose
from seqray.draw.saving import save_drawing
from seqray.draw.svg import to_svg
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.naming import name_states
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.display import Picture

MAX_SHOWN_STATES = 20
"""An automaton of more states is shown as a table; `draw` draws it all the same.

What is shown unasked is made in about two seconds at most.
"""

MAX_SHOWN_SYMBOLS = 300
"""The same for its symbols."""

MAX_SHOWN_WEIGHTS = 10_000
"""The same for the weights of all its transitions."""

MAX_SHOWN_CHARACTERS = 200_000
"""The same for the size of the drawing."""


def draw(
    automaton: AutomatonLike,
    path: str | os.PathLike[str] | None = None,
    *,
    threshold: float | None = None,
    names: Sequence[str] | None = None,
) -> Picture:
    """Return a drawing, and write it to a file, if one is named; see `Drawable.draw`.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> draw(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
    Picture(... characters of SVG)
    """
    is_named = names is not None or isinstance(automaton, NamedAutomaton)
    subject = automaton if is_named else name_states(automaton)
    how: dict[str, Any] = {"threshold": threshold, "names": names}
    if path is not None:
        save_drawing(subject, path, **how)
        if Path(path).suffix == ".svg":
            return sized(Path(path).read_text("utf-8"))
    return sized(to_svg(subject, **how))


def shown_drawing(automaton: AutomatonLike) -> Picture | None:
    """Return the drawing that a notebook shows unasked; None where it would be too large."""
    wa = as_automaton(automaton, purpose=Purpose.READING)
    n_states, n_symbols = wa.n_states, len(wa.alphabet)
    if n_states > MAX_SHOWN_STATES or n_symbols > MAX_SHOWN_SYMBOLS:
        return None
    if n_symbols * n_states**2 > MAX_SHOWN_WEIGHTS:
        return None
    picture = draw(automaton)
    return picture if len(picture.svg) <= MAX_SHOWN_CHARACTERS else None


def sized(svg: str) -> Picture:
    """Return a drawing that is no larger than it was made, and fits the page.

    >>> sized('<svg viewBox="0.0 0.0 560.0 90.5">').svg
    '<svg width="560" height="90" style="max-width:100%;height:auto" viewBox="0.0 0.0 560.0 90.5">'
    """
    size = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg)
    assert size is not None
    width, height = (float(side) for side in size.groups())
    style = "max-width:100%;height:auto"
    opening = f'<svg width="{width:.0f}" height="{height:.0f}" style="{style}" '
    return Picture(svg.replace("<svg ", opening, 1))
