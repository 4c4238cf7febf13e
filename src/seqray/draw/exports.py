"""All formats that automata can be written in: those of `seqray.formats.exports`, and graphs."""

from __future__ import annotations

from pathlib import Path

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.dot import dot_lines
from seqray.formats import exports
from seqray.formats.exports import Export
from seqray.util.files import writing


def write_dot(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton as Graphviz text, with every transition."""
    with writing(path) as fresh, fresh.open("w", encoding="utf-8") as file:
        file.writelines(dot_lines(automaton, threshold=0))


EXPORTS = {**exports.EXPORTS, ".dot": Export(write_dot, "Graphviz, every transition")}
