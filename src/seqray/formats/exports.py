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
from seqray.formats.fst import write_fst, write_log_fst
from seqray.formats.onnx_export import write_onnx
from seqray.formats.pautomac import write_machine
from seqray.formats.prism import write_prism
from seqray.formats.scorer import write_c, write_js


class Export(NamedTuple):
    """A format of automaton files: how to write one, and what it is in a few words."""

    write: Callable[[WeightedAutomaton, Path], None]
    meaning: str


EXPORTS = {
    ".json": Export(WeightedAutomaton.save, "seqray's own, exact, as text"),
    ".npz": Export(WeightedAutomaton.save, "seqray's own, exact, as NumPy arrays"),
    ".fst": Export(write_fst, "OpenFst text, plain weights; symbols in a .syms file beside it"),
    ".logfst": Export(write_log_fst, "the same for OpenFst's log semiring; no negative weights"),
    ".prism": Export(write_prism, "a PRISM Markov chain; only for probabilistic automata"),
    ".pautomac": Export(write_machine, "a PAutomaC machine; only for probabilistic automata"),
    ".onnx": Export(write_onnx, "an ONNX graph that scores words, for onnxruntime"),
    ".c": Export(write_c, "a program in C that scores words and needs nothing else"),
    ".js": Export(write_js, "the same in JavaScript"),
}
