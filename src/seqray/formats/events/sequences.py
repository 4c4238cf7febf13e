"""Biological sequences in FASTA and FASTQ: one word per record, every letter a symbol."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import IO

import numpy as np

from seqray.formats.events.event_table import EventTable
from seqray.util.errors import FileError

FASTA_ENDINGS = (".fasta", ".fa", ".fna", ".ffn", ".frn", ".faa")
FASTQ_ENDINGS = (".fastq", ".fq")
LETTERS = re.compile(rb"[A-Za-z*.-]*")

Record = tuple[str, bytes]


def read_fasta(stream: IO[bytes]) -> EventTable:
    r"""Read sequences in FASTA: a line ``>name …``, then lines of letters.

    Small letters become capitals. A letter is an activity, a record a case.

    Examples
    --------
    >>> import io
    >>> events = read_fasta(io.BytesIO(b">one first\nACg\nT\n>two\nA\n"))
    >>> events.cases, events.activities, events.activity_of
    (['one', 'two'], ['A', 'C', 'G', 'T'], array([0, 1, 2, 3, 0]))
    """
    return _table(_fasta_records(stream))


def read_fastq(stream: IO[bytes]) -> EventTable:
    r"""Read sequences in FASTQ: ``@name``, letters, ``+``, and as many signs of quality.

    The qualities are not used.

    Examples
    --------
    >>> import io
    >>> read_fastq(io.BytesIO(b"@one\nAC\nGT\n+\n!!\n@!\n")).activity_of
    array([0, 1, 2, 3])
    """
    return _table(_fastq_records(stream))


def _table(records: Iterable[Record]) -> EventTable:
    names: list[str] = []
    sequences: list[bytes] = []
    for at, (name, sequence) in enumerate(records, 1):
        names.append(name or str(at))
        sequences.append(sequence.upper())
    letters = np.frombuffer(b"".join(sequences), np.uint8)
    counts = np.bincount(letters, minlength=256)
    code_of = np.cumsum(counts > 0) - 1
    return EventTable(
        names,
        [chr(i) for i in np.flatnonzero(counts)],
        np.repeat(np.arange(len(names)), list(map(len, sequences))),
        code_of[letters],
        None,
    )


def _fasta_records(stream: IO[bytes]) -> Iterator[Record]:
    name: str | None = None
    parts: list[bytes] = []
    for at, line in enumerate(stream, 1):
        if line.startswith(b">"):
            if name is not None:
                yield name, b"".join(parts)
            name, parts = _name(line), []
        elif name is not None:
            parts.append(_letters(line, at))
        elif line.strip() and not line.startswith(b";"):  # old comments
            raise FileError(f"line {at}: expected '>' and a name at the beginning of FASTA")
    if name is None:
        raise FileError("there is no sequence in the file")
    yield name, b"".join(parts)


def _fastq_records(stream: IO[bytes]) -> Iterator[Record]:
    lines = enumerate(stream, 1)
    n_records = 0
    for at, line in lines:
        if not line.strip():
            continue
        if not line.startswith(b"@"):
            raise FileError(f"line {at}: expected '@' and a name at the beginning of a record")
        parts = [_letters(part, place) for place, part in takewhile(_is_sequence, lines)]
        letters, n_records = b"".join(parts), n_records + 1
        _skip_qualities(lines, len(letters), at)
        yield _name(line), letters
    if not n_records:
        raise FileError("there is no sequence in the file")


def _is_sequence(line: tuple[int, bytes]) -> bool:
    return not line[1].startswith(b"+")


def _skip_qualities(lines: Iterator[tuple[int, bytes]], n_letters: int, at: int) -> None:
    n_signs = 0
    while n_signs < n_letters:
        signs = next(lines, (0, b""))[1].strip()
        if not signs:
            break
        n_signs += len(signs)
    if n_signs != n_letters:
        raise FileError(
            f"line {at}: the record has {n_letters} letters and {n_signs} signs of quality: "
            "expected as many: cut short, or damaged"
        )


def _name(line: bytes) -> str:
    return b" ".join(line[1:].split()[:1]).decode("utf-8", "replace")


def _letters(line: bytes, at: int) -> bytes:
    letters = b"".join(line.split())
    if not LETTERS.fullmatch(letters):
        raise FileError(f"line {at}: expected letters of a sequence, got {line[:80]!r}")
    return letters
