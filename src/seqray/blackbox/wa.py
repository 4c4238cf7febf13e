"""Weighted automata in files as black boxes."""

import os
from pathlib import Path

from seqray.automaton import WeightedAutomaton
from seqray.data.pautomac import read_machine
from seqray.errors import FileError, MissingFileError
from seqray.files import reading
from seqray.ranked import LARGEST, RankedAutomata
from seqray.run_files import has_file, read_run


def open_wa(path: str | os.PathLike[str]) -> WeightedAutomaton:
    """Open an automaton, whatever kind of file it is in.

    Parameters
    ----------
    path
        A ``.json`` or ``.npz`` file, the folder of an extraction (opened at the rank chosen
        there), or a machine of PAutomaC.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).save(Path(folder, "coin.json"))
    ...     open_wa(Path(folder, "coin.json"))
    WeightedAutomaton(1 states, 1 symbols)
    """
    file = Path(path)
    if not os.path.exists(path):
        raise MissingFileError(f"{path}: there is no such file or folder")
    if file.is_dir():
        return _open_run(file)
    return WeightedAutomaton.load(file) if file.suffix in (".json", ".npz") else read_machine(file)


def _open_run(folder: Path) -> WeightedAutomaton:
    """Open the automaton of a run folder, which `seqray.store` knows more about."""
    if not has_file(folder, LARGEST):
        raise FileError(f"{folder}: not the folder of an extraction: it has no {LARGEST}")
    with reading(folder, "the folder of an extraction"):
        config, contents = read_run(folder)
        return RankedAutomata.from_files(contents).automaton(config["rank"])
