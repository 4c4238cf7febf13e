"""``seqray evaluate``."""

from __future__ import annotations

from pathlib import Path

import click

import seqray
from seqray.automata.stepper import predicts
from seqray.automata.words import Alphabet
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.oracle import attended
from seqray.cli.boxes import (
    max_length_option,
    open_box,
    option_option,
    read_box_words,
    store_option,
    store_path,
)
from seqray.cli.common import (
    automaton_argument,
    console,
    json_line,
    open_automaton,
    rank_option,
    show_fidelity,
    show_number,
    titled,
)
from seqray.cli.terminal import box_prints_to_stderr
from seqray.explain.text import shortened
from seqray.fidelity.disagreements import Disagreement
from seqray.fidelity.reference import N_DRAWN_WORDS, drawn_words
from seqray.util.errors import ArgumentError
from seqray.util.redaction import redacted


@click.command()
@automaton_argument
@click.option("--against", "box", required=True, metavar="BOX", help="The black box.")
@click.option(
    "--words",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Evaluation words: PAutomaC/SPiCe format, plain text, or .jsonl.  [default: "
    f"{N_DRAWN_WORDS:,} words drawn from the box, or random ones if it does not predict next symbols]",
)
@click.option("--target", metavar="BOX", help="The machine that both were made to copy.")
@max_length_option
@rank_option
@store_option
@option_option
@click.option(
    "--worst",
    type=click.IntRange(1),
    metavar="N",
    help="Search for words on which they disagree most, and show N of each way to find them: drawn "
    "from the box, from the automaton, at random, or by varying the worst.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(
    automaton: str,
    box: str,
    words: Path | None,
    target: str | None,
    max_length: int | None,
    rank: int | None,
    store: str | None,
    options: tuple[str, ...],
    worst: int | None,
    as_json: bool,
) -> None:
    """Measure how faithful an automaton is to a black box on words.

    \b
    Examples:
      seqray evaluate run --against rnn:model.safetensors
      seqray evaluate run --against rnn:model.safetensors --words test.txt
      seqray evaluate wa.json --against rnn:model.safetensors --words 24.pautomac.test \\
          --target wa:24.pautomac_model.txt --json
      seqray evaluate run --against rnn:model.safetensors --words test.txt --worst 5
    """
    opened, shown_box = open_box(box, options), redacted(box)
    copy = open_automaton(automaton, rank)
    if copy.alphabet != opened.alphabet:
        raise ArgumentError(
            f"{automaton} reads {copy.alphabet}, {shown_box} reads {opened.alphabet}: "
            "expected the same symbols in the same order"
        )
    aim = open_box(target) if target else None
    with opened_store(store_path(box, opened, store)) as kept, box_prints_to_stderr():
        asked = attended(opened, Meter(), store=kept)
        if words is not None:
            evaluated = read_box_words(words, opened, max_length)
        else:
            evaluated, _ = drawn_words(asked, seed=0, max_length=max_length)
            if not predicts(asked):
                click.echo(
                    f"On random words of up to {evaluated.lengths.max()} symbols, for {shown_box} "
                    "cannot be sampled: for longer ones, --max-length; for others, --words FILE.",
                    err=True,
                )
        fidelity = seqray.compare(asked, copy, evaluated, target=aim)
        differ = []
        if worst:
            differ = seqray.disagreements(asked, copy, n_words=worst, max_length=max_length)
        by_next = predicts(asked) and predicts(copy)
    if as_json:
        extra = {
            "states": copy.n_states,
            "words": fidelity.n_words,
            "prefixes": fidelity.n_prefixes,
            "intervals": dict(fidelity.intervals),
        }
        if worst:
            extra["worst"] = [each._asdict() for each in differ]
        click.echo(json_line({**fidelity.as_dict(), **extra}))
    else:
        show_fidelity(fidelity, f"{automaton} ({copy.n_states} states) against {shown_box}")
        if worst:
            _show_worst(differ, opened.alphabet, by_next=by_next)


def _show_worst(differ: list[Disagreement], alphabet: Alphabet, *, by_next: bool) -> None:
    """Print the words on which they disagree most, by what comes next or by their weights."""
    table = titled("Where they disagree most")
    table.add_column("after the word" if by_next else "word")
    table.add_column("distance", justify="right")
    if by_next:
        table.add_column("next")
    for name in ("box", "automaton"):
        table.add_column(name, justify="right")
    table.add_column("source")
    for each in differ:
        short = shortened(alphabet.show(each.word), 40)
        distance, box, automaton = (show_number(value, 4) for value in each[1:4])
        following = [shortened(each.next, 12)] if by_next else []
        table.add_row(short, distance, *following, box, automaton, each.source)
    console().print(table)
    meaning = (
        "distance: the total variation distance; next: the one they\n"
        "differ on most, and the probability that box and automaton give it."
        if by_next
        else "distance: the difference of the two weights."
    )
    click.echo(
        f"{meaning} Words from box or automaton are ones\n"
        "that it draws; random and search show what happens far from those."
    )
