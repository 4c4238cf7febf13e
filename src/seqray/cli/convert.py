"""``seqray convert``."""

from __future__ import annotations

from pathlib import Path

import click

import seqray
from seqray.automata.automaton import WeightedAutomaton
from seqray.cli.common import (
    automaton_argument,
    check_output,
    open_automaton,
    rank_option,
    show_fidelity,
)
from seqray.draw.dot import to_dot
from seqray.formats.fst import to_fst_text
from seqray.formats.pautomac import write_machine
from seqray.util.files import write_text, writing
from seqray.util.formatting import counted


@click.command()
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
    """Write an automaton in the format that OUTPUT's ending names.

    \b
      .json .npz    seqray's own, exact
      .dot          Graphviz, every transition
      .fst          OpenFst text, with the symbols in a .syms file beside it
      .pautomac     a PAutomaC machine; only for automata that are probabilistic

    \b
    Examples:
      seqray convert run wa.json --rank 8
      seqray convert run machine.pautomac --repair
      seqray convert 24.pautomac_model.txt machine.json
    """
    check_output(output, WRITERS, "OUTPUT")
    opened = open_automaton(automaton, rank)
    if repaired:
        opened, loss = seqray.repair(opened)
        show_fidelity(loss, "The repaired automaton against the old one, read as a distribution")
    WRITERS[output.suffix](opened, output)
    states, symbols = counted(opened.n_states, "state"), counted(len(opened.alphabet), "symbol")
    click.echo(f"{output}: {states}, {symbols}")


def _dot(automaton: WeightedAutomaton, path: Path) -> None:
    write_text(path, to_dot(automaton, threshold=0))


def _fst(automaton: WeightedAutomaton, path: Path) -> None:
    text, symbols = to_fst_text(automaton)
    with writing(path) as fresh, writing(path.with_suffix(".syms")) as table:  # both or none
        fresh.write_text(text, "utf-8")
        table.write_text(symbols, "utf-8")


WRITERS = {
    ".json": WeightedAutomaton.save,
    ".npz": WeightedAutomaton.save,
    ".dot": _dot,
    ".fst": _fst,
    ".pautomac": write_machine,
}
