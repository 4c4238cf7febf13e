"""What a running training reports: its steps, and estimates of how long all of it takes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from seqray.training.checkpoint import Epoch
from seqray.training.clock import Pace, TrainingClock
from seqray.training.recipe import Recipe
from seqray.util.formatting import counted, duration

logger = logging.getLogger(__name__)

ESTIMATE_SECONDS = 1.0
"""The first estimate comes after this time, and a new one as often."""


class TrainingEstimate(NamedTuple):
    """Where a training is, and how long it takes if no size ends early.

    ``hidden`` and ``epoch`` are in training, and ``share`` of this epoch's steps are done.
    ``seconds`` is the time of the whole call of `train`, ``seconds_left`` what is left of it.
    """

    hidden: int
    epoch: int
    share: float
    seconds: float
    seconds_left: float


@dataclass(frozen=True)
class Listeners:
    """Who is called during a training: after every step, every epoch, and once a second."""

    progress: Callable[[int, int], None] | None = None
    on_epoch: Callable[[Epoch], None] | None = None
    on_estimate: Callable[[TrainingEstimate], None] | None = None


class Reports:
    """Reports steps and estimates to listeners, and the first estimate to the log, too.

    Parameters
    ----------
    recipe
        How to train.
    n_batches
        How many steps an epoch has.
    clock
        The time of the training.
    listeners
        Who is called.
    trial
        Returns the seconds that a step of a size takes on a new network.
    """

    def __init__(
        self,
        recipe: Recipe,
        n_batches: int,
        clock: TrainingClock,
        listeners: Listeners,
        trial: Callable[[int], float],
    ) -> None:
        self.recipe, self.n_batches = recipe, n_batches
        self.clock, self.listeners = clock, listeners
        self.pace = Pace(clock.now, trial)
        self.hidden = self.epoch = self.n_first_epochs = 0
        self.last: float | None = None  # when the last estimate was made

    @property
    def steps_of_size(self) -> int:
        """How many steps a size has."""
        return self.recipe.epochs * self.n_batches

    def begin_size(self, hidden: int, n_epochs: int) -> None:
        """Begin with a size, of which some epochs may be done."""
        if not self.hidden:  # the first size in this process
            self.n_first_epochs = self.recipe.sizes.index(hidden) * self.recipe.epochs + n_epochs
        self.hidden = hidden
        self.pace.begin(hidden)

    def step(self, epoch: int, n_steps: int) -> None:
        """Report a step; so many steps of the epoch are done."""
        self.pace.step()
        self.epoch = epoch
        if self.listeners.progress is not None:
            before = self.recipe.sizes.index(self.hidden) * self.steps_of_size
            done = before + (epoch - 1) * self.n_batches + n_steps
            self.listeners.progress(done, len(self.recipe.sizes) * self.steps_of_size)
        self.estimate(n_steps)

    def estimate(self, n_steps: int) -> None:
        """Report an estimate, if it is time for one; so many steps of the epoch are done."""
        elapsed, listener = self.clock.elapsed, self.listeners.on_estimate
        is_first = self.last is None
        if elapsed < (self.last or 0) + ESTIMATE_SECONDS or not self.pace.is_measured:
            return
        if listener is None and not (is_first and logger.isEnabledFor(logging.INFO)):
            return
        self.last = elapsed
        left = self.pace.seconds(self._steps_left(n_steps))
        if is_first:
            logger.info("%s", self._sentence(elapsed + left))
        if listener is not None:
            share = n_steps / self.n_batches
            listener(TrainingEstimate(self.hidden, self.epoch, share, elapsed + left, left))

    def _steps_left(self, n_steps: int) -> dict[int, int]:
        """Return how many steps each size has left, if none ends early."""
        done = (self.epoch - 1) * self.n_batches + n_steps
        later = self.recipe.sizes[self.recipe.sizes.index(self.hidden) + 1 :]
        return {self.hidden: self.steps_of_size - done} | dict.fromkeys(later, self.steps_of_size)

    def _sentence(self, seconds: float) -> str:
        """Say how long the training takes, and what may end it before."""
        recipe, limit = self.recipe, self.clock.limits.time_limit
        what = f"{counted(recipe.epochs, 'epoch')} of {counted(len(recipe.sizes), 'size')}"
        is_fresh = self.n_first_epochs == 0
        text = f"about {duration(seconds)} for {'' if is_fresh else 'the rest of '}{what}"
        if limit is not None and seconds > limit:
            n_fit = int(recipe.epochs * limit / seconds)
            advice = f"; {counted(n_fit, 'epoch')} would fit" if n_fit and is_fresh else ""
            return f"{text}, but the time limit of {duration(limit)} ends it before{advice}"
        return text if recipe.patience is None else f"{text}; patience may end a size sooner"
