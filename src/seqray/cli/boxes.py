"""What commands that query a black box share: its options, its answer cache, and Ctrl-C."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
import numpy as np

import seqray
from seqray.automata.words import Words
from seqray.blackbox.protocol import BlackBox, allowed_length, max_length_of
from seqray.blackbox.queries.answer_cache import default_store
from seqray.blackbox.queries.oracle import fingerprint_of
from seqray.blackbox.registry import ADAPTERS, is_cached, known_black_boxes
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, read_word_file
from seqray.fidelity.reference import MAX_DRAWN_LENGTH, MAX_RANDOM_LENGTH
from seqray.util.errors import ArgumentError


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


name_option = click.option(
    "--name", metavar="TEXT", help="What pages call the box.  [default: how BOX was written]"
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
    """Read a file of words without those that are too long for a box, and print how many."""
    words = read_word_file(path, events, box.alphabet)
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


def open_box(spec: str, options: tuple[str, ...] = ()) -> BlackBox:
    """Open a black box with options as they stand on the command line."""
    with box_prints_to_stderr():
        return seqray.open_black_box(spec, **dict(map(_option, options)))


def store_path(spec: str, box: BlackBox, store: str | None) -> Path | None:
    """Return the file in which the answers of a box are cached, or None."""
    if store is not None:
        return None if store == "none" else Path(store)
    if not is_cached(spec):
        return None
    try:
        fingerprint_of(box)
        box.alphabet.to_json()
    except ArgumentError as error:
        click.echo(f"Note: the answers are not cached: {error}", err=True)
        return None
    return default_store()


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
