"""``seqray learn``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import seqray
from seqray.automata.deterministic import DECISIONS, DeterministicAutomaton, deterministic_pfa
from seqray.automata.stepper import predicts
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Words
from seqray.blackbox.protocol import BlackBox
from seqray.cli.boxes import (
    box_list,
    guide_option,
    interruptible,
    open_box,
    option_option,
    read_box_words,
    store_option,
    store_path,
)
from seqray.cli.common import check_output, say_interrupted
from seqray.cli.console import notes, progress_bar
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, event_options
from seqray.draw.exports import EXPORTS
from seqray.learning.decisions import decisions_of
from seqray.learning.dfa import MAX_RANDOM_LENGTH, LearningMethod, has_aalpy
from seqray.learning.pdfa import MAX_DRAWN_LENGTH
from seqray.learning.result import Learned, LearningEnd
from seqray.learning.session import DEFAULT_MAX_STATES, LearningLimits
from seqray.util.errors import SeqrayError
from seqray.util.formatting import counted, significant

DEFAULT_WORDS = {"pdfa": 50, "dfa": 3000, "moore": 3000}
"""Words to draw in each search, by kind of automaton."""

PROBABILISTIC_FORMATS = ".prism", ".pautomac"
"""Endings of files that cannot hold an automaton that decides."""

HELP = """Learn a deterministic automaton from a black box.

After every word it is in one state, so it is easy to read. There are three kinds:

\b
  pdfa    each state has the probabilities of the next symbol; for boxes that predict
  dfa     each state says yes or no; for boxes of numbers, by --threshold
  moore   each state has a class; for classifiers

States are distinguished by what follows them. Then words are searched on which box and
automaton differ, until a search finds none. Not every box has a small deterministic automaton: if
the states keep growing, a note says so early; `seqray extract` makes a weighted automaton then.

\b
BOX is one of:
{boxes}

\b
Examples:
  seqray learn demo -o pdfa.json --tolerance 0.05 --min-probability 0.01
  seqray learn wa:run -o pdfa.json --tolerance 0.05
  seqray learn python:module:box -o dfa.json --kind dfa --hint run
  seqray learn http://localhost:8000 -o dfa.dot --kind dfa --words data.txt --budget 10000
  seqray learn model.dot -o model.json
Then:
  seqray evaluate pdfa.json --against BOX
  seqray draw pdfa.json -o pdfa.svg

Each distinct word is one query, and is cached. At --budget, --time-limit or Ctrl-C the automaton of
what is known so far is written; twice Ctrl-C stops at once.
"""


@click.command(help=HELP.format(boxes=box_list()))
@click.argument("box")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"File to write, in the format of its ending: {' '.join(EXPORTS)}.",
)
@click.option(
    "--kind",
    type=click.Choice(["auto", "pdfa", "dfa", "moore"]),
    default="auto",
    show_default=True,
    help="auto: moore for a classifier, pdfa where the box predicts next symbols, else dfa.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.01,
    show_default=True,
    help="pdfa: prefixes are one state if no probability differs by more than this.",
)
@click.option(
    "--partitions",
    type=click.IntRange(1),
    help="pdfa: quantise probabilities into so many equal parts instead.",
)
@click.option(
    "--min-probability",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="pdfa: symbols that are not more probable than this are not followed.",
)
@click.option(
    "--threshold", default=0.5, show_default=True, help="dfa: the least weight that means yes."
)
@click.option(
    "--method",
    type=click.Choice([each.value for each in LearningMethod]),
    help="dfa, moore: kv and lstar are learners of the package aalpy, one query at a time; tree is "
    "seqray's own, in batches.  [default: kv where aalpy is installed, else tree]",
)
@click.option(
    "--hint",
    metavar="RUN|WA",
    help="dfa, moore: a weighted automaton near to the box; where it disagrees, the box is queried "
    "first.",
)
@click.option(
    "--words",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of words in which counterexamples are searched, too.",
)
@click.option(
    "--draw",
    "n_words",
    type=click.IntRange(1),
    metavar="WORDS",
    help="Words to draw in each search for counterexamples.  [default: 50; 3000 for dfa, moore]",
)
@click.option("--max-states", type=click.IntRange(1), default=DEFAULT_MAX_STATES, show_default=True)
@click.option(
    "--max-length",
    type=click.IntRange(1),
    help="Longest word that is searched; that on which the box was trained is a good choice.  "
    f"[default: {MAX_RANDOM_LENGTH}; {MAX_DRAWN_LENGTH} for pdfa; never more than the box reads]",
)
@click.option("--budget", type=click.IntRange(1), metavar="QUERIES", help="Most words to query.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop querying after this time.",
)
@guide_option
@event_options
@store_option
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(**options: Any) -> None:
    """Learn."""
    _learn(LearnOptions(**options))


@dataclass(frozen=True)
class LearnOptions:
    """The arguments and options of the command, as click read them."""

    box: str
    output: Path
    kind: str
    tolerance: float
    partitions: int | None
    min_probability: float
    threshold: float
    method: str | None
    hint: str | None
    words: Path | None
    n_words: int | None
    max_states: int
    max_length: int | None
    budget: int | None
    time_limit: float | None
    guide: str | None
    store: str | None
    options: tuple[str, ...]
    events: EventOptions
    seed: int

    def chosen_kind(self, box: BlackBox) -> str:
        """Return the kind of automaton, and refuse one that the box cannot have."""
        decisions = decisions_of(box)
        is_moore = decisions.threshold is None and decisions.names != DECISIONS
        natural = "moore" if is_moore else "pdfa" if predicts(box) else "dfa"
        if self.kind == "auto":
            return natural
        if "moore" in (self.kind, natural) and self.kind != natural:
            raise click.BadParameter(
                f"{self.kind} does not fit this box: expected {natural}, or leave it out",
                param_hint="--kind",
            )
        return self.kind


def _learn(options: LearnOptions) -> None:
    """Learn, write the automaton, and print what came of it."""
    if options.words is None:
        options.events.check_unused("--words")
    check_output(options.output, EXPORTS, "--output")
    box = open_box(options.box, options.options, options.guide)
    kind = options.chosen_kind(box)
    if kind != "pdfa" and options.output.suffix in PROBABILISTIC_FORMATS:
        raise click.BadParameter(
            f"{options.output.suffix} is only for probabilistic automata, and a {kind} is none: "
            "choose .json or .dot",
            param_hint="--output",
        )
    _check_format(options.output, box, kind)
    answers = store_path(options.box, box, options.store)
    learned = _learned(options, box, kind, answers)
    written, problem = _written(learned.automaton, options.output)
    _show(replace(options, output=written), learned)
    if answers is not None:
        click.echo(f"The answers are cached in {answers}.")
    if problem is not None:
        raise click.ClickException(
            f"{options.output} was not written: {problem}. The automaton is in {written} instead."
        )
    if learned.end is LearningEnd.INTERRUPTED:
        say_interrupted(answers)
        click.get_current_context().exit(130)


def _check_format(output: Path, box: BlackBox, kind: str) -> None:
    """Refuse a format that cannot hold the box's symbols and classes, before any query."""
    n_symbols = len(box.alphabet)
    table = np.zeros((1, n_symbols), np.int64)
    trial: StructuredAutomaton
    if kind == "pdfa":
        rows = np.full((1, n_symbols + 1), 1 / (n_symbols + 1))
        trial = deterministic_pfa(box.alphabet, table, rows)
    else:
        trial = DeterministicAutomaton(box.alphabet, table, [0], decisions_of(box).names)
    with tempfile.TemporaryDirectory() as folder:
        try:
            EXPORTS[output.suffix].write(trial, Path(folder, output.name))
        except SeqrayError as error:
            raise click.BadParameter(
                f"{output.suffix} cannot hold the {kind} of this box: {error}. Or choose .json",
                param_hint="--output",
            ) from error


def _written(automaton: StructuredAutomaton, output: Path) -> tuple[Path, SeqrayError | None]:
    """Write the automaton, as .json beside the file if its format cannot hold it.

    Returns the file that was written, and why it is another one.
    """
    try:
        EXPORTS[output.suffix].write(automaton, output)
    except SeqrayError as error:
        spare = output.with_name(f"{output.name}.json")
        automaton.save(spare)
        return spare, error
    return output, None


def _learned(
    options: LearnOptions, box: BlackBox, kind: str, answers: Path | None
) -> Learned[StructuredAutomaton] | Learned[DeterministicAutomaton]:
    """Query the box, with a progress bar, until no counterexample is left, or Ctrl-C."""
    words: Words | list[str] = []
    if options.words is not None:
        words = read_box_words(options.words, box, None, options.events)
    n_words = options.n_words or DEFAULT_WORDS[kind]
    with (
        notes(),
        interruptible() as stop,
        box_prints_to_stderr(),
        progress_bar("querying the box") as progress,
    ):
        limits = LearningLimits(
            max_states=options.max_states,
            budget=options.budget,
            time_limit=options.time_limit,
            stop=stop,
            store=answers,
            max_length=options.max_length,
            seed=options.seed,
            progress=progress,
        )
        if kind == "pdfa":
            return seqray.learn_pdfa(
                box,
                tolerance=options.tolerance,
                partitions=options.partitions,
                min_probability=options.min_probability,
                words=words,
                n_words=n_words,
                **limits,
            )
        return seqray.learn_dfa(
            box,
            threshold=options.threshold,
            method=options.method,
            hint=options.hint,
            words=words,
            n_words=n_words,
            **limits,
        )


def _show(
    options: LearnOptions, learned: Learned[StructuredAutomaton] | Learned[DeterministicAutomaton]
) -> None:
    """Print the size of the automaton, what it cost, and how sure it is."""
    n_states = counted(learned.automaton.n_states, "state")
    click.echo(
        f"{options.output}: {n_states}, learnt from {learned.n_queries:,} queries, of which "
        f"{learned.n_search_queries:,} searched for counterexamples "
        f"in {counted(learned.n_searches, 'round')}."
    )
    is_deciding = isinstance(learned.automaton, DeterministicAutomaton)
    what = "share of these words that is decided otherwise" if is_deciding else "largest difference"
    click.echo(
        f"On all words that were queried: {what} {significant(learned.largest_distance, 3)}."
    )
    prefix = "Complete" if learned.is_complete else "Not complete"
    click.echo(f"{prefix}: {learned.end.value}.")
    is_quantised = is_deciding or options.partitions is not None
    if learned.is_complete and not is_quantised and learned.largest_distance > options.tolerance:
        click.echo(
            "The largest difference is above the tolerance: it builds up in small steps, so that "
            "no state can be split. A smaller tolerance makes more states."
        )
    if not learned.is_complete:
        click.echo(f"The automaton is what is known so far{_advice(options, learned)}.")


def _advice(
    options: LearnOptions, learned: Learned[StructuredAutomaton] | Learned[DeterministicAutomaton]
) -> str:
    """Say what to do where learning ended at a limit; nothing where it was interrupted."""
    if learned.end is LearningEnd.BUDGET:
        return "; a larger --budget learns more"
    if learned.end is LearningEnd.TIME:
        return "; a larger --time-limit learns more"
    if learned.end is LearningEnd.INTERRUPTED:
        return ""
    if learned.end is LearningEnd.MAX_LENGTH:
        is_tree = options.method == LearningMethod.TREE or not (options.method or has_aalpy())
        return "" if is_tree else "; --method tree learns more from short words"
    if isinstance(learned.automaton, DeterministicAutomaton):
        return "; a smaller --max-length needs fewer states, a larger --max-states learns more"
    coarser = "a larger --tolerance" if options.partitions is None else "fewer --partitions"
    return (
        f"; to need fewer states, choose {coarser}, or a larger --min-probability: the symbols "
        "that are less probable are not followed"
    )
