"""What commands that query a black box share: its options, its answer cache, and Ctrl-C."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np

import seqray
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Words
from seqray.blackbox.guided import GuideLike, guide_of, guided
from seqray.blackbox.protocol import BlackBox, allowed_length, max_length_of
from seqray.blackbox.queries.answer_cache import default_store
from seqray.blackbox.queries.oracle import QueryMode, fingerprint_of, query_mode
from seqray.blackbox.recorded_box import open_recorded
from seqray.blackbox.registry import ADAPTERS, is_cached, known_black_boxes
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, read_word_file
from seqray.extraction.result import Extraction
from seqray.fidelity.reference import MAX_DRAWN_LENGTH, MAX_RANDOM_LENGTH
from seqray.util.errors import ArgumentError
from seqray.util.redaction import redacted

F = TypeVar("F", bound=Callable[..., Any])


def box_list() -> str:
    """Return the kinds of black boxes, for ``--help``."""
    known = known_black_boxes()
    width = max(map(len, known))
    return "\n".join(f"  {form:<{width}}  {what}" for form, what in known.items())


option_option = click.option(
    "-O",
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the box, such as timeout=60; may be given again. docs/boxes/ lists them.",
)

*FAST, LAST_FAST = [kind for kind, adapter in ADAPTERS.items() if not adapter.is_cached]

store_option = click.option(
    "--store",
    metavar="FILE|none",
    help="File of cached answers; no query is sent twice.  [default: SEQRAY_STORE, or a "
    f"file in the user's cache; none for {', '.join(FAST)} and {LAST_FAST}, which are fast]",
)


RECORDED = "recorded"
"""The value of --against that means the box that a run folder remembers."""

name_option = click.option(
    "--name", metavar="TEXT", help="What pages call the box.  [default: how BOX was written]"
)

guide_option = click.option(
    "--guide",
    metavar="REGEX|FILE",
    help="What a box that predicts may say: a regular expression over its symbols, such as "
    "'open (read | write)* close', or the file of an automaton (.json, .npz, .dot). All else has "
    "probability 0.",
)

executor_option = click.option(
    "--executor",
    metavar="N|dask|dask://HOST:PORT",
    help="Where the box is queried: in N processes of this machine (also processes:N), in a Dask "
    "cluster on this machine, or by the workers of a Dask scheduler; see docs/scaling.md.  "
    "[default: this process]",
)

max_length_option = click.option(
    "--max-length",
    type=click.IntRange(1),
    metavar="SYMBOLS",
    help="Longest word that is drawn from the box; longer words of a file are left out.  [default: "
    f"{MAX_DRAWN_LENGTH}, {MAX_RANDOM_LENGTH} at random, or the box's own limit]",
)


def read_box_words(
    path: Path, box: BlackBox, max_length: int | None, events: EventOptions
) -> Words:
    """Read a file of words without those that a box cannot read, and print how many they are."""
    words = _allowed_words(path, read_word_file(path, events, box.alphabet), box)
    longest = max_length_of(box) if max_length is None else allowed_length(box, max_length, 0)
    if longest is None or not (words.lengths > longest).any():
        return words
    short = words[np.flatnonzero(words.lengths <= longest)]
    if not len(short):
        raise ArgumentError(
            f"{path}: all {len(words):,} words are longer than {longest} symbols, "
            + ("the box's own limit" if max_length is None else "the --max-length")
            + ": expected shorter ones"
        )
    click.echo(
        f"Note: {len(words) - len(short):,} of {len(words):,} words in {path} are left out: they "
        f"are longer than {longest} symbols.",
        err=True,
    )
    return short


def _allowed_words(path: Path, words: Words, box: BlackBox) -> Words:
    """Leave out words that the guide of a box forbids."""
    guide = guide_of(box)
    if guide is None or (is_allowed := guide.allows(words)).all():
        return words
    if not is_allowed.any():
        raise ArgumentError(
            f"{path}: the guide {guide} forbids all {len(words):,} words: expected some that it "
            "allows"
        )
    click.echo(
        f"Note: {len(words) - is_allowed.sum():,} of {len(words):,} words in {path} are left out: "
        f"the guide {guide} forbids them.",
        err=True,
    )
    return words[np.flatnonzero(is_allowed)]


def open_box(spec: str, options: tuple[str, ...] = (), guide: GuideLike | None = None) -> BlackBox:
    """Open a black box with options and a guide as they stand on the command line."""
    with box_prints_to_stderr():
        box = seqray.open_black_box(spec, **box_options(options))
    return box if guide is None else guided(box, guide)


def guide_for(
    source: Extraction | WeightedAutomaton, given: str | None, path: str
) -> GuideLike | None:
    """Return the guide that was given, or that of a run folder, and print that it is used."""
    if given is not None or not isinstance(source, Extraction):
        return given
    guide = source.settings.guide
    if guide is not None:
        click.echo(f"Note: the box is guided by {guide}, as {path} was.", err=True)
    return guide


def against_option(text: str) -> Callable[[F], F]:
    """Return the options --against, with what the box is for in its help, and --trust-run."""
    against = click.option("--against", "box", metavar="BOX|recorded", help=text)
    trust = click.option(
        "--trust-run",
        "trusts_run",
        is_flag=True,
        help="Open whatever box the run folder remembers, even if that starts a program or a "
        "connection. Only for run folders of people whom you trust.",
    )
    return lambda command: against(trust(command))


class AgainstBox(NamedTuple):
    """The box that an automaton is compared with."""

    spec: str
    box: BlackBox
    max_length: int | None
    """The longest word to draw; None: as long as the box, or the default, allows."""


def open_against(
    given: str | None,
    options: tuple[str, ...],
    source: Extraction | WeightedAutomaton,
    path: str,
    *,
    trusts_run: bool,
    max_length: int | None = None,
    guide: str | None = None,
) -> AgainstBox:
    """Open the box that --against names, or the one that a run folder remembers.

    Parameters
    ----------
    given
        The value of --against; None, like ``recorded``: the box that the run folder remembers.
    options
        The values of --option.
    source, path
        The run or automaton, and how its path was written.
    trusts_run
        The user's word that whatever the run folder remembers may be opened.
    max_length
        The value of --max-length; where it is not given, that of the run.
    guide
        The value of --guide; where it is not given, that of the run.
    """
    if given is not None and given != RECORDED:
        wanted = guide_for(source, guide, path)
        return AgainstBox(given, open_box(given, options, wanted), max_length)
    record = source.settings.recorded_box if isinstance(source, Extraction) else None
    if record is None or not isinstance(source, Extraction):
        reason = "its box was not opened by a specification, or an older seqray wrote it"
        what = reason if isinstance(source, Extraction) else "it is no run folder"
        raise click.UsageError(
            f"{path} does not say which box it is from ({what}): add --against BOX"
        )
    run, own = path.removeprefix("wa:"), box_options(options)
    with box_prints_to_stderr():
        spec, box = open_recorded(record, run, is_trusted=trusts_run, options=own)
    click.echo(f"Box: {redacted(spec)}, as {path} remembers it.", err=True)
    if (wanted := guide_for(source, guide, path)) is not None:
        box = guided(box, wanted)
    return AgainstBox(spec, box, max_length or source.settings.max_length)


def store_path(
    spec: str, box: BlackBox, store: str | None, *, is_long: bool = False
) -> Path | None:
    """Return the file in which the answers of a box are cached, or None.

    Of a box that is fast, answers are cached where the work is long all the same.
    """
    if store is not None:
        return None if store == "none" else Path(store)
    if not is_cached(spec) and not (is_long and query_mode(box) is QueryMode.STATES):
        return None
    try:
        fingerprint_of(box)
        box.alphabet.to_json()
    except ArgumentError as error:
        click.echo(f"Note: the answers are not cached: {error}", err=True)
        return None
    return default_store()


def box_options(texts: Iterable[str]) -> dict[str, Any]:
    """Read the values of --option."""
    return dict(map(_option, texts))


def _option(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise click.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint="--option")
    try:
        return name.replace("-", "_"), json.loads(value)
    except ValueError:
        return name.replace("-", "_"), value


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; the second one interrupts at once."""
    stop = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        click.echo("Finishing this batch; Ctrl-C again stops at once.", err=True)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
