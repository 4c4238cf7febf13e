"""``seqray explain``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from rich.table import Table

import seqray
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.oracle import open_oracle
from seqray.cli.boxes import open_box, option_option, store_option, store_path
from seqray.cli.common import automaton_argument, console, json_line, open_automaton, rank_option
from seqray.cli.terminal import box_prints_to_stderr
from seqray.explain.background import Background
from seqray.explain.changes import RankChanges, what_changes
from seqray.explain.facts import facts
from seqray.explain.text import Section
from seqray.explain.word import WordExplanation, explain_word
from seqray.extraction.run_folder import open_run

BACKGROUNDS = {"independent": Background.frequencies, "markov": Background.bigrams}


@click.command()
@automaton_argument
@click.argument("word", nargs=-1, metavar="[WORD]")
@rank_option
@click.option("--against", "box", metavar="BOX", help="The black box, asked about the word too.")
@click.option(
    "--background",
    type=click.Choice(list(BACKGROUNDS)),
    default="independent",
    show_default=True,
    help="What Shapley values compare with: symbols as frequent as the automaton expects, each on "
    "its own, or each depending on the one before.",
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
@store_option
@option_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(
    automaton: str,
    word: tuple[str, ...],
    rank: int | None,
    box: str | None,
    background: str,
    words: Path | None,
    neighbours: int,
    store: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Explain what an automaton makes of a word; without a word, what it does as a whole.

    For a WORD: the path through named states, the probability of each symbol, what each position adds
    to the weight (exact Shapley values), what comes next, and the words one edit away where the
    answer changes most. With --against, the box's own answers stand beside all of it, and last how
    faithful the automaton is on these very words.

    Without a WORD: the most probable words, lengths, states, symbols and rhythms; for a run
    folder also what changes from rank to rank.

    A WORD is written as everywhere: characters (abba), or symbols with spaces between them, in
    quotes or not (10 2 11). The empty word is "" or λ.

    \b
    Examples:
      seqray explain run
      seqray explain run abba
      seqray explain run "10 2 11" --rank 5 --against rnn:model.safetensors
      seqray explain wa.json abba --background markov --words train.txt
      seqray explain run abba --json
    """
    opened = open_automaton(automaton, rank)
    if not word:
        if box is not None or words is not None:
            given = "--against" if box is not None else "--words"
            raise click.UsageError(f"{given} needs a WORD: it belongs to the explanation of one")
        _explain_all(automaton, opened, rank, as_json)
        return
    symbols = read_word(opened.alphabet, word)
    source = opened if words is None else seqray.read_words(words, alphabet=opened.alphabet)
    behind = BACKGROUNDS[background](source)
    if box is None:
        found = explain_word(opened, symbols, background=behind, n_neighbours=neighbours)
    else:
        asked = open_box(box, options)
        with opened_store(store_path(box, asked, store)) as kept, box_prints_to_stderr():
            found = explain_word(
                opened,
                symbols,
                box=open_oracle(asked, cache=kept).reader,
                background=behind,
                n_neighbours=neighbours,
            )
    _print_word(found, as_json)


def read_word(alphabet: Alphabet, texts: tuple[str, ...]) -> tuple[Symbol, ...]:
    """Read a word from the arguments of a command."""
    joined = ("" if alphabet.has_characters else " ").join(texts)
    return () if joined == "λ" and "λ" not in alphabet else alphabet.parse(joined)


def _explain_all(path: str, automaton: WeightedAutomaton, rank: int | None, as_json: bool) -> None:
    """Print the facts, and for a run what changes from rank to rank."""
    found, changes = facts(automaton), None
    folder = Path(path.removeprefix("wa:"))
    if folder.is_dir() and rank is None:
        changes = what_changes(open_run(folder))
    if as_json:
        document = {**found.as_dict(), "changes": None if changes is None else changes.as_dict()}
        click.echo(json_line(document))
        return
    show_sections([*found.sections(), *_developed(changes)])


def _developed(changes: RankChanges | None) -> tuple[Section, ...]:
    return () if changes is None or not changes.steps else changes.sections()


def _print_word(found: WordExplanation, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(found.as_dict()))
    else:
        show_sections(found.sections())


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
        terminal.print(table)
        if short.note:
            terminal.print(short.note.replace("\n", " "), style="dim", highlight=False)
