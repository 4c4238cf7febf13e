"""What commands print on: the console, the progress bar, and the library's log messages."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress
from rich.console import Console

ESTIMATES = "seqray.extraction.estimate"
"""The logger of estimates, which are warnings where there is much to do."""


class _Console(Console):
    """A console that hands on the error of a closed pipe instead of ending the program."""

    def on_broken_pipe(self) -> None:
        """Hand the error on: `seqray.cli.main` ends quietly then."""
        raise  # noqa: PLE0704 - rich calls this while it handles a BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return a console that shows words and paths as they are, never as markup."""
    return _Console(stderr=stderr, markup=False, emoji=False)


class ProgressBar:
    """A bar on the terminal that shows what is being done and how much of it; a `PhasedProgress`.

    Made by `progress_bar`.
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
def progress_bar(title: str, unit: str | None = "answers") -> Iterator[ProgressBar]:
    """Show a bar on standard error; nothing where that is no terminal.

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
    with progress.Progress(*columns, console=console(stderr=True), transient=True) as bar:
        yield ProgressBar(bar, title, unit or "")


@contextmanager
def log_records(name: str, show: Callable[[logging.LogRecord], None]) -> Iterator[None]:
    """Show what a logger gets in the block, from estimates up."""

    class Show(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record)

    logger, handler = logging.getLogger(name), Show(logging.INFO)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def notes() -> Iterator[None]:
    """Show the library's log messages, warnings and estimates, on standard error in the block."""

    def show(record: logging.LogRecord) -> None:
        is_note = record.levelno >= logging.WARNING and record.name != ESTIMATES
        kind = "Note" if is_note else "Estimate"
        # Not `click.echo`, which writes past a progress bar, onto its line.
        sys.stderr.write(f"{kind}: {record.getMessage()}\n")

    with log_records("seqray", show):
        yield
