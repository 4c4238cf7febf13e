"""``seqray convert``."""

from __future__ import annotations

from pathlib import Path

import click

import seqray
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.purpose import Purpose
from seqray.cli.common import (
    at_rank,
    automaton_argument,
    check_output,
    for_option,
    open_source,
    rank_option,
    show_fidelity,
    wanted_purpose,
)
from seqray.draw.exports import EXPORTS
from seqray.draw.saving import DRAWINGS
from seqray.extraction.result import Extraction
from seqray.util.formatting import counted

FORMATS = "".join(f"  {suffix:<13} {each.meaning}\n" for suffix, each in EXPORTS.items())
HELP = f"""Write an automaton in the format that OUTPUT's ending names.

Of a run folder it is the largest copy, if there are copies; a drawing and --repair take the
automaton of the rank chosen there. What is written as .json, .npz, .fst, .logfst, .pautomac or .dot
can be read again. A .dot file of a deterministic automaton is a model of the package AALpy; `seqray
draw` makes a drawing of it.

\b
{FORMATS}
\b
Examples:
  seqray convert run wa.npz
  seqray convert run wa.json --for reading
  seqray convert run wa.json --rank 10
  seqray convert run machine.pautomac --repair
  seqray convert dfa.json dfa.dot
  seqray convert run scorer.c
  seqray convert 24.pautomac_model.txt machine.json
"""


@click.command(help=HELP)
@automaton_argument
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@rank_option
@for_option
@click.option(
    "--repair",
    "repaired",
    is_flag=True,
    help="Fit an automaton without negative weights to it, a probability distribution, and report "
    "how faithful that is.",
)
def command(
    automaton: str, output: Path, rank: int | None, purpose: str | None, repaired: bool
) -> None:
    """Write an automaton in the format that OUTPUT's ending names."""
    check_output(output, EXPORTS, "OUTPUT")
    source = open_source(automaton)
    opened = at_rank(source, rank, automaton, _purpose(source, output, purpose, repaired))
    if repaired:
        opened, loss = seqray.repair(opened)
        show_fidelity(loss, "The repaired automaton against the old one, read as a distribution")
    EXPORTS[output.suffix].write(opened, output)
    states, symbols = counted(opened.n_states, "state"), counted(len(opened.alphabet), "symbol")
    click.echo(f"{output}: {states}, {symbols}")


def _purpose(
    source: Extraction | WeightedAutomaton, output: Path, named: str | None, repaired: bool
) -> Purpose:
    """Return what the automaton is for: by default to be read if it is drawn or repaired."""
    if named is not None:
        return Purpose(named)
    if isinstance(source, DeterministicAutomaton):
        return Purpose.COPYING
    is_read = repaired or output.suffix in DRAWINGS
    return Purpose.READING if is_read else wanted_purpose(source, None)
