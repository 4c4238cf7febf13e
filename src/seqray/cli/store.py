"""``seqray store``."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.table import Table

from seqray.blackbox.queries.answer_cache import AnswerStore, CachedBox, default_store
from seqray.cli.common import json_line
from seqray.cli.console import console
from seqray.util.errors import ArgumentError, MissingFileError, SeqrayError
from seqray.util.formatting import megabytes
from seqray.util.memory import shown_bytes

DAY = 24 * 3600

file_argument = click.option(
    "--store",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of answers.  [default: SEQRAY_STORE, or a file in the user's cache]",
)
box_option = click.option(
    "--box", "pattern", metavar="TEXT", help="Only boxes whose name has this in it."
)


@click.group()
def command() -> None:
    """Look at the cached answers, remove or export them.

    Every query to a box that is not seqray's own is sent once: the answer is cached in a file, and
    every later run reads it from there.

    \b
    Examples:
      seqray store info
      seqray store export --box my-model > answers.jsonl
      seqray store prune --box my-model
      seqray store prune --older-than 90
    """


@command.command()
@file_argument
def info(path: Path | None) -> None:
    """Show which boxes have cached answers, and how many."""
    where = _existing(path)
    with AnswerStore(where) as store:
        boxes = store.boxes()
    parts = (where, *(where.with_name(where.name + more) for more in ("-wal", "-shm")))
    size = sum(part.stat().st_size for part in parts if part.exists())
    click.echo(f"{where}: {megabytes(size)}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("box", overflow="fold")
    for name in ("answers", "symbols", "single", "blocks", "days unused"):
        table.add_column(name, justify="left" if name == "answers" else "right", no_wrap=True)
    for box in boxes:
        unused = f"{(time.time() - box.used) / DAY:.0f}"
        counts = (f"{len(box.alphabet)}", f"{box.n_answers:,}", f"{box.n_blocks:,}", unused)
        table.add_row(box.fingerprint, box.kind, *counts)
    console().print(table)


@command.command()
@file_argument
@box_option
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    metavar="DAYS",
    help="Not used for this long.",
)
@click.option("--all", "everything", is_flag=True, help="All boxes.")
def prune(
    path: Path | None, pattern: str | None, older_than: float | None, everything: bool
) -> None:
    """Remove the answers of some boxes, and free the disk space."""
    if pattern is None and older_than is None and not everything:
        raise click.UsageError("nothing was chosen: add --box TEXT, --older-than DAYS or --all")
    where = _existing(path)
    with AnswerStore(where) as store:
        chosen = _matching(store.boxes(), pattern)
        if older_than is not None:
            chosen = [box for box in chosen if time.time() - box.used > older_than * DAY]
        store.forget(chosen)
        click.echo(
            f"Removed {sum(b.n_answers for b in chosen):,} answers and "
            f"{sum(b.n_blocks for b in chosen):,} blocks of {len(chosen)} boxes."
        )
        n_before = where.stat().st_size
        try:
            store.shrink()
        except KeyboardInterrupt:
            raise SeqrayError(
                "interrupted: the answers are removed, but the file is as large as before. Run the "
                "same command again to free the disk space"
            ) from None
    click.echo(f"Freed {shown_bytes(max(0, n_before - where.stat().st_size))} of disk space.")


@command.command()
@file_argument
@box_option
def export(path: Path | None, pattern: str | None) -> None:
    """Write answers to standard output, one line of JSON per word.

    Blocks, in which the answers of boxes with states are cached, are left out.
    """
    with AnswerStore(_existing(path)) as store:
        boxes = _matching(store.boxes(), pattern)
        if pattern is not None and not boxes:
            raise ArgumentError(f"no box has {pattern!r} in its name: see seqray store info")
        for box in boxes:
            for words, answers in store.answers(box):
                for word, row in zip(words, answers.tolist(), strict=True):
                    answer = row[0] if box.kind.startswith("value") else row
                    line = {"box": box.fingerprint, "word": list(word), "answer": answer}
                    click.echo(json_line(line))


def _existing(path: Path | None) -> Path:
    where = default_store() if path is None else path
    if not where.is_file():
        raise MissingFileError(f"{where}: there are no cached answers yet")
    return where


def _matching(boxes: list[CachedBox], pattern: str | None) -> list[CachedBox]:
    return [box for box in boxes if pattern is None or pattern in box.fingerprint]
