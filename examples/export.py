"""An export to copy: automata as lists of edges, one line ``from to symbol weight`` each.

``start`` and ``end`` stand for the initial and the final weights; weights have all their digits.
"""

from __future__ import annotations

from pathlib import Path

from seqray.automata.automaton import WeightedAutomaton
from seqray.util.files import writing


def write_edges(automaton: WeightedAutomaton, path: Path) -> None:
    """Write the edges of an automaton as text, separated by tabs."""
    rows: list[tuple[object, ...]] = [
        *(("start", q, "", weight) for q, weight in enumerate(automaton.initial.tolist())),
        *((q, r, symbol, weight) for q, symbol, r, weight in automaton.edges()),
        *((q, "end", "", weight) for q, weight in enumerate(automaton.final.tolist())),
    ]
    with writing(path) as fresh:  # whole or not at all
        fresh.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), "utf-8")
