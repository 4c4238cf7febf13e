"""``seqray evaluate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

import seqray
from seqray.automata.stepper import predicts
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.oracle import open_oracle
from seqray.cli.boxes import (
    against_option,
    executor_option,
    guide_option,
    max_length_option,
    open_against,
    open_box,
    option_option,
    read_box_words,
    store_option,
    store_path,
)
from seqray.cli.common import (
    at_rank,
    automaton_argument,
    described_size,
    for_option,
    json_line,
    open_source,
    rank_option,
    show_fidelity,
    titled,
    wanted_purpose,
)
from seqray.cli.console import console
from seqray.cli.decisions import show_decisions
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, event_options
from seqray.fidelity.decisions import DecisionFidelity
from seqray.fidelity.disagreements import Disagreement
from seqray.fidelity.reference import N_DRAWN_WORDS, drawn_words
from seqray.parallel.choice import opened_executor
from seqray.util.errors import ArgumentError
from seqray.util.formatting import abbreviated, counted, shortened, significant_but_one
from seqray.util.redaction import redacted


@click.command()
@automaton_argument
@against_option(
    "The black box.  [default: the one that the run folder remembers, if that is a file below this "
    "folder or beside the run folder]"
)
@click.option(
    "--words",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Evaluation words: PAutomaC/SPiCe format, plain text, .jsonl, or events.  [default: "
    f"{N_DRAWN_WORDS:,} words drawn from the box, or random ones if the box does not predict]",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Random seed of the words that are drawn: others show how much the metrics vary.",
)
@click.option("--target", metavar="BOX", help="The machine that the box was trained on.")
@max_length_option
@rank_option
@for_option
@guide_option
@event_options
@store_option
@executor_option
@option_option
@click.option(
    "--worst",
    type=click.IntRange(1),
    metavar="N",
    help="Search for words on which they disagree most, and show N of each search method: drawn "
    "from the box, drawn from the automaton, random, and variations of the worst.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(**options: Any) -> None:
    """Measure how faithful an automaton is to a black box on words.

    \b
    Examples:
      seqray evaluate run
      seqray evaluate run --for reading
      seqray evaluate run --words test.txt
      seqray evaluate run --against rnn:model.safetensors
      seqray evaluate wa.json --against rnn:model.safetensors --words 24.pautomac.test \\
          --target wa:24.pautomac_model.txt --json
      seqray evaluate run --words test.txt --worst 5

    The box of a run that was extracted with --guide is guided here, too; --guide names another
    guide, and '.*' allows everything. With --executor workers query a box without states; one
    with states is read here.
    """
    _evaluate(EvaluateOptions(**options))


@dataclass(frozen=True)
class EvaluateOptions:
    """The arguments and options of the command, as click read them."""

    automaton: str
    box: str | None
    trusts_run: bool
    words: Path | None
    seed: int
    target: str | None
    max_length: int | None
    rank: int | None
    purpose: str | None
    guide: str | None
    store: str | None
    executor: str | None
    options: tuple[str, ...]
    events: EventOptions
    worst: int | None
    as_json: bool


def _evaluate(options: EvaluateOptions) -> None:
    """Compare an automaton with a box, and print how faithful it is."""
    if options.words is None:
        options.events.check_unused("--words")
    source = open_source(options.automaton)
    spec, opened, max_length = open_against(
        *(options.box, options.options, source, options.automaton),
        trusts_run=options.trusts_run,
        max_length=options.max_length,
        guide=options.guide,
    )
    options, shown_box = replace(options, max_length=max_length), redacted(spec)
    purpose = wanted_purpose(source, options.purpose)
    automaton = at_rank(source, options.rank, options.automaton, purpose)
    if automaton.alphabet != opened.alphabet:
        raise ArgumentError(
            f"{options.automaton} reads {automaton.alphabet}, {shown_box} reads {opened.alphabet}: "
            "expected the same symbols in the same order"
        )
    target = open_box(options.target) if options.target else None
    path = store_path(spec, opened, options.store)
    with (
        opened_store(path) as cache,
        box_prints_to_stderr(),  # before workers start, which print where this process does
        opened_executor(options.executor) as executor,
    ):
        box = open_oracle(opened, cache=cache, executor=executor).reader
        words, drawn_from = _words(options, box, shown_box)
        with console(stderr=True).status("comparing …"):  # long words take a while
            fidelity = seqray.compare(box, automaton, words, target=target)
        worst = []
        decides = isinstance(fidelity, DecisionFidelity)
        if options.worst and not decides:
            worst = seqray.disagreements(
                box, automaton, n_words=options.worst, max_length=options.max_length
            )
        by_next = predicts(box) and predicts(automaton)
    if options.as_json:
        extra = {
            "states": automaton.n_states,
            "cost": automaton.cost_per_symbol,
            "words": fidelity.n_words,
            "prefixes": fidelity.n_prefixes,
            "source": drawn_from,
            "intervals": dict(fidelity.intervals),
        }
        if isinstance(fidelity, DecisionFidelity):
            extra |= fidelity.details()
            extra["worst"] = [each._asdict() for each in fidelity.different[: options.worst or 0]]
        elif options.worst:
            extra["worst"] = [each._asdict() for each in worst]
        click.echo(json_line({**fidelity.as_dict(), **extra}))
        return
    size = described_size(automaton)
    show_fidelity(fidelity, f"{options.automaton} ({size}) against {shown_box}", drawn_from)
    if isinstance(fidelity, DecisionFidelity):
        show_decisions(fidelity, opened.alphabet, options.worst or 0)
    elif options.worst:
        _show_worst(worst, opened.alphabet, by_next=by_next)


def _words(options: EvaluateOptions, box: BlackBox, shown_box: str) -> tuple[Words, str]:
    """Read the words of a file, or draw some; also say which words they are."""
    if options.words is not None:
        words = read_box_words(options.words, box, options.max_length, options.events)
        return words, f"{counted(len(words), 'word')} of {options.words}"
    words, source = drawn_words(box, seed=options.seed, max_length=options.max_length)
    if not predicts(box):
        click.echo(
            f"Compared on random words of up to {words.lengths.max()} symbols, because "
            f"{shown_box} cannot be sampled. For longer words add --max-length, for "
            "words of your own --words FILE.",
            err=True,
        )
    return words, source


def _show_worst(worst: list[Disagreement], alphabet: Alphabet, *, by_next: bool) -> None:
    """Print the words on which both disagree most, on the next symbol or on the weight."""
    table = titled("Where they disagree most")
    table.add_column("after the word" if by_next else "word")
    table.add_column("distance", justify="right")
    if by_next:
        table.add_column("next")
    for name in ("box", "automaton"):
        table.add_column(name, justify="right")
    table.add_column("source")
    for each in worst:
        short = shortened(alphabet.show(each.word), 40)
        distance, box, automaton = (significant_but_one(value, 4) for value in each[1:4])
        following = [abbreviated(each.next, 16)] if by_next else []
        table.add_row(short, distance, *following, box, automaton, each.source)
    console().print(table)
    meaning = (
        "distance: total variation distance of the next symbols; next: the symbol that\n"
        "differs most, with its probability in box and automaton."
        if by_next
        else "distance: the difference of the two weights."
    )
    click.echo(
        f"{meaning} Words whose source is box or\n"
        "automaton were drawn from it; random and search also look at words that neither draws."
    )
