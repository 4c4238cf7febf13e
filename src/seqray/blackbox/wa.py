"""Weighted automata in files as black boxes."""

import os
from pathlib import Path

from seqray.automaton import WeightedAutomaton
from seqray.data.pautomac import read_machine
from seqray.errors import FileError


def open_wa(path: str | os.PathLike[str]) -> WeightedAutomaton:
    """Open an automaton, whatever kind of file it is in.

    Parameters
    ----------
    path
        A ``.json`` or ``.npz`` file, the folder of an extraction, or a machine of PAutomaC.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).save(Path(folder, "automaton.npz"))
    ...     open_wa(folder)
    WeightedAutomaton(1 states, 1 symbols)
    """
    file = Path(path)
    if file.is_dir():
        file = file / "automaton.npz"
        if not file.exists():
            raise FileError(
                f"{path}: not the folder of an extraction: there is no {file.name} in it"
            )
    if not file.exists():
        raise FileError(f"{path}: there is no such file or folder")
    return WeightedAutomaton.load(file) if file.suffix in (".json", ".npz") else read_machine(file)
