"""Tables in CSV files: the only place that reads and writes them."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, get_type_hints

from seqray.util.checksums import check_beside
from seqray.util.errors import FileError
from seqray.util.files import reading, writing
from seqray.util.streams import read_stream

Row = TypeVar("Row", bound=tuple[object, ...])


def read_rows(path: str | os.PathLike[str], kind: type[Row]) -> list[Row]:
    r"""Read a CSV file, compressed or not, whose columns are the fields of a named tuple.

    Parameters
    ----------
    path
        The file.
    kind
        The named tuple, of texts, whole numbers and floats. An empty float is not a number.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from typing import NamedTuple
    >>> class Size(NamedTuple):
    ...     problem: str
    ...     states: float
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "sizes.csv").write_text("problem,states\n3,25\nspice4,\n")
    ...     read_rows(Path(folder, "sizes.csv"), Size)
    [Size(problem='3', states=25.0), Size(problem='spice4', states=nan)]
    """
    check_beside(path)
    content = read_stream(path, "a table")
    kinds = get_type_hints(kind)
    with reading(path, "a table"):
        lines = csv.reader(content.decode().splitlines())
        header = next(lines, [])
        if header != list(kinds):
            raise FileError(
                f"expected the columns {', '.join(kinds)}, got {', '.join(header)[:200]!r}"
            )
        make: Callable[..., Row] = kind
        return [make(*_values(kinds, fields, at)) for at, fields in enumerate(lines, 2)]


def write_rows(
    path: str | os.PathLike[str], columns: Iterable[str], rows: Iterable[Iterable[object]]
) -> None:
    r"""Write a CSV file, whole or not at all; what is not a number is left empty.

    Floats are rounded to nine digits. For exact numbers, write `plain_csv_bytes`.

    Parameters
    ----------
    path
        The file. An existing one is replaced.
    columns
        Their names.
    rows
        In the order in which they are to stand.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(Path(folder, "sizes.csv"), ["problem", "states"], [("3", 25), ("4", None)])
    ...     Path(folder, "sizes.csv").read_text()
    'problem,states\n3,25\n4,\n'
    """
    with writing(path, with_checksum=True) as fresh:
        fresh.write_bytes(csv_bytes(columns, rows))


def csv_dicts(content: str) -> list[dict[str, str]]:
    r"""Return the rows of a CSV text, each a dictionary by the names of the columns.

    Examples
    --------
    >>> csv_dicts("rank,wer\n1,0.5\n")
    [{'rank': '1', 'wer': '0.5'}]
    """
    return list(csv.DictReader(content.splitlines()))


def plain_csv_bytes(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    r"""Return a table as CSV with all digits of every number.

    Examples
    --------
    >>> plain_csv_bytes(["rank", "wer"], [(1, 0.1 + 0.2)])
    b'rank,wer\n1,0.30000000000000004\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def csv_bytes(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return a table as CSV; floats have nine digits, what is not a number is left empty."""
    return plain_csv_bytes(columns, ([_shown(value) for value in row] for row in rows))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.9g}"
    return "" if value is None else str(value)


def _values(kinds: Mapping[str, type], fields: Sequence[str], at: int) -> Iterator[object]:
    if len(fields) != len(kinds):
        raise FileError(f"line {at}: expected {len(kinds)} fields, got {len(fields)}")
    for (name, kind), field in zip(kinds.items(), fields, strict=True):
        try:
            yield math.nan if kind is float and not field else kind(field)
        except ValueError:
            raise FileError(
                f"line {at}: {name}: expected a {kind.__name__}, got {field!r}"
            ) from None
