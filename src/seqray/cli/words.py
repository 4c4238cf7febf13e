"""Reading files of words and events: the options that commands share, and what is said of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click

import seqray
from seqray.automata.words import Alphabet, Words
from seqray.formats.events.event_log import EventLog, is_event_file
from seqray.util.formatting import counted

Command = Callable[..., Any]


@dataclass(frozen=True)
class EventOptions:
    """The options of files of events, as click read them."""

    case: str | None = None
    activity: str | None = None
    time: str | None = None
    time_format: str | None = None
    complete_only: bool = False
    session: str | None = None

    def given(self) -> str | None:
        """Return the first option that was given, None if there was none."""
        names = (each.name for each in fields(self) if getattr(self, each.name))
        return next((f"--{name.replace('_', '-')}" for name in names), None)

    def check_unused(self, file_option: str) -> None:
        """Refuse options of files of events where there is no file."""
        if (option := self.given()) is not None:
            raise click.UsageError(f"{option} says how to read a file: add {file_option} FILE")


OPTIONS = (
    click.option("--case", metavar="COLUMN", help="Events: what case each belongs to."),
    click.option("--activity", metavar="COLUMN", help="Events: what happened, a symbol."),
    click.option(
        "--time",
        metavar="COLUMN|none",
        help="Events: when it happened; none keeps the order of the file.  [default of all three: "
        "guessed from the names of columns, and said]",
    ),
    click.option(
        "--time-format",
        metavar="FORMAT",
        help="Events: how times are written, such as '%d/%m/%Y %H:%M'.  [default: ISO 8601, or "
        "numbers]",
    ),
    click.option(
        "--complete-only",
        is_flag=True,
        help="Events: leave out those whose lifecycle:transition is not complete.",
    ),
    click.option(
        "--session",
        metavar="REGEX",
        help="Read a plain log: what names the session of a line, such as 'blk_-?[0-9]+'. The "
        "symbols are lines with numbers and paths masked.",
    ),
)


def event_options(command: Command) -> Command:
    """Add the options of files of events; the command gets them as one, ``events``."""

    @functools.wraps(command)
    def with_events(**options: Any) -> Any:
        given = {each.name: options.pop(each.name) for each in fields(EventOptions)}
        return command(**options, events=EventOptions(**given))

    for option in reversed(OPTIONS):
        with_events = option(with_events)
    return with_events


def read_word_file(path: Path, events: EventOptions, alphabet: Alphabet | None = None) -> Words:
    """Read a file of words or events, and print which columns were guessed."""
    if events.given() is None and not is_event_file(path):
        return seqray.read_words(path, alphabet=alphabet)
    log = _read_log(path, events, alphabet)
    if description := _described(log, events):
        click.echo(f"{path}: {description}.", err=True)
    return log.words


def _read_log(path: Path, events: EventOptions, alphabet: Alphabet | None) -> EventLog:
    if events.session is None:
        return seqray.read_events(
            path,
            case=events.case,
            activity=events.activity,
            time=events.time,
            time_format=events.time_format,
            complete_only=events.complete_only,
            alphabet=alphabet,
        )
    if (other := replace(events, session=None).given()) is not None:
        raise click.UsageError(
            f"--session reads a plain log, and {other} a table of events: leave out one of them"
        )
    return seqray.read_log_lines(path, events.session, alphabet=alphabet)


def _described(log: EventLog, events: EventOptions) -> str:
    """Say which columns were read, or how many lines were not; nothing of sequences."""
    if events.session is not None:
        lines = counted(log.n_left_out, "line")
        return f"{counted(len(log.cases), 'session')}; {lines} without one left out"
    if log.activity is None:
        return ""
    order = "in the order of the file" if log.time is None else f"sorted by {log.time!r}"
    if log.time is None and events.time is None:
        order += ", since no column looks like a time (--time COLUMN)"
    if log.case == log.activity:  # of XES: both are called concept:name
        return f"case {log.case!r} of traces, activity {log.activity!r} of events, {order}"
    return f"case {log.case!r}, activity {log.activity!r}, {order}"
