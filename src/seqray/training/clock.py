"""The time of a training: when it is over, and how fast it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from seqray.blackbox.queries.limits import Limits
from seqray.util.errors import Stopped, StopReason
from seqray.util.formatting import duration


class TrainingClock:
    """The time since the beginning, and the limits that end a training.

    Parameters
    ----------
    limits
        A time limit in seconds, an event that says stop, or neither.
    now
        Returns the time in seconds.

    Examples
    --------
    >>> times = iter([100.0, 103.0, 109.0])
    >>> clock = TrainingClock(Limits(time_limit=5), now=lambda: next(times))
    >>> clock.check()
    >>> clock.check()
    Traceback (most recent call last):
    ...
    seqray.Stopped: the time limit of 5 s is over
    """

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        self.limits, self.now = limits, now
        self.began = now()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self.now() - self.began

    def check(self) -> None:
        """Raise `Stopped` where time is over, or somebody said stop."""
        if self.limits.stop is not None and self.limits.stop.is_set():
            raise Stopped(StopReason.INTERRUPTED, "interrupted")
        limit = self.limits.time_limit
        if limit is not None and self.elapsed >= limit:
            raise Stopped(StopReason.TIME, f"the time limit of {duration(limit)} is over")


class Pace:
    """How long a step of each size takes.

    A size that is in training or was before is measured. Another one is estimated from a trial:
    it takes as many times longer than the measured size as its trial steps do.

    Parameters
    ----------
    now
        Returns the time in seconds.
    trial
        Trains a new network of a size for a few steps, and returns the seconds of one.

    Examples
    --------
    >>> times = iter([0.0, 0.5] + [2.5] * 5)
    >>> pace = Pace(now=lambda: next(times), trial=lambda hidden: {30: 0.1, 120: 0.4}[hidden])
    >>> pace.begin(30)
    >>> for _ in range(3):
    ...     pace.step()
    >>> pace.seconds({30: 10, 120: 10})  # 1.25 s for each step, and four times as much
    62.5
    """

    def __init__(self, now: Callable[[], float], trial: Callable[[int], float]) -> None:
        self._now, self._trial = now, trial
        self._trials: dict[int, float] = {}
        self._measured: dict[int, float] = {}
        self.begin(0)

    def begin(self, hidden: int) -> None:
        """Measure a size from its first step on."""
        self._hidden, self._n_steps, self._since = hidden, 0, 0.0

    def step(self) -> None:
        """Count a step of the size in training; the first one is a warm-up."""
        if self._n_steps:
            self._measured[self._hidden] = (self._now() - self._since) / self._n_steps
        else:
            self._since = self._now()
        self._n_steps += 1

    @property
    def is_measured(self) -> bool:
        """Whether any size is measured yet."""
        return bool(self._measured)

    def seconds(self, n_steps: Mapping[int, int]) -> float:
        """Return an estimate for numbers of steps by size."""
        return sum(n * self._seconds_per_step(hidden) for hidden, n in n_steps.items() if n)

    def _seconds_per_step(self, hidden: int) -> float:
        if hidden not in self._measured:
            known, seconds = next(reversed(self._measured.items()))
            by_trial = self._tried(hidden), self._tried(known)
            return seconds * by_trial[0] / by_trial[1] if all(by_trial) else seconds
        return self._measured[hidden]

    def _tried(self, hidden: int) -> float:
        """Return the seconds of a trial step; the time of the trial counts for no size."""
        if hidden not in self._trials:
            begin = self._now()
            self._trials[hidden] = self._trial(hidden)
            self._since += self._now() - begin
        return self._trials[hidden]
