"""What several commands share."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich import progress
from rich.console import Console
from rich.table import Table

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Words
from seqray.cli.terminal import can_show
from seqray.explain.text import shortened
from seqray.extraction.run_folder import open_run
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.formats.automaton_file import open_wa
from seqray.util.arrays import FloatArray
from seqray.util.files import check_writable, nulled, writing

automaton_argument = click.argument("automaton", metavar="RUN|WA")
rank_option = click.option(
    "--rank",
    type=click.IntRange(min=1),
    help="Number of states, for a run folder.  [default: the run's choice]",
)


def open_automaton(path: str | os.PathLike[str], rank: int | None) -> WeightedAutomaton:
    """Open a run folder or an automaton file, at a rank."""
    path = os.fspath(path).removeprefix("wa:")
    if Path(path).is_dir():
        run = open_run(path)
        return run.best() if rank is None else run.automaton(rank)
    if rank is not None:
        raise click.BadParameter(
            f"{path} is no run folder, so its states stand in no order of importance",
            param_hint="--rank",
        )
    return open_wa(path)


class _Console(Console):
    """A console that lets a closed pipe be what it is, and does not end the program itself."""

    def on_broken_pipe(self) -> None:
        """Hand the error on: `seqray.cli.main` ends quietly then."""
        raise  # noqa: PLE0704 - rich calls this while it handles a BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return what tables are printed on: words and paths are shown as they are, never as markup."""
    return _Console(stderr=stderr, markup=False, emoji=False)


class Bar:
    """A bar on the terminal that says what is being done, and how much of it; a `Progress`."""

    def __init__(self, bar: progress.Progress, title: str) -> None:
        self._bar = bar
        self._task = bar.add_task(title, total=None, unit="answers")

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done, and how much there is."""
        self._bar.update(self._task, completed=done, total=total)

    def phase(self, name: str, unit: str) -> None:
        """Show something else, that has just begun."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=None, unit=unit)


@contextmanager
def progress_bar(title: str) -> Iterator[Bar]:
    """Show a bar on the terminal (on standard error), and nothing where there is none."""
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.completed:,.0f} {task.fields[unit]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console(stderr=True), transient=True) as bar:
        yield Bar(bar, title)


@contextmanager
def notes() -> Iterator[None]:
    """Show what the library logs, warnings and estimates, on standard error in the block."""

    class Echo(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            what = "Note" if record.levelno >= logging.WARNING else "Estimate"
            click.echo(f"{what}: {record.getMessage()}", err=True)

    logger, handler = logging.getLogger("seqray"), Echo(logging.INFO)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def show_fidelity(fidelity: Fidelity, title: str) -> None:
    """Print one fidelity as a table."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("metric", style="cyan", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("±", justify="right", no_wrap=True)
    table.add_column("meaning", style="dim")
    for name, value in fidelity.as_dict().items():
        low, high = fidelity.intervals.get(name, (math.nan, math.nan))
        reach = math.nan if math.isnan(high - low) else max(high - value, value - low)
        sure = "" if math.isnan(reach) else f"{reach:.2g}"
        table.add_row(name, show_number(value, 5), sure, MEANINGS[name])
    terminal = console()
    terminal.print(table)
    terminal.print(
        f"on {fidelity.n_words:,} words with {fidelity.n_prefixes:,} prefixes; ± 95 % "
        "confidence interval",
        style="dim",
    )


def titled(title: str) -> Table:
    """Return a table that is wide enough for its title."""
    return Table(title=title, title_justify="left", min_width=len(title))


def show_ranks(table: FidelityTable, ranks: list[int], best: int) -> None:
    """Print a few ranks of a table side by side, the chosen one marked."""
    # Where nothing predicts, ranks are chosen by the first of these that there is.
    errors = ["weight_agreement"] if "ndcg5" not in table.fidelities[0] else []
    if "total_variation" not in table.fidelities[0]:  # there is no room for more
        errors.append("relative_error")
    names = [
        name
        for name in (
            "ndcg5",
            "total_variation",
            "perplexity_ratio",
            "kl_per_symbol",
            "elsewhere",
            "zeros",
            *errors,
        )
        if name in table.fidelities[0]
    ]
    n_words = table.fidelities[0].n_words
    shown = titled(f"Fidelity by rank, on {n_words:,} held-out words")
    shown.add_column("states", justify="right")
    for name in names:
        shown.add_column(name, justify="right")
    for rank in ranks:
        fidelity = table.at(rank)
        cells = [show_number(fidelity[name], 4) for name in names]
        mark, style = ("→ ", "bold green") if rank == best else ("", "")
        shown.add_row(f"{mark}{rank}", *cells, style=style)
    console().print(shown)
    if len(ranks) < len(table):
        click.echo("All ranks are in the run folder's fidelity.csv.")


def show_rounds(rounds: list[dict[str, Any]]) -> None:
    """Print how near to the box the automata of the largest rank came, round by round."""
    shown = titled("Fidelity by questions asked")
    for name in rounds[0]:
        shown.add_column(name, justify="right")
    for each in rounds:
        *counts, fidelity = each.values()
        shown.add_row(*(f"{count:,}" for count in counts), show_number(fidelity, 4))
    console().print(shown)


def show_searches(searches: list[dict[str, Any]]) -> None:
    """Print how far apart box and automaton were, search by search."""
    shown = titled("Where box and automaton disagree")
    for name in ("questions", "states", "distance"):
        shown.add_column(name, justify="right")
    shown.add_column("after the word", no_wrap=True)
    shown.add_column("then")
    for each in searches:
        counts = f"{each['questions']:,}", f"{each['states']}", show_number(each["distance"], 3)
        shown.add_row(*counts, shortened(each["after"], 24), each["then"])
    console().print(shown)
    click.echo(
        "One row per search: the questions asked until then, the most that an automaton of so many\n"
        "states was apart (total variation distance), and what came of it."
    )


def show_number(value: float, digits: int) -> str:
    """Write a number with a few digits, but never 1 for what is not 1."""
    text = f"{value:.{digits}g}"
    return f"{value:.9g}" if text == "1" and value != 1 else text


def show_comparison(words: Words, box: FloatArray, automaton: FloatArray) -> None:
    """Print what both say of the most probable words, and where their ratio is furthest from 1."""
    first = np.unique(words.unique()[1], return_index=True)[1]  # each distinct word once
    order = first[np.argsort(-box[first], kind="stable")]
    apart = np.abs(np.log(np.maximum(automaton, 1e-300)) - np.log(np.maximum(box, 1e-300)))
    shown = titled("The most probable words, and the largest ratio")
    shown.add_column("word")
    for name in ("box", "automaton"):
        shown.add_column(name, justify="right")
    worst = int(apart.argmax())
    for i in [*order[:6].tolist(), worst]:
        style = "red" if i == worst else ""
        word = words.alphabet.show(words[i])
        short = word if len(word) <= 40 else f"{word[:37]}…"
        shown.add_row(short, f"{box[i]:.4g}", f"{automaton[i]:.4g}", style=style)
    console().print(shown)


def some_ranks(max_rank: int, best: int, fitted: Iterable[int] = ()) -> list[int]:
    """Choose about ten ranks to show: those at which one was fitted, the best, the largest.

    Where none was fitted, small ones and ever larger ones.
    """
    wanted = {1, *(set(fitted) or {2, 3, 5, 8, 13, 21, 34, 55, 89}), best, max_rank}
    if max_rank <= 10:
        wanted = set(range(1, max_rank + 1))
    return sorted(rank for rank in wanted if rank <= max_rank)


def check_output(path: Path, endings: Iterable[str], where: str) -> None:
    """Refuse an output file with an unknown ending, or one that cannot be written."""
    if path.suffix not in endings:
        raise click.BadParameter(f"{path} ends in none of {' '.join(endings)}", param_hint=where)
    if not path.absolute().parent.is_dir():
        raise click.BadParameter(
            f"{path}: there is no folder {path.parent} to put it in", param_hint=where
        )
    check_writable(path)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all."""
    with writing(path) as fresh:
        fresh.write_text(text, "utf-8")


def json_line(document: dict[str, Any] | list[dict[str, Any]]) -> str:
    """Return a document as one line of JSON; what is not a finite number becomes null.

    Signs that standard output does not have are escaped, so that no symbol becomes another one.
    """
    document = nulled(document, lambda x: not math.isfinite(x))
    line = json.dumps(document, ensure_ascii=False)
    return line if can_show(line) else json.dumps(document)
