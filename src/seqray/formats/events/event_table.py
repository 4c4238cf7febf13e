"""Events as arrays of numbers, whatever file they come from, and the words that they make."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from seqray.formats.events.columns import EventColumns
from seqray.formats.events.times import TimeColumn
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import FileError

EventRow: TypeAlias = tuple[int, str, str, str, str]
"""Where an event stands, and its case, activity, time and lifecycle transition."""


@dataclass(frozen=True)
class EventTable:
    """The events of a log, in the order of the file.

    Parameters
    ----------
    cases
        What the cases are called, in the order in which they first appear.
    activities
        The distinct activities, in any order.
    case_of, activity_of
        For each event, which of them.
    times
        Numbers to sort the events of a case by, or None to leave them in the order of the file.
    """

    cases: list[str]
    activities: list[str]
    case_of: IntArray
    activity_of: IntArray
    times: IntArray | FloatArray | None

    def sorted_codes(self) -> tuple[IntArray, IntArray]:
        """Return the activities of all cases, one after the other, and where each case begins.

        >>> case_of, activity_of, times = np.array([[0, 1, 0], [0, 0, 1], [5, 1, 2]])
        >>> events = EventTable(["1", "2"], ["a", "b"], case_of, activity_of, times)
        >>> events.sorted_codes()
        (array([1, 0, 0]), array([0, 2, 3]))
        """
        keys = (self.case_of,) if self.times is None else (self.times, self.case_of)
        order = np.lexsort(keys)  # stable: events of one time stay in the order of the file
        counts = np.bincount(self.case_of, minlength=len(self.cases))
        return self.activity_of[order], np.concatenate([[0], np.cumsum(counts)])


@dataclass
class MissingValues:
    """How many values of a kind are missing, and where the first one is."""

    what: str
    n_missing: int = 0
    first: object = None

    def add(self, at: object) -> None:
        """Count one."""
        if not self.n_missing:
            self.first = at
        self.n_missing += 1


@dataclass
class EventTableBuilder:
    """Collects events one after the other, in little memory.

    Parameters
    ----------
    times
        Reads the times, None where the order of the file counts.
    place
        What a number says where an event is: ``"line"`` or ``"row"``.
    """

    times: TimeColumn | None
    place: str = "line"
    cases: list[str] = field(default_factory=list)
    _by_name: dict[str, int] = field(default_factory=dict)
    _activities: dict[str, int] = field(default_factory=dict)
    _case_of: array[int] = field(default_factory=lambda: array("i"))
    _activity_of: array[int] = field(default_factory=lambda: array("i"))
    _missing: tuple[MissingValues, ...] = field(
        default_factory=lambda: tuple(map(MissingValues, ("case", "activity", "time")))
    )

    def case(self, name: str, at: int) -> int:
        """Return the number of the case of this name."""
        code = self._by_name.get(name)
        if code is None:
            name = name.strip()
            if not name:
                self._missing[0].add(at)
                return -1
            code = self._by_name.setdefault(name, len(self.cases))
            if code == len(self.cases):
                self.cases.append(name)
        return code

    def add(self, case: int, activity: str, time: str, at: int) -> None:
        """Add an event of a case; ``at`` says where it stands in the file."""
        code = self._activities.get(activity)
        if code is None:
            activity = activity.strip()
            if activity:
                code = self._activities.setdefault(activity, len(self._activities))
            else:
                self._missing[1].add(at)
                code = -1
        self._case_of.append(case)
        self._activity_of.append(code)
        if self.times is not None:
            self._add_time(time, at)

    def _add_time(self, time: str, at: int) -> None:
        assert self.times is not None
        if not time or time.isspace():
            self._missing[2].add(at)
            return
        try:
            self.times.append(time)
        except (ValueError, OverflowError):
            raise FileError(
                f"{self.place} {at}: {time[:80]!r} is no time: expected {self.times.expected}: say "
                "how they are written (time_format='%d/%m/%Y %H:%M', --time-format …), or keep the "
                "order of the file (time='none', --time none)"
            ) from None

    def table(self) -> EventTable:
        """Return all events, or raise an error if something is missing in some of them."""
        n_events = len(self._case_of)
        for missing in self._missing[: 2 if self.times is None else 3]:
            if missing.n_missing:
                order = ", or keep the order of the file (time='none', --time none)"
                raise FileError(
                    f"{missing.n_missing:,} of {n_events:,} events have no {missing.what}, the "
                    f"first in {self.place} {missing.first}: expected one in each: write it there, "
                    "or delete these events" + (order if missing.what == "time" else "")
                )
        return EventTable(
            self.cases,
            list(self._activities),
            np.array(self._case_of, np.int64),
            np.array(self._activity_of, np.int64),
            None if self.times is None else self.times.numbers(),
        )


def collected(rows: Iterable[EventRow], columns: EventColumns, place: str = "line") -> EventTable:
    """Return the events of rows; a case whose events are all left out stays.

    >>> rows = [(2, "1", "a", "", "start"), (3, "1", "a", "", ""), (4, "2", "b", "", "start")]
    >>> events = collected(rows, EventColumns("case", "activity", None, None, "lifecycle"))
    >>> events.cases, events.case_of
    (['1', '2'], array([0]))
    """
    events = EventTableBuilder(TimeColumn(columns.time_format) if columns.time else None, place)
    is_filtered = columns.lifecycle is not None
    for at, case, activity, time, transition in rows:
        number = events.case(case, at)
        if not is_filtered or completes(transition):
            events.add(number, activity, time, at)
    return events.table()


def completes(transition: str) -> bool:
    """Return whether an event completes its activity; one that does not say so does.

    >>> [completes(each) for each in ("COMPLETE", "", "start")]
    [True, True, False]
    """
    return transition.strip().lower() in ("", "complete")
