"""What several commands share."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Words
from seqray.cli.console import console
from seqray.cli.terminal import can_show
from seqray.extraction.conditional.parts import ConditionalRound, CounterexampleSearch
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.result import Extraction
from seqray.extraction.run_folder import open_run
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.formats.automaton_file import open_wa
from seqray.util.arrays import FloatArray
from seqray.util.files import check_writable, nulled
from seqray.util.formatting import shortened, significant_but_one

automaton_argument = click.argument("automaton", metavar="RUN|WA")
rank_option = click.option(
    "--rank",
    type=click.IntRange(min=1),
    help="Number of states, for a run folder.  [default: the run's choice]",
)


def open_source(path: str | os.PathLike[str]) -> Extraction | WeightedAutomaton:
    """Open a run folder, with automata of every rank, or an automaton file."""
    path = os.fspath(path).removeprefix("wa:")
    return open_run(path) if Path(path).is_dir() else open_wa(path)


def open_automaton(path: str | os.PathLike[str], rank: int | None) -> WeightedAutomaton:
    """Open a run folder or an automaton file, and return the automaton of a rank."""
    return at_rank(open_source(path), rank, path)


def at_rank(
    source: Extraction | WeightedAutomaton, rank: int | None, path: str | os.PathLike[str]
) -> WeightedAutomaton:
    """Return the automaton of a rank, by default the run's choice; only a run folder has ranks."""
    if isinstance(source, Extraction):
        return source.best() if rank is None else source.automaton(rank)
    if rank is not None:
        raise click.BadParameter(
            f"{os.fspath(path).removeprefix('wa:')} is no run folder: its states stand in no order "
            "of importance. Leave out --rank",
            param_hint="--rank",
        )
    return source


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
        table.add_row(name, significant_but_one(value, 5), sure, MEANINGS[name])
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
    # Where the box does not predict, ranks are chosen by the first of these that it has.
    errors = ["weight_agreement"] if "ndcg5" not in table.fidelities[0] else []
    if "total_variation" not in table.fidelities[0]:  # the terminal has no room for more
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
        cells = [significant_but_one(fidelity[name], 4) for name in names]
        mark, style = ("→ ", "bold green") if rank == best else ("", "")
        shown.add_row(f"{mark}{rank}", *cells, style=style)
    console().print(shown)
    if len(ranks) < len(table):
        click.echo("All ranks are in the run folder's fidelity.csv.")


def show_rounds(rounds: Sequence[HankelRound | ConditionalRound]) -> None:
    """Print the fidelity of the automaton of largest rank after each round of queries."""
    shown = titled("Fidelity by queries")
    names = [each.name for each in fields(rounds[0]) if each.name != "score"]
    for name in (*names, "score"):
        shown.add_column("queries" if name == "questions" else name, justify="right")
    for each in rounds:
        counts = [f"{getattr(each, name):,}" for name in names]
        shown.add_row(*counts, significant_but_one(each.score, 4))
    console().print(shown)


def show_searches(searches: Sequence[CounterexampleSearch]) -> None:
    """Print the largest distance between box and automaton, search by search."""
    shown = titled("Where box and automaton disagree")
    for name in ("queries", "states", "distance"):
        shown.add_column(name, justify="right")
    shown.add_column("after the word", no_wrap=True)
    shown.add_column("then")
    for each in searches:
        counts = (
            f"{each.questions:,}",
            f"{each.states}",
            significant_but_one(each.distance, 3),
        )
        shown.add_row(*counts, shortened(each.after, 24), each.then.value)
    console().print(shown)
    click.echo(
        "One row per search: the queries until then, the largest total variation distance between\n"
        "the box and an automaton with so many states, and what came of it."
    )


def show_comparison(words: Words, box: FloatArray, automaton: FloatArray) -> None:
    """Print both weights of the most probable words, and of the word with the largest ratio."""
    first = np.unique(words.unique()[1], return_index=True)[1]  # each distinct word once
    order = first[np.argsort(-box[first], kind="stable")]
    ratios = np.abs(np.log(np.maximum(automaton, 1e-300)) - np.log(np.maximum(box, 1e-300)))
    shown = titled("The most probable words, and the largest ratio")
    shown.add_column("word")
    for name in ("box", "automaton"):
        shown.add_column(name, justify="right")
    worst = int(ratios.argmax())
    for i in [*order[:6].tolist(), worst]:
        style = "red" if i == worst else ""
        short = shortened(words.alphabet.show(words[i]), 40)
        shown.add_row(short, f"{box[i]:.4g}", f"{automaton[i]:.4g}", style=style)
    console().print(shown)


def some_ranks(max_rank: int, best: int, fitted: Iterable[int] = ()) -> list[int]:
    """Return about ten ranks to show: the fitted ones, the best and the largest.

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


def json_line(document: dict[str, Any] | list[dict[str, Any]]) -> str:
    """Return a document as one line of JSON; what is not a finite number becomes null.

    Signs that standard output does not have are escaped, so that no symbol becomes another one.
    """
    document = nulled(document, lambda x: not math.isfinite(x))
    line = json.dumps(document, ensure_ascii=False)
    return line if can_show(line) else json.dumps(document)
