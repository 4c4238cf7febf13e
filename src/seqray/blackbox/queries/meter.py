"""The one place where questions are counted and limits are kept."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError, Stopped, StopReason


@dataclass
class Meter:
    """Counts questions, and says when to stop.

    A question is a distinct word, a distinct prefix, or a step of a box with states. An answer that
    was cached counts like one that was queried, so that a budget means the same whatever is cached.
    What is sent once more counts once more: a noise probe, a check of cached answers, repetitions.

    Parameters
    ----------
    budget
        The most questions; None: any number.
    seconds
        The most time from now; None: any time.
    stop
        Asking ends soon after this event is set.
    listener
        Called with a number of answers when so many have come.
    repeat
        How often everything is sent, to take the mean.
    n_asked
        Answers that counted, each once, cached or not.
    n_extra
        Questions that brought no new answer.
    n_sent
        What was sent to the box: less than all questions where answers were cached.
    n_validation
        Questions that were not asked to learn from: words to compare on, probes, checks.

    Examples
    --------
    >>> meter = Meter(budget=10)
    >>> meter.allow(8), meter.allow(8)
    (8, 2)
    >>> meter.left
    0
    """

    budget: int | None = None
    seconds: float | None = None
    stop: threading.Event | None = None
    listener: Callable[[int], None] | None = None
    repeat: int = 1
    n_asked: int = 0
    n_extra: int = 0
    n_sent: int = 0
    n_validation: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.budget is not None:
            self.budget = whole_number("budget", self.budget, 1)
        if self.seconds is not None and not self.seconds > 0:
            raise ArgumentError(f"seconds: expected more than 0, got {self.seconds}")

    @property
    def limits(self) -> bool:
        """Whether asking can come to an end before all is asked."""
        return not (self.budget is None and self.seconds is None and self.stop is None)

    @property
    def n_questions(self) -> int:
        """How many questions were asked, all counted."""
        return self.n_asked * self.repeat + self.n_extra

    @property
    def allowance(self) -> int | None:
        """How many answers the budget allows in all; None: any number."""
        return None if self.budget is None else self.budget // self.repeat

    @property
    def left(self) -> float:
        """How many answers the budget still allows."""
        if self.budget is None:
            return math.inf
        return max(0, (self.budget - self.n_questions) // self.repeat)

    @property
    def elapsed(self) -> float:
        """Seconds since the meter was made."""
        return time.monotonic() - self.began

    def allow(self, n: int) -> int:
        """Count ``n`` answers, or as many as are left, and return how many."""
        allowed = int(min(n, self.left))
        self.n_asked += allowed
        return allowed

    def spend(self, n: int) -> None:
        """Count ``n`` questions that bring no new answer; raise `Stopped` where fewer are left."""
        if self.budget is not None and self.n_questions + n > self.budget:
            self.refuse()
        self.n_extra += n

    @contextmanager
    def validating(self) -> Iterator[None]:
        """Count what is asked in a block as questions that nothing is learnt from."""
        before = self.n_questions
        try:
            yield
        finally:
            self.n_validation += self.n_questions - before

    def answered(self, n: int) -> None:
        """Tell the listener that so many answers have come."""
        if self.listener is not None:
            self.listener(n)

    def refuse(self) -> NoReturn:
        """Raise `Stopped`: more was asked than is left."""
        raise Stopped(StopReason.BUDGET, f"the budget of {self.budget:,} questions is used up")

    def no_more(self) -> Stopped:
        """Return why no more is planned: the budget does not allow it."""
        return Stopped(StopReason.BUDGET, f"the budget of {self.budget:,} questions allows no more")

    def check(self) -> None:
        """Raise `Stopped` where time is over, or somebody said stop."""
        if self.stop is not None and self.stop.is_set():
            raise Stopped(StopReason.INTERRUPTED, "interrupted")
        if self.seconds is not None and self.elapsed > self.seconds:
            raise Stopped(StopReason.TIME, f"the time of {self.seconds:g} s is over")

    def counts(self) -> dict[str, int]:
        """Return what was counted, as run folders keep it."""
        return {
            "questions": self.n_questions,
            "validation_questions": self.n_validation,
            "queries_sent": self.n_sent,
        }
