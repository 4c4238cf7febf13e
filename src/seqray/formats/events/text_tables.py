"""Tables of events in text files: CSV, and one JSON object per line."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any

from seqray.formats.events.columns import EventColumns
from seqray.formats.events.event_table import EventRow, EventTable, collected
from seqray.util.errors import FileError

DELIMITERS = ",;\t|"


def read_csv(stream: IO[bytes], wanted: EventColumns) -> tuple[EventTable, EventColumns]:
    """Read a CSV file with one event per row.

    Parameters
    ----------
    stream
        The file, in UTF-8. Its first row names the columns, and shows what stands between them: a
        comma, semicolon, tab or bar.
    wanted
        The columns to read.
    """
    with io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        first = text.readline()
        delimiter = max(DELIMITERS, key=first.count)
        rows = csv.reader(chain([first], text), delimiter=delimiter, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
            columns = wanted.resolved(header)
            return collected(_csv_rows(rows, header, columns), columns), columns
        except csv.Error as error:
            raise FileError(f"line {rows.line_num}: not CSV, or damaged: {error}") from error


def _csv_rows(rows: Any, header: list[str], columns: EventColumns) -> Iterator[EventRow]:
    """Yield the values of each event, with its line."""
    n_columns = len(header)
    # The value of a column that is not read is the empty text behind the last one.
    case, activity, time, lifecycle = (
        n_columns if name is None else header.index(name) for name in columns.names
    )
    for row in rows:
        if len(row) != n_columns:
            if not row:
                continue
            raise FileError(
                f"line {rows.line_num}: expected {n_columns} fields, as in the first line, got "
                f"{len(row)}: complete the line, and put values that hold a separator in quotes"
            )
        row.append("")
        yield rows.line_num, row[case], row[activity], row[time], row[lifecycle]


def read_json_lines(stream: IO[bytes], wanted: EventColumns) -> tuple[EventTable, EventColumns]:
    """Read a file with one event per line, a JSON object; the first one names the columns."""
    with io.TextIOWrapper(stream, "utf-8-sig") as text:
        objects = _objects(text)
        first = next(objects)  # `read_events` knows that there is one
        columns = wanted.resolved(list(first[1]))
        rows = (_json_row(at, each, columns) for at, each in chain([first], objects))
        return collected(rows, columns), columns


def _json_row(at: int, event: dict[str, Any], columns: EventColumns) -> EventRow:
    case, activity, time, lifecycle = (
        "" if name is None else as_text(event.get(name)) for name in columns.names
    )
    return at, case, activity, time, lifecycle


def _objects(lines: IO[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"line {at}: not a line of JSON: {error}") from error
        if not isinstance(event, dict):
            raise FileError(f"line {at}: expected an object with an event, got {line[:80].strip()}")
        yield at, event


def as_text(value: object) -> str:
    """Return a value as CSV would have it, empty if there is none.

    >>> [as_text(value) for value in ("a", 3, 3.0, 0.5, None, float("nan"))]
    ['a', '3', '3', '0.5', '', '']
    """
    is_missing = value is None or type(value).__name__ in ("NAType", "NaTType")  # pandas
    if is_missing or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
