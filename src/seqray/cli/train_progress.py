"""How ``seqray train`` shows that it works: a bar on a terminal, elsewhere lines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from seqray.cli.console import console, log_records, progress_bar
from seqray.util.formatting import duration
from seqray.util.progress_bar import ProgressBar

if TYPE_CHECKING:
    from seqray.training.checkpoint import Epoch
    from seqray.training.reports import TrainingEstimate

MAX_SILENCE_SECONDS = 5.0
"""Where there is no bar, a line is printed at least this often."""


class BarWatch:
    """Shows a training as a bar on a terminal.

    Parameters
    ----------
    bar
        The bar.
    epochs
        How many epochs a size has at most.
    """

    def __init__(self, bar: ProgressBar, epochs: int) -> None:
        self.bar, self.epochs = bar, epochs
        self.validation = self.left = ""

    def on_step(self, done: int, total: int) -> None:
        """Move the bar."""
        self.bar(done, total)

    def on_epoch(self, row: Epoch) -> None:
        """Show the cross-entropy."""
        self.validation = f", validation {row.validation:.4f}"
        self._describe(row.hidden, row.epoch)

    def on_estimate(self, estimate: TrainingEstimate) -> None:
        """Show the time that is left."""
        self.left = f", about {duration(estimate.seconds_left)} left"
        self._describe(estimate.hidden, estimate.epoch)

    def _describe(self, hidden: int, epoch: int) -> None:
        place = f"{hidden} units, epoch {epoch}/{self.epochs}"
        self.bar.describe(f"{place}{self.validation}{self.left}")

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        self.bar.print(text)


class LineWatch:
    """Shows a training as lines: one per epoch, and one after a few seconds of silence.

    Parameters
    ----------
    epochs
        How many epochs a size has at most.
    show
        Prints a line.
    now
        Returns the time in seconds.
    """

    def __init__(
        self,
        epochs: int,
        show: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.epochs, self.show, self.now = epochs, show, now
        self.last_line, self.left = now(), ""

    def print(self, text: str) -> None:
        """Print a line."""
        self.show(text)
        self.last_line = self.now()

    def on_step(self, done: int, total: int) -> None:
        """Print nothing: there are too many steps."""

    def on_epoch(self, row: Epoch) -> None:
        """Print the cross-entropies, and the time that is left."""
        losses = f"training {row.training:.4f}, validation {row.validation:.4f}"
        left = self.left and f"; {self.left}"
        self.print(f"{row.hidden} units, epoch {row.epoch}/{self.epochs}: {losses}{left}")

    def on_estimate(self, estimate: TrainingEstimate) -> None:
        """Print where training is, and the time that is left, if it was silent for long."""
        self.left = f"about {duration(estimate.seconds_left)} left"
        if self.now() - self.last_line >= MAX_SILENCE_SECONDS:
            place = f"{estimate.hidden} units, epoch {estimate.epoch}/{self.epochs}"
            self.print(f"{place}, {100 * estimate.share:.0f} % of it: {self.left}")


@contextmanager
def watching(epochs: int) -> Iterator[BarWatch | LineWatch]:
    """Show a bar on a terminal, elsewhere lines, and what is logged; all on standard error."""
    if console(stderr=True).is_terminal:
        with progress_bar("training", None) as bar, _logged(BarWatch(bar, epochs)) as watch:
            yield watch
    else:
        with _logged(LineWatch(epochs, lambda text: click.echo(text, err=True))) as watch:
            yield watch


@contextmanager
def _logged(watch: BarWatch | LineWatch) -> Iterator[BarWatch | LineWatch]:
    """Print the log messages of the training, too, each with a capital and a full stop."""

    def show(record: logging.LogRecord) -> None:
        text = record.getMessage()
        watch.print(f"{text[0].upper()}{text[1:]}.")

    with log_records("seqray.training", show):
        yield watch
