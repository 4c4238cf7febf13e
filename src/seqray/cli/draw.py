"""``seqray draw``."""

from __future__ import annotations

from pathlib import Path

import click

from seqray.automata.automaton import WeightedAutomaton
from seqray.cli.common import (
    at_rank,
    automaton_argument,
    check_output,
    open_source,
    propose_rank,
    rank_option,
)
from seqray.cli.console import notes
from seqray.draw.graph import (
    EDGES_PER_STATE,
    PAPER_THRESHOLD,
    clear_threshold,
    hidden_share,
)
from seqray.draw.saving import DRAWINGS, save_drawing
from seqray.explain.naming import name_states
from seqray.extraction.result import Extraction
from seqray.util.formatting import counted, percent_in_words

REPORTED_LOSS = 1e-6
"""Relative change of weights above which a line is printed."""


@click.command()
@automaton_argument
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"A file that ends in one of {' '.join(DRAWINGS)}.",
)
@rank_option
@click.option(
    "--threshold",
    type=click.FloatRange(min=0),
    help="Transitions with a smaller weight are not drawn.  [default: the smallest that leaves "
    f"at most {EDGES_PER_STATE} edges per state, or two thirds of the weight; {PAPER_THRESHOLD:g} "
    "in the paper's style]",
)
@click.option(
    "--style",
    type=click.Choice(["readable", "paper"]),
    default="readable",
    show_default=True,
    help="States with names, or with their input and output weights as in the paper.",
)
def command(
    automaton: str, output: Path, rank: int | None, threshold: float | None, style: str
) -> None:
    """Draw an automaton: states, and between them symbols with their weights.

    In the readable style every state has a name, such as 'after ab', and weights are probabilities
    where the automaton is a distribution. In the paper's style the coordinates are the
    automaton's own, and states carry input weight > output weight.

    Files .png and .pdf need matplotlib: pip install '.[plots]' in seqray's folder.

    \b
    Examples:
      seqray draw run -o automaton.svg --rank 5
      seqray draw run -o automaton.pdf --rank 20 --threshold 0.1
      seqray draw wa.json -o automaton.dot --style paper
    """
    check_output(output, DRAWINGS, "--output")
    source = open_source(automaton)
    opened = at_rank(source, rank, automaton)
    with notes():
        if style == "paper":
            drawn, limit = opened, PAPER_THRESHOLD if threshold is None else threshold
            save_drawing(drawn, output, threshold=limit)
        else:
            drawn, limit = _draw_readable(opened, output, threshold)
    hidden = hidden_share(drawn, limit)
    what = (
        f"transitions below {limit:g} are hidden, {percent_in_words(hidden)} of all weight"
        if hidden
        else "all transitions are drawn"
    )
    click.echo(f"{output}: {counted(drawn.n_states, 'state')}; {what}")
    if threshold is None and style == "readable" and hidden:
        click.echo(
            f"By default at most {EDGES_PER_STATE} edges per state are drawn, or as many as hold "
            "two thirds of the weight, and none below a hundredth of the largest weight; "
            "--threshold sets another limit."
        )
    if rank is None and isinstance(source, Extraction):
        propose_rank(source, drawn.n_states, "draws")


def _draw_readable(
    opened: WeightedAutomaton, output: Path, threshold: float | None
) -> tuple[WeightedAutomaton, float]:
    """Draw an automaton in readable coordinates; return it, and the threshold."""
    named = name_states(opened)
    limit = clear_threshold(named.automaton) if threshold is None else threshold
    save_drawing(named.automaton, output, threshold=limit, names=named.names, mass=named.mass)
    if named.automaton.n_states < opened.n_states:
        click.echo(
            f"{named.automaton.n_states} of {counted(opened.n_states, 'state')} are drawn: no word "
            "needs the others."
        )
    if named.loss > REPORTED_LOSS:
        click.echo(
            f"In readable coordinates weights change by up to {named.loss:.1g} of the largest; "
            "--style paper draws the automaton's own."
        )
    return named.automaton, limit
