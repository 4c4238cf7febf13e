"""All formats that automata can be written in: those of `seqray.formats.exports`, and graphs."""

from __future__ import annotations

import os
from pathlib import Path

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.draw.dot import dot_lines
from seqray.formats import exports
from seqray.formats.aalpy_dot import is_pdfa, write_model
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.formats.exports import Export
from seqray.formats.graph_file import comment_of
from seqray.util.errors import ArgumentError
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


def save_automaton(automaton: AutomatonLike, path: str | os.PathLike[str]) -> None:
    """Write an automaton in the format that the file's name ends in.

    Parameters
    ----------
    automaton
        What to write: an automaton, or what one is in, such as an extraction or a run folder. An
        automaton that does not fit into the format is refused with the reason.
    path
        A file that ends in ``.json``, ``.npz``, ``.dot``, ``.fst``, ``.logfst``, ``.pautomac``,
        ``.prism``, ``.onnx``, ``.c`` or ``.js``. `seqray.open_black_box` reads the first six.

    Examples
    --------
    >>> import tempfile
    >>> from seqray import open_black_box
    >>> coin = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_automaton(coin, f"{folder}/coin.fst")
    ...     open_black_box(f"{folder}/coin.fst").weight("ab")
    0.03125
    """
    file = Path(path)
    if file.suffix not in EXPORTS:
        raise ArgumentError(
            f"{path}: the file of an automaton ends in {' '.join(EXPORTS)}, not {file.suffix!r}; "
            "seqray.save_drawing draws .svg, .png and .pdf"
        )
    EXPORTS[file.suffix].write(as_automaton(automaton), file)
