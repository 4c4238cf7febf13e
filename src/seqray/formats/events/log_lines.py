"""Plain logs: the template of each line is its key, and the lines of a session are a word."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import IO

from seqray.formats.events.columns import EventColumns
from seqray.formats.events.event_table import EventRow, EventTable, collected
from seqray.util.errors import ArgumentError, FileError

MASK = "<*>"
VARIABLE = re.compile(r"(?<!\S)([A-Za-z_.]+[=:])?(?:/\S*|\S*\d\S*|[a-fA-F]{8,})(?!\S)")
"""What differs from line to line: words with a digit, paths, and long hexadecimal numbers."""

REPEATED = re.compile(r"<\*>(?: <\*>)+")
NAMES_OF_DAYS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun"
BEGINNING = re.compile(rf"(?:(?:<\*>|{NAMES_OF_DAYS.replace(' ', '|')}) )+")
"""Dates, times and numbers of processes at the beginning of a line."""


def log_template(line: str) -> str:
    """Return the template of a line of a log: what stays when values are masked.

    Words with a digit, paths and long hexadecimal numbers become ``<*>``, several in a row one.
    Of ``name=value`` the name stays. What is masked at the beginning is left out: when it was.

    Examples
    --------
    >>> log_template("081109 203518 143 INFO dfs.DataNode: Receiving block blk_-16 src: /10.2.1.9")
    'INFO dfs.DataNode: Receiving block <*> src: <*>'
    >>> log_template("Nov 18 03:05:54 sshd[814]: Failed login user=root42")
    'Failed login user=<*>'
    """
    masked = VARIABLE.sub(rf"\g<1>{MASK}", " ".join(line.split()))
    masked = REPEATED.sub(MASK, masked)
    return BEGINNING.sub("", masked, count=1) if BEGINNING.match(masked) else masked


def read_lines(stream: IO[bytes], session: str) -> tuple[EventTable, int]:
    """Read a log whose lines name the session that they belong to.

    Parameters
    ----------
    stream
        The log, in UTF-8; what is not UTF-8 is replaced.
    session
        A regular expression that finds the name of the session, its first group if it has one. A
        line that names several belongs to each of them.

    Returns
    -------
    events, n_left_out
        The lines of sessions, and how many lines name none.
    """
    try:
        pattern = re.compile(session)
    except (re.error, OverflowError, RecursionError) as error:
        raise ArgumentError(
            f"session {session!r}: expected a regular expression such as 'blk_-?[0-9]+': {error}"
        ) from None
    rows = _LineRows(pattern)
    with io.TextIOWrapper(stream, "utf-8", "replace") as text:
        events = collected(rows.of(text), EventColumns())
    if not events.cases:
        raise FileError(
            f"no line names a session: expected text that {session!r} finds in a line: change it"
        )
    return events, rows.n_left_out


class _LineRows:
    """Makes rows of lines, and counts those without a session."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.n_left_out = pattern, 0

    def of(self, lines: IO[str]) -> Iterator[EventRow]:
        for at, line in enumerate(lines, 1):
            names = dict.fromkeys(hit[hit.re.groups and 1] for hit in self.pattern.finditer(line))
            names.pop("", None)
            names.pop(None, None)  # a group that was not part of the match
            if not names:
                self.n_left_out += not line.isspace()
                continue
            template = log_template(line)
            for name in names:
                yield at, name, template or MASK, "", ""
