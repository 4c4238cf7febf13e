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
from seqray.automata.deterministic import is_deterministic
from seqray.automata.purpose import Purpose
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Words
from seqray.cli.console import console
from seqray.cli.terminal import can_show
from seqray.extraction.conditional.parts import ConditionalRound, CounterexampleSearch
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.result import Extraction
from seqray.extraction.run_folder import open_run
from seqray.extraction.settings import CONDITIONAL
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.decisions import DecisionFidelity
from seqray.fidelity.intervals import MIN_WORDS, seldom_seen, why_no_interval
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.table import (
    EXACT_TOLERANCE,
    Fidelity,
    FidelityTable,
    main_metrics,
    readable_rank,
)
from seqray.fidelity.word_metrics import MAX_ROUNDING
from seqray.formats.automaton_file import for_purpose, open_wa
from seqray.util.arrays import FloatArray
from seqray.util.files import check_writable, nulled
from seqray.util.formatting import (
    counted,
    page_percent,
    shortened,
    significant,
    significant_but_one,
)

automaton_argument = click.argument("automaton", metavar="RUN|WA")
rank_option = click.option(
    "--rank",
    type=click.IntRange(min=1),
    help="Number of states, for a run folder.  [default: the run's choice]",
)
for_option = click.option(
    "--for",
    "purpose",
    type=click.Choice([each.value for each in Purpose]),
    help="Which automaton of a run folder. copying: the most faithful one, which is the largest "
    "copy if there are copies. reading: that of the rank chosen there; --rank names another.  "
    "[default: copying if there are copies, else reading]",
)


def wanted_purpose(source: Extraction | WeightedAutomaton, named: str | None) -> Purpose:
    """Return the purpose of --for; by default copying, but of a run without copies reading."""
    if named is not None:
        return Purpose(named)
    is_plain_run = isinstance(source, Extraction) and not source.copies
    return Purpose.READING if is_plain_run else Purpose.COPYING


def open_source(path: str | os.PathLike[str]) -> Extraction | WeightedAutomaton:
    """Open a run folder, with automata of every rank, or an automaton file."""
    path = os.fspath(path).removeprefix("wa:")
    return open_run(path) if Path(path).is_dir() else open_wa(path)


def at_rank(
    source: Extraction | WeightedAutomaton,
    rank: int | None,
    path: str | os.PathLike[str],
    purpose: Purpose = Purpose.READING,
) -> WeightedAutomaton:
    """Return the automaton of a rank, by default the run's choice for a purpose.

    Only a run folder has ranks. A rank that was named and not fitted is warned of.
    """
    if isinstance(source, Extraction):
        if rank is None:
            return source.best(purpose=purpose)
        automaton = source.automaton(rank)
        _warn_if_not_fitted(source, rank)
        return automaton
    if rank is not None:
        raise click.BadParameter(
            f"{os.fspath(path).removeprefix('wa:')} is no run folder: its states stand in no order "
            "of importance. Leave out --rank",
            param_hint="--rank",
        )
    return for_purpose(source, purpose)


def _warn_if_not_fitted(extraction: Extraction, rank: int) -> None:
    """Say that the automaton of a rank was not fitted, what it loses, and which near it were."""
    table = extraction.fidelity
    fitted = sorted({*table.ranks} & {*(extraction.settings.fitted_ranks or ())})
    smaller = [each for each in fitted if each < rank][-1:]
    larger = [each for each in fitted if rank < each][:1]
    is_exact = table[rank].score >= 1 - EXACT_TOLERANCE
    if is_exact or rank in fitted or not (near := smaller + larger):
        return
    lost = {each: significant(table[each]["kl_per_symbol"], 2) for each in (rank, *near)}
    some = " and ".join(f"{each} (loses {lost[each]})" for each in near)
    click.echo(
        f"Warning: rank {rank} was not fitted: its automaton is as the SVD made it, and loses "
        f"{lost[rank]} bits per symbol. The nearest that {'were' if near[1:] else 'was'} fitted: "
        f"{some}.",
        err=True,
    )


def described_size(automaton: WeightedAutomaton) -> str:
    """Say how large an automaton is; a structured one is a copy, and its cost is said, too."""
    if is_deterministic(automaton):
        return counted(automaton.n_states, "deterministic state")
    states = counted(automaton.n_states, "state")
    if not isinstance(automaton, StructuredAutomaton):
        return states
    return f"copy of {states}, {automaton.cost_per_symbol:,} multiplications per symbol"


def show_fidelity(
    fidelity: Fidelity, title: str, source: str | None = None, *, only_main: bool = False
) -> None:
    """Print one fidelity: what is lost in bits, and a table of all metrics, or of the main ones.

    ``source`` says which words it was measured on; by default only how many.
    """
    terminal = console()
    terminal.print(title, style="bold", highlight=False)
    for line in _loss_in_words(fidelity):
        terminal.print(line, highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("metric", style="cyan", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("±", justify="right", no_wrap=True)
    table.add_column("meaning", style="dim")
    shown = {*main_metrics(fidelity)} if only_main else {*fidelity}
    for name in filter(shown.__contains__, fidelity):
        value = significant_but_one(fidelity[name], 5)
        table.add_row(name, value, _reach(fidelity, name), MEANINGS[name])
    terminal.print(table)
    source = source or f"{fidelity.n_words:,} words"
    terminal.print(
        f"on {source} with {fidelity.n_prefixes:,} prefixes; ± 95 % confidence interval",
        style="dim",
    )
    if fidelity.intervals:
        terminal.print(
            f"for words like these. What fewer than 1 in {seldom_seen(fidelity.n_words):,} words "
            "show may be missing among them, and is not in the intervals.",
            style="dim",
        )


def _reach(fidelity: Fidelity, name: str) -> str:
    """Write how far the interval of a metric reaches, nothing where it has none."""
    if name not in fidelity.intervals:
        return ""
    value, (low, high) = fidelity[name], fidelity.intervals[name]
    reach = max(high - value, value - low)
    return "" if math.isnan(reach) else f"{reach:.2g}"


def _loss_in_words(fidelity: Fidelity) -> list[str]:
    """Say how much an automaton loses; nothing where next symbols were not compared."""
    if isinstance(fidelity, DecisionFidelity):
        agreed = page_percent(fidelity["agreement"])
        return [
            f"It gives {agreed} of the words the class that the box gives them,",
            f"on words of up to {fidelity.max_length} symbols. Longer words were not compared.",
        ]
    if "kl_per_symbol" not in fidelity:
        return []
    symbol, word = (
        " ± ".join(filter(None, [significant(fidelity[name], 3), _reach(fidelity, name)]))
        for name in ("kl_per_symbol", "kl_per_word")
    )
    own = significant(fidelity["entropy_per_symbol"], 3)
    lines = [f"It loses {symbol} bits per symbol of {own},", f"and {word} bits per word."]
    if "kl_per_symbol" not in fidelity.intervals and fidelity.n_words >= MIN_WORDS:
        lost = fidelity["kl_per_symbol"]
        hint = ": see seqray evaluate --seed" if lost > MAX_ROUNDING else ""
        lines.append(f"({why_no_interval(lost, fidelity.n_words)}{hint}.)")
    return lines


def titled(title: str) -> Table:
    """Return a table that is wide enough for its title."""
    return Table(title=title, title_justify="left", min_width=len(title))


def show_ranks(table: FidelityTable, ranks: list[int], best: int, source: str) -> None:
    """Print a few ranks of a table side by side, the chosen one marked.

    ``source`` says which words they were compared on.
    """
    first = table.fidelities[0]
    names = main_metrics(first)
    shown = titled(f"Fidelity by rank, on {first.n_words:,} {source}")
    shown.add_column("states", justify="right")
    for name in names:
        shown.add_column(name, justify="right")
    for rank in ranks:
        fidelity = table.at(rank)
        cells = [significant_but_one(fidelity[name], 4) for name in names]
        mark, style = ("→ ", "bold green") if rank == best else ("", "")
        shown.add_row(f"{mark}{rank}", *cells, style=style)
    console().print(shown)
    if "entropy_per_symbol" in first:
        own = significant(first["entropy_per_symbol"], 3)
        click.echo(f"kl_per_symbol: the bits that are lost per symbol, of {own} that one has.")
    if len(ranks) < len(table):
        click.echo("All ranks are in the run folder's fidelity.csv.")


def show_copies(copies: Sequence[Copy], source: str) -> None:
    """Print one row per copy, the last one marked: it is the most faithful.

    ``source`` says which words they were compared on.
    """
    shown = titled(f"Copies, on {copies[0].fidelity.n_words:,} {source}")
    for name in ("states", "multiplications", "size", "kl_per_symbol", "ndcg5"):
        shown.add_column(name, justify="right")
    for copy in copies:
        metrics = [significant_but_one(copy.fidelity[n], 4) for n in ("kl_per_symbol", "ndcg5")]
        mark, style = ("→ ", "bold green") if copy is copies[-1] else ("", "")
        size = f"{significant(copy.n_bytes / 1e6, 2)} MB"
        shown.add_row(f"{mark}{copy.n_states:,}", f"{copy.cost:,}", size, *metrics, style=style)
    console().print(shown)
    click.echo(
        "multiplications: the most to read one symbol; an automaton of rank 100 takes 10,000.\n"
        "evaluate and convert use the marked copy, draw, explain and explore the marked rank."
    )


def show_rounds(rounds: Sequence[HankelRound | ConditionalRound]) -> None:
    """Print the fidelity of the automaton of largest rank after each round of queries."""
    shown = titled("Fidelity by queries")
    names = [each.name for each in fields(rounds[0]) if each.name not in ("score", "ndcg5")]
    for name in (*names, "score"):
        shown.add_column("queries" if name == "questions" else name, justify="right")
    for each in rounds:
        counts = [f"{getattr(each, name):,}" for name in names]
        shown.add_row(*counts, significant_but_one(each.score, 4))
    console().print(shown)
    click.echo(
        "One row per round. score: the fidelity score on held-out words, 1 for a perfect copy."
    )


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
    """Return about ten ranks to show: those that are fitted, the best and the largest."""
    wanted = {1, *CONDITIONAL.fitted_ranks, *fitted, best, max_rank}
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


def say_interrupted(answers: Path | None) -> None:
    """Say what the same command does after Ctrl-C; ``answers`` is the file of cached ones."""
    again = "starts from the beginning" if answers is None else "sends only the missing queries"
    click.echo(f"Interrupted: the same command {again}.", err=True)


def json_line(document: dict[str, Any] | list[dict[str, Any]]) -> str:
    """Return a document as one line of JSON; what is not a finite number becomes null.

    Signs that standard output does not have are escaped, so that no symbol becomes another one.
    """
    document = nulled(document, lambda x: not math.isfinite(x))
    line = json.dumps(document, ensure_ascii=False)
    return line if can_show(line) else json.dumps(document)


def propose_rank(extraction: Extraction, n_states: int, verb: str) -> None:
    """Where there are many states, name the best rank that can be looked at, and how near it is.

    ``verb`` says what the command does with it.
    """
    table = extraction.fidelity
    small = readable_rank(table, n_states)
    if small is not None:
        click.echo(
            f"{n_states} states are many to look at. --rank {small} {verb} {small}, with a "
            f"fidelity score of {table[small].score:.4g}; 1 is a perfect copy."
        )
