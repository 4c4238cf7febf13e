"""Limits of queries, and the one place where queries are counted against them."""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn, TypedDict

from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError, Stopped, StopReason

MAX_TIMED_BATCHES = 100
"""The speed of so many batches of about the same size is remembered."""


class QueryCounts(TypedDict):
    """What was counted, by the names that run folders use."""

    questions: int
    validation_questions: int
    queries_sent: int


@dataclass(frozen=True)
class Limits:
    """How far an extraction may go. It is true where there is any limit.

    Parameters
    ----------
    budget
        The largest number of queries; None: any number.
    time_limit
        Seconds from the start; None: any time.
    stop
        Queries end soon after this event is set.

    Examples
    --------
    >>> bool(Limits()), bool(Limits(budget=10))
    (False, True)
    """

    budget: int | None = None
    time_limit: float | None = None
    stop: threading.Event | None = None

    def __post_init__(self) -> None:
        if self.budget is not None:
            object.__setattr__(self, "budget", whole_number("budget", self.budget, 1))
        limit = self.time_limit
        if limit is not None and (not isinstance(limit, int | float) or not limit > 0):
            raise ArgumentError(f"time_limit: expected more than 0 seconds, got {limit!r}")
        if self.stop is not None and not isinstance(self.stop, threading.Event):
            raise ArgumentError(f"stop: expected a threading.Event, got {self.stop!r}")

    def __bool__(self) -> bool:
        return not (self.budget is None and self.time_limit is None and self.stop is None)


@dataclass
class _Speed:
    """The speed of the largest batches so far, with what is done between them."""

    n_sent: int = 0
    elapsed: float = 0.0
    first: float | None = None
    by_size: dict[int, deque[float]] = field(default_factory=dict)
    """Seconds per query of later batches, by the number of bits of the batch size."""

    @property
    def seconds_per_query(self) -> float | None:
        """The median of batches at least a quarter as large as any; None: there was no batch.

        A median, because on a busy machine a short batch may wait for longer than it takes.
        """
        largest = max(self.by_size, default=0)
        rates = [*self.by_size.get(largest, ()), *self.by_size.get(largest - 1, ())]
        return statistics.median(rates) if rates else self.first

    def add(self, n_sent: int, elapsed: float) -> None:
        """Add a batch, by all queries and all seconds until its end."""
        n, seconds = n_sent - self.n_sent, elapsed - self.elapsed
        self.n_sent, self.elapsed = n_sent, elapsed
        if n and self.first is None:
            self.first = seconds / n
        elif n:
            rates = self.by_size.setdefault(n.bit_length(), deque(maxlen=MAX_TIMED_BATCHES))
            rates.append(seconds / n)


@dataclass
class Meter:
    """Counts queries, and says when to stop.

    A query is a distinct word, a distinct prefix, or a step of a box with states. A cached answer
    counts like one that was sent for, so that a budget means the same whatever is cached. What is
    sent once more counts once more: a noise probe, a check of cached answers, repetitions.

    Parameters
    ----------
    limits
        What to count against.
    listener
        Called with the number of answers whenever some have come.
    repeat
        How often everything is sent, to take the mean.
    n_answers
        Answers that count, each once, cached or not.
    n_extra
        Queries that brought no new answer.
    n_sent
        What was sent to the box: less than all queries where answers were cached.
    n_validation
        Queries from which nothing is learnt: words to compare on, probes, checks.

    Examples
    --------
    >>> meter = Meter(Limits(budget=10))
    >>> meter.allow(8), meter.allow(8)
    (8, 2)
    >>> meter.left
    0
    """

    limits: Limits = field(default_factory=Limits)
    listener: Callable[[int], None] | None = None
    repeat: int = 1
    n_answers: int = 0
    n_extra: int = 0
    n_sent: int = 0
    n_validation: int = 0
    began: float = field(default_factory=time.monotonic)
    _speed: _Speed = field(default_factory=_Speed, init=False, repr=False)

    @property
    def budget(self) -> int | None:
        """The largest number of queries; None: any number."""
        return self.limits.budget

    @property
    def time_limit(self) -> float | None:
        """Seconds from the start; None: any time."""
        return self.limits.time_limit

    @property
    def n_queries(self) -> int:
        """The number of all queries."""
        return self.n_answers * self.repeat + self.n_extra

    @property
    def allowance(self) -> int | None:
        """How many answers the budget allows in all; None: any number."""
        return None if self.budget is None else self.budget // self.repeat

    @property
    def left(self) -> float:
        """How many answers the budget still allows."""
        if self.budget is None:
            return math.inf
        return max(0, (self.budget - self.n_queries) // self.repeat)

    @property
    def elapsed(self) -> float:
        """Seconds since the meter was made."""
        return time.monotonic() - self.began

    @property
    def seconds_per_query(self) -> float | None:
        """Seconds from one query to the next in large batches; None: nothing was sent.

        Small batches take longer for each query, and most queries come later, in larger ones. The
        first batch counts only where it is alone: it also starts processes, and loads what a box
        loads when it is used.
        """
        return self._speed.seconds_per_query

    def end_batch(self) -> None:
        """Measure the speed of what was sent since the last batch."""
        self._speed.add(self.n_sent, self.elapsed)

    def allow(self, n: int) -> int:
        """Count ``n`` answers, or as many as are left, and return how many."""
        allowed = int(min(n, self.left))
        self.n_answers += allowed
        return allowed

    def require(self, n: int) -> None:
        """Count ``n`` answers; raise `Stopped` where fewer are left."""
        if self.allow(n) < n:
            self.refuse()

    def spend(self, n: int) -> None:
        """Count ``n`` queries that bring no new answer; raise `Stopped` where fewer are left."""
        if self.budget is not None and self.n_queries + n > self.budget:
            self.refuse()
        self.n_extra += n

    @contextmanager
    def validating(self) -> Iterator[None]:
        """Count the queries of a block as those from which nothing is learnt."""
        before = self.n_queries
        try:
            yield
        finally:
            self.n_validation += self.n_queries - before

    def report(self, n: int) -> None:
        """Tell the listener that ``n`` answers have come."""
        if self.listener is not None:
            self.listener(n)

    def refuse(self) -> NoReturn:
        """Raise `Stopped`: the budget is used up."""
        raise Stopped(StopReason.BUDGET, f"the budget of {self.budget:,} queries is used up")

    def no_more(self) -> Stopped:
        """Return why no more is planned: the budget does not allow it."""
        return Stopped(StopReason.BUDGET, f"the budget of {self.budget:,} queries allows no more")

    def check(self) -> None:
        """Raise `Stopped` where time is over, or somebody said stop."""
        if self.limits.stop is not None and self.limits.stop.is_set():
            raise Stopped(StopReason.INTERRUPTED, "interrupted")
        if self.time_limit is not None and self.elapsed > self.time_limit:
            raise Stopped(StopReason.TIME, f"the time of {self.time_limit:g} s is over")

    def counts(self) -> QueryCounts:
        """Return what was counted, by the keys of run folders."""
        return {
            "questions": self.n_queries,
            "validation_questions": self.n_validation,
            "queries_sent": self.n_sent,
        }
