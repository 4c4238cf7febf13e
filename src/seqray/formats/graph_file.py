"""Graphviz files that can be read again.

The picture of an automaton shows rounded weights. The last line of its file is a comment, which
Graphviz skips: it holds the automaton as the line of a ``.json`` file. A DFA, Moore machine or PDFA
is written as the package AALpy writes it instead, see `seqray.formats.aalpy_dot`.
"""

from __future__ import annotations

from pathlib import Path

from seqray.automata.automaton import WeightedAutomaton, automaton_of
from seqray.automata.automaton_content import from_json, to_json
from seqray.formats.aalpy_dot import read_model
from seqray.util.files import read_bytes, reading

COMMENT = b"// seqray.automaton "


def comment_of(automaton: WeightedAutomaton) -> bytes:
    """Return the comment line that holds an automaton.

    >>> comment_of(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))[:50]
    b'// seqray.automaton {"format": "seqray.automaton",'
    """
    return COMMENT + to_json(automaton.content) + b"\n"


def read_graph_file(path: Path) -> WeightedAutomaton:
    """Read the automaton in the comment of a Graphviz file, or a model of AALpy."""
    line = read_bytes(path).rstrip().rpartition(b"\n")[2]
    if not line.startswith(COMMENT):
        return read_model(path)
    with reading(path, "a seqray automaton"):
        return automaton_of(from_json(line.removeprefix(COMMENT)))
