"""Progress bars: on a terminal, and in a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from rich import progress
from rich.console import Console

from seqray.util.progress import PhasedProgress

REDRAW_SECONDS = 0.2
"""A bar in a notebook is drawn anew no more often."""


class ProgressBar:
    """A bar on the terminal that shows what is being done and how much of it; a `PhasedProgress`.

    Made by `terminal_bar`.
    """

    def __init__(self, bar: progress.Progress, title: str, unit: str) -> None:
        self._bar = bar
        self._task = bar.add_task(title, total=None, unit=unit)

    def __call__(self, done: float, total: float) -> None:
        """Show how much is done, and how much there is."""
        self._bar.update(self._task, completed=done, total=total)

    def phase(self, name: str, unit: str) -> None:
        """Begin a new phase, with a unit of its own."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=None, unit=unit)

    def describe(self, text: str) -> None:
        """Replace the text beside the bar."""
        self._bar.update(self._task, description=text)

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, highlight=False)


@contextmanager
def terminal_bar(console: Console, title: str, unit: str | None) -> Iterator[ProgressBar]:
    """Show a bar on a console while the block runs; nothing where that is no terminal.

    Without a unit the bar shows neither how many there are nor the time that is left.
    """
    columns: list[progress.ProgressColumn] = [
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
    ]
    if unit is not None:
        columns.append(progress.TextColumn("{task.completed:,.0f} {task.fields[unit]}"))
        columns.append(progress.TimeRemainingColumn())
    with progress.Progress(*columns, console=console, transient=True) as bar:
        yield ProgressBar(bar, title, unit or "")


class NotebookBar:
    """A bar below a notebook's cell; a `PhasedProgress`.

    Parameters
    ----------
    show
        Shows HTML in the place of what was shown before.
    title, unit
        What is being done, and what is counted.

    Examples
    --------
    >>> bar = NotebookBar(print, "querying the box", "answers")
    >>> bar(120, 480)
    <div>querying the box <progress value="120" max="480"></progress> 120 of 480 answers</div>
    """

    def __init__(self, show: Callable[[str], None], title: str, unit: str) -> None:
        self._show, self._title, self._unit = show, title, unit
        self._drawn_at = -REDRAW_SECONDS

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done, and how much there is, unless that was just shown."""
        now = time.monotonic()
        if now - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = now
        known = f' value="{done}" max="{total}"' if total else ""
        of = f" of {total:,}" if total else ""
        text = f"{done:,}{of} {escape(self._unit)}"
        self._show(f"<div>{escape(self._title)} <progress{known}></progress> {text}</div>")

    def phase(self, name: str, unit: str) -> None:
        """Begin a new phase, with a unit of its own."""
        self._title, self._unit = name, unit

    def close(self) -> None:
        """Show nothing any more."""
        self._show("")


def is_notebook() -> bool:
    """Say whether this runs in the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    return hasattr(importlib.import_module("IPython").get_ipython(), "kernel")


@contextmanager
def own_bar(title: str, unit: str) -> Iterator[PhasedProgress]:
    """Show a bar while the block runs: below the cell of a notebook, or on standard error."""
    if not is_notebook():
        with terminal_bar(Console(stderr=True, markup=False), title, unit) as bar:
            yield bar
        return
    display = importlib.import_module("IPython.display").display
    handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(html: str) -> None:
        handle.update({"text/html": html, "text/plain": ""}, raw=True)

    below = NotebookBar(show, title, unit)
    try:
        yield below
    finally:
        below.close()
