"""``seqray convert``."""

from __future__ import annotations

from pathlib import Path

import click

import seqray
from seqray.cli.common import (
    automaton_argument,
    check_output,
    open_automaton,
    rank_option,
    show_fidelity,
)
from seqray.draw.exports import EXPORTS
from seqray.util.formatting import counted

FORMATS = "".join(f"  {suffix:<13} {each.meaning}\n" for suffix, each in EXPORTS.items())
HELP = f"""Write an automaton in the format that OUTPUT's ending names.

\b
{FORMATS}
\b
Examples:
  seqray convert run wa.json --rank 8
  seqray convert run machine.pautomac --repair
  seqray convert 24.pautomac_model.txt machine.json
"""


@click.command(help=HELP)
@automaton_argument
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@rank_option
@click.option(
    "--repair",
    "repaired",
    is_flag=True,
    help="Fit an automaton without negative weights to it, a probability distribution, and report "
    "how faithful that is.",
)
def command(automaton: str, output: Path, rank: int | None, repaired: bool) -> None:
    """Write an automaton in the format that OUTPUT's ending names."""
    check_output(output, EXPORTS, "OUTPUT")
    opened = open_automaton(automaton, rank)
    if repaired:
        opened, loss = seqray.repair(opened)
        show_fidelity(loss, "The repaired automaton against the old one, read as a distribution")
    EXPORTS[output.suffix].write(opened, output)
    states, symbols = counted(opened.n_states, "state"), counted(len(opened.alphabet), "symbol")
    click.echo(f"{output}: {states}, {symbols}")
