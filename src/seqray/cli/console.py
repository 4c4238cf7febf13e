"""What commands print on: the console, the progress bar, and the library's log messages."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from seqray.util.progress_bar import ProgressBar, terminal_bar

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


@contextmanager
def progress_bar(title: str, unit: str | None = "answers") -> Iterator[ProgressBar]:
    """Show a bar on standard error; nothing where that is no terminal."""
    with terminal_bar(console(stderr=True), title, unit) as bar:
        yield bar


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
