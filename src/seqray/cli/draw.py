"""``seqray draw``."""

from __future__ import annotations

from pathlib import Path

import click

from seqray.cli.common import (
    automaton_argument,
    check_output,
    open_automaton,
    rank_option,
    write_text,
)
from seqray.draw.dot import hidden_share, to_dot
from seqray.draw.svg import to_svg


@click.command()
@automaton_argument
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that ends in .svg or .dot.",
)
@rank_option
@click.option(
    "--threshold",
    type=click.FloatRange(min=0),
    default=0.05,
    show_default=True,
    help="Transitions with a smaller weight are not drawn.",
)
def command(automaton: str, output: Path, rank: int | None, threshold: float) -> None:
    """Draw an automaton: input weight > output weight in each state, as in the paper.

    \b
    Examples:
      seqray draw run -o automaton.svg --rank 5
      seqray draw wa.json -o automaton.dot --threshold 0.1
    """
    writers = {".svg": to_svg, ".dot": to_dot}
    check_output(output, writers, "--output")
    drawn = open_automaton(automaton, rank)
    write_text(output, writers[output.suffix](drawn, threshold=threshold))
    hidden = hidden_share(drawn, threshold)
    click.echo(
        f"{output}: {drawn.n_states} states; transitions below {threshold:g} are hidden, "
        f"{hidden:.1%} of all weight"
    )
