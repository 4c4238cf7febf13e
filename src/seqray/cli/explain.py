"""``seqray explain``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.protocol import Classifier
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.oracle import open_oracle
from seqray.cli.boxes import against_option, open_against, option_option, store_option, store_path
from seqray.cli.common import at_rank, automaton_argument, json_line, open_source, rank_option
from seqray.cli.console import console
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, event_options, read_word_file
from seqray.explain.background import Background
from seqray.explain.changes import what_changes
from seqray.explain.class_facts import class_facts
from seqray.explain.decision import DecisionExplanation, explain_decision
from seqray.explain.facts import facts
from seqray.explain.text import Section
from seqray.explain.word import WordExplanation, explain_word
from seqray.extraction.result import Extraction
from seqray.util.redaction import redacted

BACKGROUNDS = {"independent": Background.frequencies, "markov": Background.bigrams}


@click.command()
@automaton_argument
@click.argument("word", nargs=-1, metavar="[WORD]")
@rank_option
@against_option(
    "The black box, queried on the word too. recorded: the one that the run folder remembers."
)
@click.option(
    "--background",
    type=click.Choice(list(BACKGROUNDS)),
    default="independent",
    show_default=True,
    help="Where Shapley values take unknown symbols from: as frequent as the automaton expects, "
    "each independent, or each depending on the one before.",
)
@click.option(
    "--words",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Count the symbols of the background in this file of words instead.",
)
@click.option(
    "--neighbours",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="N",
    help="How many words with one edit to show.",
)
@event_options
@store_option
@option_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(**options: Any) -> None:
    """Explain what an automaton makes of a word; without a word, what it does as a whole.

    For a WORD: the path through named states, the probability of each symbol, what each position
    adds to the weight (exact Shapley values), the next symbols, and the words one edit away where
    the answer changes most. With --against, the box's own answers stand beside all of it, and the
    last table says how faithful the automaton is on these words.

    Without a WORD: the most probable words, lengths, states, symbols and rhythms; for a run
    folder also what changes from rank to rank.

    A WORD is written as everywhere: characters (abba), or symbols with spaces between them, in
    quotes or not (10 2 11). Symbols that hold spaces are written in quotes, or with bars between
    them ("Take ticket | Close"). The empty word is "" or λ.

    \b
    Examples:
      seqray explain run
      seqray explain run abba
      seqray explain run abba --against recorded
      seqray explain run "10 2 11" --rank 5 --against rnn:model.safetensors
      seqray explain wa.json abba --background markov --words train.txt
      seqray explain run abba --json
    """
    _explain(ExplainOptions(**options))


@dataclass(frozen=True)
class ExplainOptions:
    """The arguments and options of the command, as click read them."""

    automaton: str
    word: tuple[str, ...]
    rank: int | None
    box: str | None
    trusts_run: bool
    background: str
    words: Path | None
    neighbours: int
    store: str | None
    options: tuple[str, ...]
    events: EventOptions
    as_json: bool


def _explain(options: ExplainOptions) -> None:
    """Explain one word, or the whole automaton, and print it."""
    if options.words is None:
        options.events.check_unused("--words")
    source = open_source(options.automaton)
    automaton = at_rank(source, options.rank, options.automaton)
    if options.word:
        explanation = _explanation(options, source, automaton)
        document, sections = explanation.as_dict(), explanation.sections()
    else:
        for name, given in (("--against", options.box), ("--words", options.words)):
            if given is not None:
                raise click.UsageError(f"{name} needs a WORD: it belongs to the explanation of one")
        document, sections = _whole(source if options.rank is None else automaton, automaton)
    if options.as_json:
        click.echo(json_line(document))
    else:
        show_sections(sections)


def _explanation(
    options: ExplainOptions, source: Extraction | WeightedAutomaton, automaton: WeightedAutomaton
) -> WordExplanation | DecisionExplanation:
    """Explain a word, with the box's answers if there is one."""
    alphabet = automaton.alphabet
    word = read_word(alphabet, options.word)
    make = BACKGROUNDS[options.background]
    if options.words is None:
        background = make(automaton)
    else:
        background = make(read_word_file(options.words, options.events, alphabet))
    n_neighbours = options.neighbours
    decides = isinstance(automaton, ClassifierAutomaton)
    if decides and options.words is None:
        background = Background.uniform(alphabet)
    if options.box is None and not options.trusts_run:
        if decides:
            return explain_decision(automaton, word, background=background)
        return explain_word(automaton, word, background=background, n_neighbours=n_neighbours)
    spec, opened, _ = open_against(
        *(options.box, options.options, source, options.automaton), trusts_run=options.trusts_run
    )
    path = store_path(spec, opened, options.store)
    with opened_store(path) as cache, box_prints_to_stderr():
        box = open_oracle(opened, cache=cache).reader
        if decides:
            if not isinstance(box, Classifier):
                raise click.UsageError(
                    f"--against {redacted(spec)}: expected a classifier, as the automaton is one"
                )
            return explain_decision(automaton, word, box=box, background=background)
        return explain_word(
            automaton,
            word,
            box=box,
            background=background,
            n_neighbours=n_neighbours,
        )


def _whole(
    source: Extraction | WeightedAutomaton, automaton: WeightedAutomaton
) -> tuple[dict[str, Any], tuple[Section, ...]]:
    """Return facts about an automaton, and for a run what changes from rank to rank."""
    if isinstance(automaton, ClassifierAutomaton):
        decisions = class_facts(automaton)
        return {**decisions.as_dict(), "changes": None}, decisions.sections()
    known = facts(automaton)
    if not isinstance(source, Extraction):
        return {**known.as_dict(), "changes": None}, known.sections()
    changes = what_changes(source)
    more = changes.sections() if changes.steps else ()
    return {**known.as_dict(), "changes": changes.as_dict()}, (*known.sections(), *more)


def read_word(alphabet: Alphabet, texts: tuple[str, ...]) -> tuple[Symbol, ...]:
    """Read a word from the arguments of a command; each may be a symbol that holds spaces."""
    by_text = {str(symbol): symbol for symbol in alphabet}
    if all(text in by_text for text in texts):
        return tuple(by_text[text] for text in texts)
    joined = ("" if alphabet.has_characters else " ").join(texts)
    return () if joined == "λ" and "λ" not in alphabet else alphabet.parse(joined)


def show_sections(sections: Iterable[Section]) -> None:
    """Print the tables of an explanation."""
    terminal = console()
    for place, section in enumerate(sections):
        if place:
            terminal.print()
        short = section.shortened()
        terminal.print(short.title, style="bold", highlight=False)
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="cyan")
        for column in short.columns:
            justify = "right" if column.startswith(" ") else "left"
            table.add_column(column.strip(), justify=justify, overflow="fold")  # type: ignore[arg-type]
        for row in short.rows:
            table.add_row(*row)
        if short.rows:
            terminal.print(table)
        if short.note:
            terminal.print(short.note.replace("\n", " "), style="dim", highlight=False)
