"""``seqray extract``."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

import seqray
from seqray.automata.purpose import Purpose
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.protocol import BlackBox, Classifier, allowed_length
from seqray.blackbox.queries.oracle import QueryMode
from seqray.cli.boxes import (
    box_list,
    executor_option,
    guide_option,
    interruptible,
    name_option,
    open_box,
    option_option,
    store_option,
    store_path,
)
from seqray.cli.common import (
    say_interrupted,
    show_copies,
    show_ranks,
    show_rounds,
    show_searches,
    some_ranks,
)
from seqray.cli.console import notes, progress_bar
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, event_options, read_word_file
from seqray.extraction.classes.method import DEFAULT_LENGTH
from seqray.extraction.request import BASES
from seqray.extraction.result import Extraction, ExtractionSettings
from seqray.fidelity.objective import Objective
from seqray.formats.run_files import check_run_target, is_finished_run, is_run
from seqray.util.errors import ArgumentError, RankError, Stopped, StopReason
from seqray.util.memory import byte_count
from seqray.util.redaction import redacted

HELP = """Query a black box and extract weighted automata of every rank.

The run folder has the configuration, the words that were queried, the singular values, automata of
every rank and their fidelity on held-out words. Where no rank is near to a box that predicts, it
also has copies: automata of thousands of states that read a word fast. All later commands open it.

\b
BOX is one of:
{boxes}

\b
Examples:
  seqray extract demo -o run
  seqray extract rnn:model.safetensors -o run
  seqray extract rnn:model.safetensors -o run --target 0.99
  seqray extract rnn:model.safetensors -o run --for reading
  seqray extract rnn:model.safetensors -o run --max-cost 400
  seqray extract rnn:model.safetensors -o run --objective weights
  seqray extract rnn:model.safetensors -o run --counterexamples 3
  seqray extract rnn:model.safetensors -o run --guide 'open (read | write)* close'
  seqray extract rnn:model.safetensors -o run --method paper --rank 20
  seqray extract wa:24.pautomac_model.txt -o run --method weighted --prefixes 400
  seqray extract wa:large.npz -o run --method paper --prefixes 9000 --suffixes 9000 --memory 2GB
  seqray extract http://localhost:8000 -o run --budget 100000 -O timeout=60
  seqray extract python:my_model:box -o run --executor 8
  seqray extract hf:folder -o run --executor dask://scheduler:8786

Every answer of a box that is not seqray's own is cached, see `seqray store --help`: after an
interruption, run the same command again, and only the missing queries are sent. Ctrl-C once
finishes the batch and extracts from the answers so far, if these are enough for an automaton; twice
stops at once. A finished run that is in the run folder stays then: what there is goes beside it, to
RUN.interrupted.
"""


def _bytes(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Read a size such as 4GB."""
    if text is None:
        return None
    try:
        return byte_count("--memory", text)
    except ArgumentError as error:
        raise click.BadParameter(str(error).partition(": ")[2]) from None


@click.command(help=HELP.format(boxes=box_list()))
@click.argument("box")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Run folder.")
@click.option(
    "--method",
    type=click.Choice(["auto", "conditional", "weighted", "paper"]),
    default="auto",
    show_default=True,
    help="conditional: conditional blocks, for boxes that predict next symbols. weighted: Hankel "
    "blocks in which every prefix counts the same. paper: raw Hankel blocks, uniform basis. auto: "
    "the first of these that the box allows; weighted where the objective is weights.",
)
@click.option(
    "--basis",
    metavar="sampled|grown|uniform|FILE",
    help="Where prefixes and suffixes come from. sampled: words drawn from the box. grown: words "
    "of large weight in smaller blocks. uniform: random words. FILE: words of a file.  [default: "
    "sampled where the box predicts next symbols, else grown; uniform if the method is paper]",
)
@click.option(
    "--prefixes",
    type=click.IntRange(1),
    help="How many prefixes, or contexts.  [default: 800, in rounds up to that where the basis is "
    "grown; 1500 contexts]",
)
@click.option(
    "--suffixes",
    type=click.IntRange(1),
    help="How many suffixes, or columns of contexts.  [default: 800; 250 columns]",
)
@click.option("--max-rank", type=click.IntRange(1), default=100, show_default=True)
@click.option(
    "--rank",
    default="auto",
    show_default=True,
    metavar="auto|N",
    help="The number of states that later commands use. auto: the smallest whose fidelity score "
    "on held-out words is close to the best, see docs/method.md.",
)
@click.option(
    "--objective",
    type=click.Choice([each.value for each in Objective]),
    help="What ranks are chosen by. next: the divergence of next symbols. weights: the mean "
    "squared error of the weights of words; the default method is then weighted, of raw blocks "
    "over words that weigh much. log: the ratio of the two weights of a word. decisions: the "
    "agreement of decisions, for classifiers alone.  [default: decisions for a classifier, next "
    "where the box predicts next symbols, else log]",
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice([each.value for each in Purpose]),
    help="What the automaton is for. copying: also fit copies, where no rank is near to a box that "
    "predicts. reading: only automata of every rank.  [default: copying; reading with --rank N]",
)
@click.option(
    "--max-cost",
    type=click.IntRange(1),
    metavar="N",
    help="Most multiplications to read one symbol; an automaton of n states takes n², a copy the "
    "square of the states of one context.  [default: 4096 for copies]",
)
@click.option(
    "--max-states",
    type=click.IntRange(1),
    metavar="N",
    help="Most states of any automaton, copies included.",
)
@click.option(
    "--max-length", type=click.IntRange(1), help="Longest word drawn; longer ones are cut."
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    metavar="QUERIES",
    help="Most words, prefixes or steps to query; the basis is made small enough. Without it, more "
    "than 100 million words are refused.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop querying after this time; the automaton is made of the answers so far.",
)
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SCORE",
    help="Stop early once the fidelity score on held-out words reaches this value: 2 to the power "
    "of minus the bits lost per symbol, so that 0.99 means 0.0145 bits. Where the box does not "
    "predict next symbols, 0.9 means that weights are off by a tenth.",
)
@click.option(
    "--counterexamples",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="TIMES",
    help="Search this many times for words on which box and automaton disagree, and learn from "
    "them: for rare behaviour that matters, such as a backdoor. Each search costs as many queries "
    "as the first extraction, or more. For boxes that predict next symbols.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How often to send each query, for a box that answers differently each time.",
)
@click.option(
    "--memory",
    callback=_bytes,
    metavar="SIZE",
    help="Most memory that blocks and their SVD take, such as 4GB. Hankel blocks that would take "
    "more are filled on disk, in TMPDIR or /var/tmp; conditional blocks have fewer contexts.  "
    "[default: in memory, half of what is free, up to 4 GB]",
)
@guide_option
@name_option
@event_options
@store_option
@executor_option
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(**options: Any) -> None:
    """Extract."""
    _extract(ExtractOptions(**options))


@dataclass(frozen=True)
class ExtractOptions:
    """The arguments and options of the command, as click read them."""

    box: str
    output: Path
    method: str
    basis: str | None
    prefixes: int | None
    suffixes: int | None
    max_rank: int
    rank: str
    objective: str | None
    purpose: str | None
    max_cost: int | None
    max_states: int | None
    max_length: int | None
    budget: int | None
    time_limit: float | None
    target: float | None
    counterexamples: int
    repeat: int
    memory: int | None
    guide: str | None
    name: str | None
    store: str | None
    executor: str | None
    options: tuple[str, ...]
    events: EventOptions
    seed: int

    def wanted_rank(self) -> int | None:
        """Return the rank that --rank names, None for ``auto``; refuse one that cannot be."""
        wanted = _rank(self.rank)
        limits = {"--max-rank": self.max_rank, "--prefixes": self.prefixes}
        limits["--max-states"] = self.max_states
        limits["--max-cost"] = None if self.max_cost is None else math.isqrt(self.max_cost)
        if self.method in ("weighted", "paper"):  # contexts have more columns than suffixes
            limits["--suffixes"] = self.suffixes
        for option, limit in limits.items():
            if wanted is not None and limit is not None and wanted > limit:
                raise click.BadParameter(
                    f"{wanted} is more than {limit}, which {option} allows", param_hint="--rank"
                )
        return wanted

    def chosen_purpose(self) -> Purpose:
        """Return what --for names; who chooses a rank does not need copies."""
        is_ranked = self.wanted_rank() is not None
        return Purpose(self.purpose or (Purpose.READING if is_ranked else Purpose.COPYING))

    def basis_source(self, alphabet: Alphabet) -> str | Words | None:
        """Return the name of a basis, or the words of a file."""
        if self.basis is None or self.basis in BASES:
            self.events.check_unused("--basis")
            return self.basis
        if not Path(self.basis).exists():
            raise click.BadParameter(
                f"expected {', '.join(BASES)} or a file of words, and there is no file "
                f"{self.basis!r}",
                param_hint="--basis",
            )
        return read_word_file(Path(self.basis), self.events, alphabet)


def _extract(options: ExtractOptions) -> None:
    """Extract, save the run folder, and print what came of it."""
    wanted = options.wanted_rank()
    check_run_target(options.output)
    if is_run(options.output):
        click.echo(
            f"Note: {options.output} holds an earlier run, which is replaced at the end.", err=True
        )
    box = open_box(options.box, options.options, options.guide)
    box.alphabet.to_json()  # refuses symbols that a run folder cannot hold
    is_long = options.memory is not None
    answers = store_path(options.box, box, options.store, is_long=is_long)
    extraction = _extraction(options, box, answers)
    folder = _target(options.output, extraction)
    is_too_large = wanted is not None and wanted > extraction.max_rank
    chosen = extraction.best_rank() if wanted is None or is_too_large else wanted
    about = {"box": redacted(options.box)}
    if options.name is not None:
        about["name"] = options.name
    seqray.save_run(extraction, folder, rank=wanted if wanted == chosen else None, about=about)
    _show(extraction, chosen, answers)
    if is_too_large:
        raise RankError(
            f"rank {wanted} is above {extraction.max_rank}, the rank of the block; no answer is "
            f"lost: {folder} was saved with rank {chosen}"
        )
    click.echo(f"Run folder: {folder}    next: seqray draw {folder} -o automaton.svg")
    if isinstance(box, Classifier):
        click.echo(
            f"Or: seqray learn {redacted(options.box)} -o moore.json --max-length "
            f"{_drawn_length(options, box)}, a Moore machine, which is easier to read. The best "
            "length is that of the longest word that the box was trained on."
        )
    if extraction.stop_reason is StopReason.INTERRUPTED:
        if folder != options.output:
            click.echo(f"{options.output} still holds the earlier run; {folder} is new.", err=True)
        say_interrupted(answers)
        click.get_current_context().exit(130)


def _target(output: Path, extraction: Extraction) -> Path:
    """Return where to save a run: an interrupted one goes beside a finished one."""
    if extraction.stop_reason is not StopReason.INTERRUPTED:
        return output
    folder = output
    while is_finished_run(folder):
        if folder.name in ("", ".."):  # of the current folder, and of the one above it
            folder = Path(os.path.realpath(folder))
        folder = Path(f"{folder}.interrupted")
    return folder


def _drawn_length(options: ExtractOptions, box: Classifier) -> int:
    """Return the length of the longest word that the extraction of a classifier drew."""
    longest = allowed_length(box, options.max_length, DEFAULT_LENGTH)
    source = options.basis_source(box.alphabet)
    if isinstance(source, Words):
        longest = min(longest, int(source.lengths.max(initial=0)))
    return max(1, longest)


def _extraction(options: ExtractOptions, box: BlackBox, answers: Path | None) -> Extraction:
    """Return what was extracted; where there was not enough, say what became of the answers."""
    try:
        return _queried(options, box, answers)
    except Stopped as stopped:
        again = "no answer is cached, the same command starts from the beginning"
        if answers is not None:
            again = "cached answers are safe, the same command sends only the missing queries"
        raise Stopped(stopped.reason, f"{stopped}; {again}") from None


def _queried(options: ExtractOptions, box: BlackBox, answers: Path | None) -> Extraction:
    """Query the box, with a progress bar, until there is enough or Ctrl-C."""
    source = options.basis_source(box.alphabet)
    with (
        notes(),
        interruptible() as stop,
        box_prints_to_stderr(),
        progress_bar("querying the box") as progress,
    ):
        return seqray.extract(
            box,
            n_prefixes=options.prefixes,
            n_suffixes=options.suffixes,
            max_rank=options.max_rank,
            method=options.method,
            basis=source,
            max_length=options.max_length,
            store=answers,
            budget=options.budget,
            time_limit=options.time_limit,
            target=options.target,
            objective=options.objective,
            purpose=options.chosen_purpose(),
            max_cost=options.max_cost,
            max_states=options.max_states,
            counterexamples=options.counterexamples,
            repeat=options.repeat,
            memory=options.memory,
            stop=stop,
            executor=options.executor,
            seed=options.seed,
            progress=progress,
        )


def _show(extraction: Extraction, chosen: int, answers: Path | None) -> None:
    """Print how many queries there were, and how faithful the automata are."""
    settings = extraction.settings
    click.echo(_queries(settings))
    if answers is not None:
        click.echo(f"The answers are cached in {answers}.")
    if settings.rounds and len(settings.rounds) > 1:
        show_rounds(settings.rounds)
    if settings.counterexamples:
        show_searches(settings.counterexamples)
    ranks = some_ranks(extraction.max_rank, chosen, settings.get("fitted_ranks", ()))
    show_ranks(extraction.fidelity, ranks, chosen, extraction.compared_on)
    if extraction.copies:
        show_copies(extraction.copies, extraction.compared_on)
    for sentence in replace(extraction, settings=replace(settings, rank=chosen)).remarks:
        click.echo(sentence)


def _queries(settings: ExtractionSettings) -> str:
    """Say how many queries there were, of what kind, and how long they took."""
    assert settings.query_mode is not None  # it was set a moment ago
    rows, columns = "prefixes", f"{settings['suffixes']:,} suffixes"
    if "columns" in settings:
        rows, columns = "contexts", f"{settings['columns']:,} columns"
    mode, seconds = settings.query_mode, settings.seconds
    what = {QueryMode.STATES: "steps", QueryMode.PREFIXES: "prefixes"}.get(mode)
    what = what or ("prefixes" if "columns" in settings else "words")
    text = (
        f"Queried {settings['questions']:,} {what} ({settings['prefixes']:,} {rows} × {columns}, "
        f"{settings['basis']}) {'' if mode is QueryMode.AUTOMATON else 'by '}{mode.value} in "
        f"{seconds.get('basis', 0) + seconds.get('fill', 0):.1f} s"
    )
    fitted = f", then fitted automata in {seconds['fit']:.1f} s" if "fit" in seconds else ""
    return f"{text}{fitted}."


def _rank(text: str) -> int | None:
    if text == "auto":
        return None
    # Not `isdigit`, which is also true of "²", and no longer than `int` reads.
    if not (text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise click.BadParameter(
            f"expected 'auto' or a number from 1, got {text!r}", param_hint="--rank"
        )
    return int(text)
