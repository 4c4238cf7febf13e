"""``seqray extract``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import seqray
from seqray.automata.words import Words
from seqray.cli.boxes import (
    box_list,
    interruptible,
    name_option,
    open_box,
    option_option,
    store_option,
    store_path,
)
from seqray.cli.common import (
    notes,
    progress_bar,
    show_ranks,
    show_rounds,
    show_searches,
    some_ranks,
)
from seqray.cli.terminal import box_prints_to_stderr
from seqray.extraction.parameters import BASES
from seqray.formats.run_files import check_run_target
from seqray.util.errors import RankError, StopReason
from seqray.util.redaction import redacted

HELP = """Ask a black box for its answers and extract weighted automata of every rank.

The run folder keeps the configuration, what was asked about, the singular values, automata of
every rank and their fidelity on held-out words. All later commands open it.

\b
BOX is one of:
{boxes}

\b
Examples:
  seqray extract demo -o run
  seqray extract rnn:model.safetensors -o run
  seqray extract rnn:model.safetensors -o run --target 0.99
  seqray extract rnn:model.safetensors -o run --counterexamples 3
  seqray extract rnn:model.safetensors -o run --method paper --rank 20
  seqray extract wa:24.pautomac_model.txt -o run --method weighted --prefixes 400
  seqray extract http://localhost:8000 -o run --budget 100000 -O timeout=60

Every answer of a box that is not seqray's own is kept, see `seqray store --help`: after an
interruption, run the same command again, and only what is missing is asked. Ctrl-C once finishes
the batch and extracts from what is known by then; twice stops at once.
"""


@click.command(help=HELP.format(boxes=box_list()))
@click.argument("box")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Run folder.")
@click.option(
    "--method",
    type=click.Choice(["auto", "conditional", "weighted", "paper"]),
    default="auto",
    show_default=True,
    help="conditional: how contexts go on, for boxes that predict next symbols. weighted: blocks "
    "of words' weights, every prefix counts the same. paper: raw blocks, uniform basis. auto: the "
    "first of these that the box allows.",
)
@click.option(
    "--basis",
    metavar="sampled|grown|uniform|FILE",
    help="Where the words come from: the box; words that weigh much in smaller blocks; probability; or "
    "a file of words.  [default: sampled where the box predicts next symbols, else grown; uniform "
    "if the method is paper]",
)
@click.option(
    "--prefixes",
    type=click.IntRange(1),
    help="How many to ask about.  [default: 800; 1500 contexts]",
)
@click.option(
    "--suffixes",
    type=click.IntRange(1),
    help="How many to ask about, or columns of contexts.  [default: 800; 250 columns]",
)
@click.option("--max-rank", type=click.IntRange(1), default=100, show_default=True)
@click.option(
    "--rank",
    default="auto",
    show_default=True,
    metavar="auto|N",
    help="The number of states that later commands use. auto: the smallest whose loss on "
    "held-out words is within 0.0001 of the best.",
)
@click.option(
    "--max-length", type=click.IntRange(1), help="Longest word drawn; longer ones are cut."
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    metavar="QUESTIONS",
    help="The most words, prefixes or steps to ask; the basis is made small enough. Without it, "
    "words beyond 100 million are refused.",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="The longest time to ask; the automaton is made of what is known by then.",
)
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="CLOSENESS",
    help="Ask little first, then more, until NDCG5 on held-out words is this high; where the box "
    "does not predict next symbols, 0.9 means that weights are off by a tenth.",
)
@click.option(
    "--counterexamples",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="TIMES",
    help="Search so many times for words on which box and automaton disagree, and learn from them: "
    "for what hardly ever comes up and matters all the same, such as a backdoor. Each time costs "
    "as much as the first asking, or more. For boxes that predict next symbols.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How often to ask the same of a box that answers differently each time.",
)
@name_option
@store_option
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(
    box: str,
    output: Path,
    method: str,
    basis: str | None,
    prefixes: int | None,
    suffixes: int | None,
    max_rank: int,
    rank: str,
    max_length: int | None,
    budget: int | None,
    seconds: float | None,
    target: float | None,
    counterexamples: int,
    repeat: int,
    name: str | None,
    store: str | None,
    options: tuple[str, ...],
    seed: int,
) -> None:
    """Extract."""
    wanted = _rank(rank)
    limits = {"--max-rank": max_rank, "--prefixes": prefixes}
    if method in ("weighted", "paper"):  # contexts have more columns than suffixes
        limits["--suffixes"] = suffixes
    for option, limit in limits.items():
        if wanted is not None and limit is not None and wanted > limit:
            raise click.BadParameter(
                f"{wanted} is more than {limit}, which {option} allows", param_hint="--rank"
            )
    check_run_target(output)
    opened = open_box(box, options)
    opened.alphabet.to_json()  # refuses symbols that a run folder cannot hold
    answers = store_path(box, opened, store)
    source: str | Words | None = basis
    if basis is not None and basis not in BASES:
        if not Path(basis).exists():
            raise click.BadParameter(
                f"expected {', '.join(BASES)} or a file of words, and there is no file {basis!r}",
                param_hint="--basis",
            )
        source = seqray.read_words(basis, alphabet=opened.alphabet)
    with (
        notes(),
        interruptible() as stop,
        box_prints_to_stderr(),
        progress_bar("asking the box") as progress,
    ):
        found = seqray.extract(
            opened,
            n_prefixes=prefixes,
            n_suffixes=suffixes,
            max_rank=max_rank,
            method=method,
            basis=source,
            max_length=max_length,
            store=answers,
            budget=budget,
            time_limit=seconds,
            target=target,
            counterexamples=counterexamples,
            repeat=repeat,
            stop=stop,
            seed=seed,
            progress=progress,
        )
    chosen = found.best_rank() if wanted is None or wanted > found.max_rank else wanted
    about = {"box": redacted(box)} if name is None else {"box": redacted(box), "name": name}
    seqray.save_run(found, output, rank=chosen, about=about)
    settings = found.settings
    click.echo(_asked(settings))
    if answers is not None:
        click.echo(f"The answers are kept in {answers}.")
    if len(settings.get("rounds", ())) > 1:
        show_rounds(settings["rounds"])
    if settings.get("counterexamples"):
        show_searches(settings["counterexamples"])
    ranks = some_ranks(found.max_rank, chosen, settings.get("fitted_ranks", ()))
    show_ranks(found.fidelity, ranks, chosen)
    if wanted is not None and wanted > found.max_rank:
        raise RankError(
            f"rank {wanted} is above {found.max_rank}, the rank of the block; "
            f"the answers are not lost: {output} was saved with rank {chosen}"
        )
    click.echo(f"Run folder: {output}    next: seqray draw {output} -o automaton.svg")
    if found.stop_reason is StopReason.INTERRUPTED:
        again = "begins anew" if answers is None else "asks what is missing"
        click.echo(f"Interrupted: the same command {again}.", err=True)
        click.get_current_context().exit(130)


def _asked(settings: Mapping[str, Any]) -> str:
    """Say what was asked, and how long it took."""
    rows, columns = "prefixes", f"{settings['suffixes']:,} suffixes"
    if "columns" in settings:
        rows, columns = "contexts", f"{settings['columns']:,} columns"
    what = {"states": "steps", "next symbols": "prefixes"}.get(settings["asked"])
    what = what or ("prefixes" if "columns" in settings else "words")
    way, seconds = settings["asked"], settings["seconds"]
    said = (
        f"Asked {settings['questions']:,} {what} ({settings['prefixes']:,} {rows} × {columns}, "
        f"{settings['basis']}) {way if way.startswith('as ') else f'by {way}'} in "
        f"{seconds.get('basis', 0) + seconds.get('fill', 0):.1f} s"
    )
    return (
        f"{said}, then fitted automata in {seconds['fit']:.1f} s."
        if "fit" in seconds
        else f"{said}."
    )


def _rank(text: str) -> int | None:
    if text == "auto":
        return None
    # Not `isdigit`, which is also true of "²", and no longer than `int` reads.
    if not (text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise click.BadParameter(
            f"expected 'auto' or a number from 1, got {text!r}", param_hint="--rank"
        )
    return int(text)
