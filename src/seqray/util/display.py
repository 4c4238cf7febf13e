"""How values show themselves in notebooks, and pictures and pages as values.

What a value looks like is made in the room ``notebook``, which is above all others but the command
line. Values are below it, so they know only the `Display` that the package connects here when it is
imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Protocol

from seqray.util.errors import ArgumentError
from seqray.util.files import writing
from seqray.util.formatting import megabytes

MIN_PAGE_HEIGHT = 100
"""The least height of a page inside a notebook, in pixels."""


class Display(Protocol):
    """Makes what notebooks show: `seqray.notebook.shown`."""

    def bundle(self, value: object, /) -> dict[str, str]:
        """Return what to show of a value, by media type."""

    def draw(self, automaton: Any, path: str | os.PathLike[str] | None, /, **how: Any) -> Picture:
        """Return a drawing of an automaton, and write it to a file, if one is named."""

    def explore(self, subject: Any, height: int, /, **how: Any) -> InlinePage:
        """Return the explorer page of an automaton or an extraction."""


_connected: list[Callable[[], Display]] = []


def connect(load: Callable[[], Display]) -> None:
    """Say where the display comes from; it is loaded when something is shown."""
    _connected[:] = [load]


def display() -> Display:
    """Return the display that was connected."""
    return _connected[0]()


class Displayed:
    """A value that notebooks show as a table or a drawing instead of as text."""

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, str]:
        return display().bundle(self)

    def _repr_html_(self) -> str:
        return display().bundle(self)["text/html"]


class Drawable(Displayed):
    """An automaton, or what holds one: it can be drawn and explored."""

    def draw(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        threshold: float | None = None,
        names: Sequence[str] | None = None,
    ) -> Picture:
        """Draw the automaton as a picture that a notebook shows.

        States have names such as ``after ab``. `seqray.to_svg` draws an automaton's own
        coordinates instead.

        Parameters
        ----------
        path
            A file to write the drawing to, too; it ends in ``.svg``, ``.dot``, ``.png`` or
            ``.pdf``.
        threshold
            Transitions with a smaller weight are hidden; see `seqray.to_svg`.
        names
            What to call each state, instead of the names that `seqray.name_states` finds.
        """
        return display().draw(self, path, threshold=threshold, names=names)

    def explore(
        self,
        *,
        box: Any = None,
        words: Any = None,
        rank: int | None = None,
        name: str | None = None,
        max_length: int | None = None,
        height: int = 800,
    ) -> InlinePage:
        """Return the explorer page, which a notebook shows in a frame.

        A notebook that is saved holds the whole page: one automaton takes about a megabyte, an
        extraction with all its ranks up to three.

        Parameters
        ----------
        box, words, rank, name, max_length
            As in `seqray.to_html`.
        height
            The height of the frame in pixels.
        """
        how = {"box": box, "words": words, "rank": rank, "name": name, "max_length": max_length}
        return display().explore(self, height, **how)


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing that notebooks show.

    Parameters
    ----------
    svg
        The drawing as the text of an SVG file.

    Examples
    --------
    >>> picture = Picture('<svg xmlns="http://www.w3.org/2000/svg"></svg>')
    >>> picture
    Picture(46 characters of SVG)
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG)"


@dataclass(frozen=True, repr=False)
class InlinePage:
    """The explorer page, for a notebook.

    It is shown in a frame of its own that can neither read the notebook nor make a request.

    Parameters
    ----------
    html
        The page, as `seqray.to_html` returns it.
    height
        The height of the frame in pixels.
    """

    html: str
    height: int

    def __post_init__(self) -> None:
        if self.height < MIN_PAGE_HEIGHT:
            raise ArgumentError(
                f"height: expected at least {MIN_PAGE_HEIGHT} pixels, got {self.height}"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, to be opened in a browser."""
        with writing(Path(path)) as fresh:
            fresh.write_text(self.html, "utf-8")

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{escape(self.html)}" title="seqray explorer" '
            f'style="width:100%;height:{self.height}px;border:1px solid #8888;'
            'background:#fff"></iframe>'
        )

    def __repr__(self) -> str:
        return f"InlinePage({megabytes(len(self.html.encode()))})"
