"""Which columns of a table hold the case, the activity and the time of events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seqray.util.errors import ArgumentError

FILE_ORDER = "none"
"""What to write for the time column to keep the order of the file."""

CASE_NAMES = (
    *("case:concept:name", "case id", "case", "case identifier", "case number", "case key"),
    *("trace id", "trace", "session id", "session"),
)
ACTIVITY_NAMES = (
    *("concept:name", "activity", "activity name", "activity id", "event", "event name"),
    *("event id", "event type", "action", "task", "key"),
)
TIME_NAMES = (
    *("time:timestamp", "timestamp", "time", "date time", "complete timestamp", "complete time"),
    *("event time", "event timestamp", "start timestamp", "start time", "end time", "date", "when"),
)
LIFECYCLE = "lifecycle:transition"
LIFECYCLE_NAMES = (LIFECYCLE, "lifecycle", "transition")


@dataclass(frozen=True)
class EventColumns:
    """The names of the columns, or of the attributes of a XES file, that words are made of.

    Parameters
    ----------
    case, activity, time
        None where they are to be guessed. A time of ``"none"`` keeps the order of the file.
    time_format
        How times are written, as in `datetime.strptime`, if not as in ISO 8601.
    lifecycle
        Where events say whether they start or complete an activity, `LIFECYCLE` in a XES file;
        None if that does not matter. In a table it is guessed.
    """

    case: str | None = None
    activity: str | None = None
    time: str | None = None
    time_format: str | None = None
    lifecycle: str | None = None

    @property
    def names(self) -> tuple[str | None, str | None, str | None, str | None]:
        """The names of the case, activity, time and lifecycle."""
        return self.case, self.activity, self.time, self.lifecycle

    def resolved(self, columns: Sequence[str]) -> EventColumns:
        """Return the same with what was to be guessed, or raise an error that lists the columns.

        >>> EventColumns(activity="what").resolved(["Case ID", "what", "@timestamp"])
        EventColumns(case='Case ID', activity='what', time='@timestamp', time_format=None, \
lifecycle=None)
        """
        for name, column in (("case", self.case), ("activity", self.activity), ("time", self.time)):
            is_order = name == "time" and column == FILE_ORDER
            if column is not None and column not in columns and not is_order:
                raise ArgumentError(
                    f"there is no {name} column {column!r}: expected one of {_listed(columns)}"
                )
        case, activity, time = self.case, self.activity, self.time
        case = _guess("case", CASE_NAMES, columns) if case is None else case
        activity = _guess("activity", ACTIVITY_NAMES, columns) if activity is None else activity
        time = _first(TIME_NAMES, columns) if time is None else time
        time = None if time == FILE_ORDER else time
        lifecycle = None if self.lifecycle is None else _first(LIFECYCLE_NAMES, columns)
        for column in (case, activity, time, lifecycle):
            n_columns = sum(each == column for each in columns)
            if column is not None and n_columns > 1:
                raise ArgumentError(
                    f"{n_columns} columns are called {column!r}: expected one: rename the others"
                )
        return replace(self, case=case, activity=activity, time=time, lifecycle=lifecycle)


def _guess(name: str, known: Sequence[str], columns: Sequence[str]) -> str:
    column = _first(known, columns)
    if column is None:
        raise ArgumentError(
            f"no column looks like the {name} of events: expected a name such as {known[0]!r} or "
            f"{known[1]!r}, got {_listed(columns)}: name it ({name}=…, on the command line "
            f"--{name} …)"
        )
    return column


def _first(known: Sequence[str], columns: Sequence[str]) -> str | None:
    by_name = {_plain(column): column for column in reversed(columns)}
    return next((by_name[_plain(name)] for name in known if _plain(name) in by_name), None)


def _plain(name: object) -> str:
    """Return a name without what may differ; pandas allows numbers as names."""
    return re.sub(r"[\W_]", "", str(name).lower())


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(map(repr, columns[:20]))
    return f"{shown}, … {len(columns)} in all" if len(columns) > 20 else shown
