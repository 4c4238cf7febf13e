"""Event logs: one word per case, made of its activities in the order of time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, TypeAlias

import numpy as np

from seqray.automata.sampling import Sample
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.formats.events.columns import LIFECYCLE, EventColumns
from seqray.formats.events.event_table import EventTable
from seqray.formats.events.frames import read_frame, read_parquet
from seqray.formats.events.log_lines import read_lines
from seqray.formats.events.sequences import (
    FASTA_ENDINGS,
    FASTQ_ENDINGS,
    read_fasta,
    read_fastq,
)
from seqray.formats.events.text_tables import read_csv, read_json_lines
from seqray.formats.events.times import check_format
from seqray.formats.events.xes import read_xes
from seqray.formats.rare_symbols import group_rare, rare_symbol
from seqray.util.errors import FileError, SymbolError
from seqray.util.streams import open_stream

PathLike: TypeAlias = str | os.PathLike[str]
TableReader: TypeAlias = Callable[[IO[bytes], EventColumns], tuple[EventTable, EventColumns]]

BEGINNINGS: dict[bytes, TableReader] = {
    **dict.fromkeys([b"<", b"\xff\xfe", b"\xfe\xff"], read_xes),
    b"PAR1": read_parquet,
    b"{": read_json_lines,
}
"""How files begin, and what reads them; all others are CSV."""

TABLE_ENDINGS = (".xes", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class EventLog:
    """The words of an event log, and what they are made of.

    Parameters
    ----------
    words
        One word per case, in the order in which the cases first appear: its activities by time.
    cases
        What the case of each word is called.
    case, activity, time
        The columns or attributes that were read; ``time`` is None where the order of the file
        counted.
    rare
        The activities that became one symbol because they are rare, and how often each occurs.
    n_left_out
        How many lines of a plain log name no session.
    """

    words: Words
    cases: tuple[str, ...]
    case: str | None = None
    activity: str | None = None
    time: str | None = None
    rare: Mapping[Symbol, int] = field(default_factory=dict)
    n_left_out: int = 0

    def __repr__(self) -> str:
        return f"EventLog({len(self.cases)} cases, {self.words})"


def plain_words(given: Words | Sample | EventLog | Iterable[Word]) -> Words | Iterable[Word]:
    """Return the words of a sample or an event log; other words as they are."""
    return given.words if isinstance(given, Sample | EventLog) else given


def read_events(
    source: Any,
    *,
    case: str | None = None,
    activity: str | None = None,
    time: str | None = None,
    time_format: str | None = None,
    complete_only: bool = False,
    rare: int = 0,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
) -> EventLog:
    r"""Read an event log: one word per case, whose symbols are its activities, sorted by time.

    Parameters
    ----------
    source
        A file in XES, CSV, Parquet (extra ``events``) or JSON lines with one event each, compressed
        by gzip or not; a file of sequences in FASTA or FASTQ; or a frame of pandas or polars, a
        table of pyarrow, or a dictionary of columns.
    case, activity, time
        The names of the columns, or of the attributes in XES. By default they are guessed from
        their names, such as ``case:concept:name``, ``activity`` and ``timestamp``. Without a time
        column, and with ``time="none"``, events stay in the order of the file; so do events of
        the same time.
    time_format
        How times are written, as in `datetime.strptime`. By default numbers, or ISO 8601. Times
        without a zone are in UTC.
    complete_only
        Leave out events whose ``lifecycle:transition`` is not ``complete``, such as starts. By
        default all events count.
    rare
        Activities that occur less often become one symbol, ``"(rare)"``.
    alphabet
        The symbols, in their order; by default all activities, sorted. If it has a symbol
        ``"(rare)"``, that stands for every other activity.

    Examples
    --------
    >>> events = {"case": [1, 2, 1], "activity": ["pay", "ask", "ask"], "time": [5, 1, 2]}
    >>> log = read_events(events)
    >>> log.cases, list(log.words)
    (('1', '2'), [('ask', 'pay'), ('ask',)])
    """
    check_format(time_format)
    wanted = EventColumns(case, activity, time, time_format, LIFECYCLE if complete_only else None)
    events, columns = _read(source, wanted)
    words, grouped = group_rare(_words(events, source, alphabet), rare)
    return EventLog(
        words, tuple(events.cases), columns.case, columns.activity, columns.time, grouped
    )


def read_log_lines(
    path: PathLike,
    session: str,
    *,
    rare: int = 0,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
) -> EventLog:
    r"""Read a plain log: one word per session, whose symbols are the templates of its lines.

    Numbers, paths and hexadecimal names in a line are masked, as in
    ``"Receiving block <*> src: <*>"``.

    Parameters
    ----------
    path
        The log, compressed by gzip or not.
    session
        A regular expression that finds the name of the session in a line, its first group if it
        has one. A line that names several belongs to each, a line that names none to no word.
    rare, alphabet
        As in `read_events`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "server.log")
    ...     with open(path, "w") as file:
    ...         _ = file.write("9:01 job 7 begins\n9:02 job 8 begins\n9:03 job 7 ends\n")
    ...     log = read_log_lines(path, r"job (\d+)")
    >>> log.cases, list(log.words)
    (('7', '8'), [('job <*> begins', 'job <*> ends'), ('job <*> begins',)])
    """
    with open_stream(path, "a log") as stream:
        events, n_left_out = read_lines(stream, session)
    words, grouped = group_rare(_words(events, path, alphabet), rare)
    return EventLog(words, tuple(events.cases), session, rare=grouped, n_left_out=n_left_out)


def is_event_file(path: PathLike) -> bool:
    """Return whether a file holds events or sequences, by its name; JSON lines by the first one."""
    name = plain_name(path)
    if name.endswith(".jsonl"):
        with open_stream(path, "a file of events or words") as stream:
            return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return name.endswith((*TABLE_ENDINGS, *FASTA_ENDINGS, *FASTQ_ENDINGS))


def plain_name(path: PathLike) -> str:
    """Return the name of a file in small letters, without the ending of its compression."""
    return os.path.basename(os.fspath(path)).lower().removesuffix(".gz")


def _read(source: Any, wanted: EventColumns) -> tuple[EventTable, EventColumns]:
    if not isinstance(source, str | os.PathLike):
        return read_frame(source, wanted)
    with open_stream(source, "a file of events") as stream:
        first = stream.peek(64)[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
        if not first:
            raise FileError("the file is empty")
        return _reader(plain_name(source), first)(stream, wanted)


def _reader(name: str, first: bytes) -> TableReader:
    """Return what reads a file of this name that begins with these bytes."""
    if name.endswith(FASTA_ENDINGS):
        return lambda stream, wanted: (read_fasta(stream), EventColumns())
    if name.endswith(FASTQ_ENDINGS):
        return lambda stream, wanted: (read_fastq(stream), EventColumns())
    return next((read for start, read in BEGINNINGS.items() if first.startswith(start)), read_csv)


def _words(events: EventTable, source: Any, alphabet: Alphabet | Iterable[Symbol] | None) -> Words:
    """Return the words of events over an alphabet, by default of all activities, sorted."""
    if alphabet is None:
        if not events.activities:
            raise FileError(f"{_name(source)}: there is no event in it: expected at least one")
        alphabet = sorted(events.activities)
    alphabet = Alphabet.of(alphabet)
    by_text = {str(symbol): code for symbol, code in alphabet.codes.items()}
    other = alphabet.codes.get(rare_symbol(alphabet), -1)
    code_of = np.array([by_text.get(each, other) for each in events.activities], np.int32)
    codes, offsets = events.sorted_codes()
    if (code_of < 0).any():
        unknown = [events.activities[i] for i in np.flatnonzero(code_of < 0)]
        n_events = int((code_of[codes] < 0).sum())
        raise SymbolError(
            f"{_name(source)}: {n_events:,} events have activities outside the alphabet, the first "
            f"is {unknown[0]!r}, {len(unknown)} in all: expected only those of {alphabet}: leave "
            "these cases out, or train with rare symbols grouped (rare=…, --rare …), which stand "
            "for unknown ones, too"
        )
    return Words(alphabet, code_of[codes], offsets)


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else "the table"
