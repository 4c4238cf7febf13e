"""All formats that automata can be written in: those of `seqray.formats.exports`, and graphs."""

from __future__ import annotations

from pathlib import Path

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.draw.dot import dot_lines
from seqray.formats import exports
from seqray.formats.aalpy_dot import is_pdfa, write_model
from seqray.formats.exports import Export
from seqray.util.files import writing


def write_dot(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton as Graphviz text, with every transition.

    A DFA, Moore machine or PDFA is written as the package AALpy writes it;
    `seqray.open_black_box` reads that.
    """
    if isinstance(automaton, DeterministicAutomaton) or is_pdfa(automaton):
        write_model(automaton, path)
        return
    with writing(path) as fresh, fresh.open("w", encoding="utf-8") as file:
        file.writelines(dot_lines(automaton, threshold=0))


DOT_MEANING = "Graphviz; of a deterministic automaton an AALpy model"

EXPORTS = {**exports.EXPORTS, ".dot": Export(write_dot, DOT_MEANING)}
