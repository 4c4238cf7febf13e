"""The formats that automata can be written in, by the ending of the file.

To add one: write a function that takes an automaton and a path (copy ``examples/export.py``), and
add a line to `EXPORTS`. ``seqray convert`` reads the table. What needs a drawing goes into
`seqray.draw.exports` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from seqray.automata.automaton import WeightedAutomaton
from seqray.formats.fst import write_fst
from seqray.formats.pautomac import write_machine
from seqray.formats.prism import write_prism


class Export(NamedTuple):
    """A format of automaton files: how to write one, and what it is in a few words."""

    write: Callable[[WeightedAutomaton, Path], None]
    meaning: str


EXPORTS = {
    ".json": Export(WeightedAutomaton.save, "seqray's own, exact, as text"),
    ".npz": Export(WeightedAutomaton.save, "seqray's own, exact, as NumPy arrays"),
    ".fst": Export(write_fst, "OpenFst text, with the symbols in a .syms file beside it"),
    ".prism": Export(write_prism, "a PRISM Markov chain; only for probabilistic automata"),
    ".pautomac": Export(write_machine, "a PAutomaC machine; only for probabilistic automata"),
}
