"""What commands print of classifiers."""

from __future__ import annotations

from collections.abc import Sequence

import click

from seqray.automata.words import Alphabet
from seqray.cli.common import titled
from seqray.cli.console import console
from seqray.fidelity.decisions import DecisionFidelity, DecisionGroup
from seqray.util.formatting import shortened, signed_percent, significant_but_one


def show_decisions(fidelity: DecisionFidelity, alphabet: Alphabet, n_words: int = 0) -> None:
    """Print which classes are taken for which, agreement by group, and words that differ.

    ``n_words`` says how many words are shown at most that both give another class.
    """
    _show_confusion(fidelity)
    _show_groups("Agreement by length", "symbols", fidelity.by_length)
    _show_groups("Agreement by margin of the box", "margin", fidelity.by_margin)
    if n_words:
        _show_different(fidelity, alphabet, n_words)


def _show_confusion(fidelity: DecisionFidelity) -> None:
    """Print the confusion matrix, and how many words more or less get each class."""
    table = titled("Words by class: rows the box, columns the automaton")
    table.add_column("box")
    for name in fidelity.classes:
        table.add_column(shortened(name, 16), justify="right")
    for name in ("automaton − box", "95 % interval"):
        table.add_column(name, justify="right")
    rows = zip(fidelity.classes, fidelity.confusion.tolist(), fidelity.shares, strict=True)
    for name, counts, share in rows:
        low, high = map(signed_percent, share.interval)
        cells = [*(f"{count:,}" for count in counts), f"{signed_percent(share.difference)} %"]
        table.add_row(shortened(name, 16), *cells, f"{low} … {high} %")
    console().print(table)
    click.echo(
        "automaton − box: difference of both shares of all words, with its confidence interval."
    )


def _show_groups(title: str, what: str, groups: Sequence[DecisionGroup]) -> None:
    """Print the agreement of each group of words with its interval."""
    table = titled(title)
    table.add_column(what)
    for name in ("words", "agreement", "95 % interval"):
        table.add_column(name, justify="right")
    for group in groups:
        low, high = (significant_but_one(end, 4) for end in group.interval)
        agreement = significant_but_one(group.agreement, 4)
        table.add_row(group.name, f"{group.n_words:,}", agreement, f"{low} … {high}")
    console().print(table)


def _show_different(fidelity: DecisionFidelity, alphabet: Alphabet, n_words: int) -> None:
    """Print words that both give another class."""
    if not fidelity.different:
        click.echo("Both give every word the same class.")
        return
    table = titled("Words on which box and automaton decide differently")
    for name in ("word", "box", "automaton"):
        table.add_column(name)
    table.add_column("distance", justify="right")
    for each in fidelity.different[:n_words]:
        word = shortened(alphabet.show(each.word), 40)
        table.add_row(word, each.box, each.automaton, significant_but_one(each.distance, 4))
    console().print(table)
    click.echo("distance: total variation distance of the class probabilities.")
