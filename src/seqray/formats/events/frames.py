"""Tables of events in memory (pandas, polars, pyarrow, dictionaries), and Parquet files."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, repeat
from typing import IO, Any

import numpy as np

from seqray.formats.events.columns import EventColumns
from seqray.formats.events.event_table import EventRow, EventTable, collected
from seqray.formats.events.text_tables import as_text
from seqray.util.errors import ArgumentError, FileError, MissingExtraError, install_hint
from seqray.util.files import MAX_NUMBERS, too_many_numbers
from seqray.util.streams import check_growth

SAFE_PYARROW = (14, 0, 1)
"""The first version with which no Parquet file is known to run code (CVE-2023-47248)."""


def read_frame(frame: Any, wanted: EventColumns) -> tuple[EventTable, EventColumns]:
    """Read a table of events in memory, one event per row.

    Parameters
    ----------
    frame
        A frame of pandas or polars, a table of pyarrow, or a dictionary of columns.
    wanted
        The columns to read.
    """
    names = _column_names(frame)
    columns = wanted.resolved(names)
    rows = _rows([None if name is None else frame[name] for name in columns.names])
    return collected(rows, columns, "row"), columns


def read_parquet(stream: IO[bytes], wanted: EventColumns) -> tuple[EventTable, EventColumns]:
    """Read a Parquet file with one event per row; only the columns that are needed."""
    pyarrow, parquet = _load_pyarrow()
    source = stream if stream.seekable() else io.BytesIO(stream.read())
    try:
        file = parquet.ParquetFile(source)
        columns = wanted.resolved(file.schema_arrow.names)
        _check_size(file, source)
        # As in the file: a text that a million rows share is then kept once.
        shared = [name for name in (columns.case, columns.activity) if name is not None]
        file = parquet.ParquetFile(source, read_dictionary=shared)
        return collected(_parquet_rows(file, columns), columns, "row"), columns
    except (pyarrow.ArrowException, OSError) as error:
        raise FileError(f"not a Parquet file, or damaged: {error}") from error


def _load_pyarrow() -> tuple[Any, Any]:
    try:
        pyarrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError(
            f"reading Parquet files needs pyarrow: {install_hint('events')}, or save the table as "
            "CSV"
        ) from None
    if tuple(map(int, re.findall(r"\d+", pyarrow.__version__)[:3])) < SAFE_PYARROW:
        safe = ".".join(map(str, SAFE_PYARROW))
        raise MissingExtraError(
            f"pyarrow {pyarrow.__version__} lets a file run code when it is opened: expected "
            f"version {safe} or newer: pip install --upgrade 'pyarrow>={safe}'"
        )
    return pyarrow, parquet


def _check_size(file: Any, source: IO[bytes]) -> None:
    """Refuse a small file that promises a large table."""
    about = file.metadata
    if about.num_rows > MAX_NUMBERS:
        raise too_many_numbers("a table of events", about.num_rows)
    # Not by column: pyarrow 26 ends the process where what a file says of a column is damaged.
    n_bytes = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    check_growth(n_bytes, source.seek(0, io.SEEK_END))


def _parquet_rows(file: Any, columns: EventColumns) -> Iterator[EventRow]:
    first = 1
    for batch in file.iter_batches(columns=[name for name in columns.names if name is not None]):
        yield from _rows([None if n is None else batch[n] for n in columns.names], first)
        first += batch.num_rows


def _column_names(frame: Any) -> list[str]:
    """Return the names of the columns of a table of any kind."""
    if isinstance(frame, Mapping):
        return list(frame)
    names = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if names is None or not hasattr(frame, "__getitem__"):
        raise ArgumentError(
            f"expected a file of events, or a table of pandas, polars or pyarrow, got "
            f"{type(frame).__name__}"
        )
    return list(names)


def _rows(columns: Sequence[Any], first: int = 1) -> Iterator[EventRow]:
    """Yield the values of each event, with the number of its row."""
    case, activity, time, lifecycle = columns
    texts = [_texts(case), _texts(activity), _time_texts(time), _texts(lifecycle)]
    n_rows = {len(each) for each in texts if each is not None}
    if len(n_rows) != 1:
        raise ArgumentError(f"expected columns of one length, got {sorted(n_rows)} rows")
    return zip(count(first), *(repeat("") if each is None else each for each in texts))


def _texts(column: Any) -> list[str] | None:
    if column is None:
        return None
    if hasattr(column, "dictionary"):  # pyarrow
        texts = list(map(as_text, column.dictionary.to_pylist()))
        places = column.indices.to_pylist()
        if not all(at is None or 0 <= at < len(texts) for at in places):
            raise FileError("damaged: a value is none of the values that the file lists")
        return ["" if at is None else texts[at] for at in places]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(map(as_text, getattr(column, method)()))
    return list(map(as_text, column))


def _time_texts(column: Any) -> list[str] | None:
    """Return times as text, those that are dates in the table as numbers."""
    values = _array(column)
    if values.dtype.kind != "M":
        return _texts(column)
    numbers = list(map(str, values.astype(np.int64).tolist()))
    for at in np.flatnonzero(np.isnat(values)).tolist():
        numbers[at] = ""
    return numbers


def _array(column: Any) -> Any:
    """Return a column as an array, of datetime64 if it holds dates; they are in UTC then."""
    if getattr(getattr(column, "dtype", None), "kind", "") == "M" and hasattr(column, "dt"):
        return column.to_numpy(f"datetime64[{column.dt.unit}]")  # pandas, whatever the zone
    if hasattr(column, "to_pylist"):  # pyarrow
        return column.to_numpy(zero_copy_only=False)
    return column.to_numpy() if hasattr(column, "to_numpy") else np.array(column, object)
