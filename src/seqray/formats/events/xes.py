"""Event logs in XES (IEEE 1849), read in one pass.

A file may not declare a document type, so it can neither define entities nor name other files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import IO
from xml.parsers import expat

from seqray.formats.events.columns import FILE_ORDER, EventColumns
from seqray.formats.events.event_table import EventTable, EventTableBuilder, completes
from seqray.formats.events.times import TimeColumn
from seqray.util.errors import FileError

NAME, TIME = "concept:name", "time:timestamp"
PIECE_BYTES = 2**18
MAX_TAG_BYTES = 2**24
"""A tag that is longer is refused: a parser would have to keep all of it."""


def read_xes(stream: IO[bytes], wanted: EventColumns) -> tuple[EventTable, EventColumns]:
    """Read a XES log; each trace is a case, in the order of the file.

    Parameters
    ----------
    stream
        The file.
    wanted
        The attributes to read: ``case`` of a trace, the others of an event.

    Returns
    -------
    events, columns
        Without a time where no event has one. A trace without a name is called by its number.
        Events outside of traces belong to no case, and are left out.
    """
    columns = EventColumns(
        wanted.case or NAME,
        wanted.activity or NAME,
        None if wanted.time == FILE_ORDER else wanted.time or TIME,
        wanted.time_format,
        wanted.lifecycle,
    )
    log = _LogReader(columns)
    try:
        while piece := stream.read(PIECE_BYTES):
            log.feed(piece)
        log.parser.Parse(b"", True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter: encodings
        raise FileError(f"not XES, or damaged: {error}") from error
    if not log.has_times and wanted.time is None:
        log.events.times, columns = None, replace(columns, time=None)
    return log.events.table(), columns


class _LogReader:
    """Handlers of the parser, and what they have read so far."""

    def __init__(self, columns: EventColumns) -> None:
        self.columns = columns
        self.events = EventTableBuilder(TimeColumn(columns.time_format) if columns.time else None)
        self.has_times = False
        self._keys = frozenset(filter(None, (columns.activity, columns.time, columns.lifecycle)))
        self._depth = self._n_bytes = 0
        self._in_trace = self._in_event = False
        self._event: dict[str, str] = {}
        self.parser = expat.ParserCreate()
        self.parser.ordered_attributes = True  # lists are faster than dictionaries
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse

    def feed(self, piece: bytes) -> None:
        """Parse the next piece of the file."""
        self._n_bytes += len(piece)
        self.parser.Parse(piece, False)
        if self._n_bytes - self.parser.CurrentByteIndex > MAX_TAG_BYTES:
            raise FileError(
                f"line {self.parser.CurrentLineNumber}: a tag or text is longer than "
                f"{MAX_TAG_BYTES:,} bytes: not XES, or damaged"
            )

    def _refuse(self, *declared: object) -> None:
        raise FileError(
            f"line {self.parser.CurrentLineNumber}: a document type (<!DOCTYPE …>) is not read, "
            "for it could name other files: remove it"
        )

    def _start(self, name: str, attributes: list[str]) -> None:
        # log is at depth 1, a trace at 2, its attributes and events at 3, attributes of events
        # at 4; what is deeper are attributes of attributes.
        self._depth += 1
        if self._depth == 4:
            if attributes and attributes[0] == "key":  # it nearly always stands first
                if attributes[1] in self._keys and self._in_event:
                    self._event[attributes[1]] = _value(attributes, "value")
            elif self._in_event and (key := _value(attributes, "key")) in self._keys:
                self._event[key] = _value(attributes, "value")
        elif self._depth == 3 and self._in_trace:
            if _local(name) == "event":
                self._in_event, self._event = True, {}
            elif _value(attributes, "key") == self.columns.case:
                self.events.cases[-1] = _value(attributes, "value").strip()
        elif self._depth == 2 and _local(name) == "trace":
            self._in_trace = True
            self.events.cases.append("")
        elif self._depth == 1 and _local(name) != "log":
            raise FileError(f"not XES: expected the element <log>, got <{name[:80]}>")

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._depth == 2 and self._in_event:
            self._in_event = False
            self._add(self._event)
        elif self._depth == 1 and self._in_trace:
            self._in_trace = False
            cases = self.events.cases
            cases[-1] = cases[-1] or str(len(cases))

    def _add(self, event: dict[str, str]) -> None:
        columns = self.columns
        if columns.lifecycle and not completes(event.get(columns.lifecycle, "")):
            return
        time = event.get(columns.time, "") if columns.time else ""
        self.has_times |= bool(time)
        at, case = self.parser.CurrentLineNumber, len(self.events.cases) - 1
        self.events.add(case, event.get(columns.activity or "", ""), time, at)


def _value(attributes: list[str], name: str) -> str:
    """Return the value of an attribute in a list of names and values, empty if there is none."""
    return dict(zip(attributes[::2], attributes[1::2], strict=True)).get(name, "")


def _local(name: str) -> str:
    return name.rpartition(":")[2]
