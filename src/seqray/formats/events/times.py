"""Times of events, as numbers to sort by."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

EPOCH = datetime(1970, 1, 1)
UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class TimeColumn:
    """The times of events, read one after the other; the first one says how they are written.

    Parameters
    ----------
    time_format
        How times are written, as in `datetime.strptime`. By default they are numbers, or dates in
        ISO 8601.

    Examples
    --------
    >>> times = TimeColumn(None)
    >>> times.append("1970-01-01T01:00:00+01:00")
    >>> times.append("1970/01/01 00:00:01.5")
    >>> times.numbers()
    array([      0, 1500000], dtype=int64)
    """

    def __init__(self, time_format: str | None = None) -> None:
        self._format = time_format
        self._numbers: array[Any] = array("q")
        self._read: Callable[[str], float] | None = None

    @property
    def expected(self) -> str:
        """How times have to be written, for messages."""
        if self._format is not None:
            return f"the form {self._format!r}"
        if self._read is None:
            return "numbers, or ISO 8601 such as 2011-04-13T14:02:31+02:00"
        is_number = self._read is number
        return f"{'a number' if is_number else 'ISO 8601'}, as the times before it"

    def append(self, text: str) -> None:
        """Read one more time; raise a ValueError if it is none."""
        if self._read is None:
            read = self._reader(text)
            read(text)
            self._read = read
        number = self._read(text)
        if isinstance(number, float) and self._numbers.typecode == "q":
            self._numbers = array("d", self._numbers)
        self._numbers.append(number)

    def numbers(self) -> IntArray | FloatArray:
        """Return the times: microseconds since 1970 in UTC, or the numbers as they stand there."""
        return np.array(self._numbers)

    def _reader(self, first: str) -> Callable[[str], float]:
        if self._format is not None:
            return self._by_format
        try:
            number(first)
        except ValueError:
            return microseconds
        return number

    def _by_format(self, text: str) -> int:
        assert self._format is not None
        return _since_epoch(datetime.strptime(text, self._format))


def number(text: str) -> float:
    """Return a time that is a number, whole if it can be.

    >>> number("1322150400000000001"), number("0.5")
    (1322150400000000001, 0.5)
    """
    try:
        return int(text)
    except ValueError:
        value = float(text)
    if math.isnan(value):
        raise ValueError(f"{text!r} is no time")
    return value


def microseconds(text: str) -> int:
    """Return the microseconds since 1970 of a time in ISO 8601; without a zone it is in UTC.

    >>> microseconds("1970-01-01T00:00:01Z"), microseconds("1970/01/01 00:00:01")
    (1000000, 1000000)
    """
    try:
        return _since_epoch(datetime.fromisoformat(text))
    except ValueError:
        if text[4:5] != "/":
            raise
    return _since_epoch(datetime.fromisoformat(text.replace("/", "-")))


def _since_epoch(time: datetime) -> int:
    return (time - (EPOCH if time.tzinfo is None else UTC_EPOCH)) // MICROSECOND


def check_format(time_format: str | None) -> None:
    """Refuse a format of times that has no fields, or unknown ones.

    >>> check_format("%d.%m.%Y")
    >>> check_format("dd.mm.yyyy")
    Traceback (most recent call last):
    seqray.ArgumentError: time format 'dd.mm.yyyy': expected fields such as %d/%m/%Y ...
    """
    if time_format is None:
        return
    try:
        sample = UTC_EPOCH.strftime(time_format)
        datetime.strptime(sample, time_format)
        is_format = sample != time_format
    except (ValueError, OverflowError, RecursionError, re.error):  # the last: a field twice
        is_format = False
    if not is_format:
        raise ArgumentError(
            f"time format {time_format!r}: expected fields such as %d/%m/%Y %H:%M:%S, each once"
        )
