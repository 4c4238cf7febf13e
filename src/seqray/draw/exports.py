"""All formats that automata can be written in: those of `seqray.formats.exports`, and graphs."""

from __future__ import annotations

from pathlib import Path

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.draw.dot import dot_lines
from seqray.formats import exports
from seqray.formats.aalpy_dot import is_pdfa, write_model
from seqray.formats.exports import Export
from seqray.formats.graph_file import comment_of
from seqray.util.files import writing


def write_dot(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton as Graphviz text, with every transition.

    A DFA, Moore machine or PDFA is written as the package AALpy writes it. For others a comment
    holds every number, see `seqray.formats.graph_file`. `seqray.open_black_box` reads both.
    """
    if isinstance(automaton, DeterministicAutomaton) or is_pdfa(automaton):
        write_model(automaton, path)
        return
    with writing(path) as fresh, fresh.open("wb") as file:
        file.writelines(line.encode() for line in dot_lines(automaton, threshold=0))
        file.write(comment_of(automaton))


DOT_MEANING = "Graphviz, exact in a comment; of a deterministic one an AALpy model"

EXPORTS = {**exports.EXPORTS, ".dot": Export(write_dot, DOT_MEANING)}
