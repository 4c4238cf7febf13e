"""Run folders: what an extraction leaves on disk, and every later command opens.

::

    RUN/
      config.json            how it was made, the rank that was chosen, checksums of all files
      basis.json             the prefixes and suffixes that were asked about
      singular_values.csv    one a rank
      fidelity.csv           every metric on held-out words, one row per rank
      automaton.npz          the automaton of the largest rank; smaller ranks are its leading blocks
      fitted.npz             by contexts only: what `seqray.automata.ranks` says
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seqray.automata.ranks import RankedAutomata
from seqray.automata.words import Alphabet
from seqray.extraction.basis import Basis
from seqray.extraction.extract import Extraction
from seqray.extraction.svd import Decomposition
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.formats.run_files import CONFIG, check_run_target, has_file, read_run, write_run
from seqray.util.csv_table import csv_dicts, plain_csv_bytes
from seqray.util.errors import FileError, MissingFileError, SeqrayError
from seqray.util.files import reading

__all__ = ["check_run_target", "open_run", "save_run"]


def save_run(
    found: Extraction,
    folder: str | os.PathLike[str],
    *,
    rank: int | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write an extraction to a run folder, whole or not at all.

    Where that fails, the run is saved in a new folder among the system's temporary files, and the
    error says where: what a box answered is not lost.

    Parameters
    ----------
    found
        What `seqray.extract` returned.
    folder
        Where to, a folder or a link to one. In a run folder that is there already, the run is
        replaced and all else is kept; any other folder that is not empty is refused. Call
        `check_run_target` to find out before the work.
    rank
        The number of states that later commands use; by default the best.
    about
        More to keep in ``config.json``, such as the box's specification.

    Examples
    --------
    >>> import seqray, tempfile
    >>> box = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> save_run(seqray.extract(box, prefixes=30, suffixes=30), folder)
    >>> open_run(folder).best()
    WeightedAutomaton(1 states, 2 symbols)
    """
    chosen = found.automaton(found.best_rank() if rank is None else rank)
    config = {
        **(about or {}),
        **found.settings,
        "rank": chosen.n_states,
        "words": found.fidelity.fidelities[0].n_words,
        "word_prefixes": found.fidelity.fidelities[0].n_prefixes,
    }
    basis = {
        "alphabet": found.basis.alphabet.to_json(),
        "source": found.basis.source,
        "n_cut": found.basis.n_cut,
        "prefixes": [list(word) for word in found.basis.prefixes],
        "suffixes": [list(word) for word in found.basis.suffixes],
    }
    values = [(i + 1, repr(float(v))) for i, v in enumerate(found.singular_values)]
    rows = found.fidelity.rows()
    contents = {
        "basis.json": json.dumps(basis, ensure_ascii=False).encode(),
        "singular_values.csv": plain_csv_bytes(["rank", "value"], values),
        "fidelity.csv": plain_csv_bytes(list(rows[0]), [list(row.values()) for row in rows]),
        **found.automata.to_files(),
    }
    try:
        write_run(folder, config, contents)
    except SeqrayError as error:
        raise type(error)(f"{error}; {_save_elsewhere(config, contents)}") from error


def _save_elsewhere(config: Mapping[str, Any], contents: Mapping[str, bytes]) -> str:
    """Save a run among the system's temporary files, and say where, or why not."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="seqray-"), "run")
        write_run(folder, config, contents)
    except (OSError, SeqrayError) as error:
        return f"nor can the run be saved elsewhere: {error}"
    return f"the run was saved in {folder} instead: move it from there"


def open_run(folder: str | os.PathLike[str]) -> Extraction:
    """Read the extraction back from a run folder."""
    home = Path(folder)
    if not os.path.exists(home):
        raise MissingFileError(f"{home}: there is no such folder")
    if not has_file(home, CONFIG):
        raise FileError(f"{home}: expected a run folder that `seqray extract` wrote")
    with reading(home, "a run folder"):
        config, contents = read_run(home)
        values = [float(row["value"]) for row in _read_csv("singular_values.csv", contents)]
        automata = RankedAutomata.from_files(contents)
        if config.get("method") == "conditional" and automata.prefix_final is None:
            raise FileError("damaged: fitted.npz is missing")
        table = _read_fidelity(contents, config["words"], config["word_prefixes"])
        n = automata.largest.n_states
        if table.ranks != tuple(range(1, n + 1)) or len(values) != n:
            raise FileError(
                f"damaged: {len(values)} singular values and fidelity of {len(table)} ranks: "
                f"expected them to fit an automaton of {n} states"
            )
        if config["rank"] not in table.ranks:
            raise FileError(f"damaged: rank {config['rank']!r} was chosen: expected 1 … {n}")
        settings = {k: v for k, v in config.items() if k not in ("format", "version")}
        decomposition = Decomposition(np.array(values), automata.largest, automata.prefix_final)
        basis = _read_basis(contents["basis.json"])
        return Extraction(decomposition, basis, table, settings, automata.fitted)


def _read_basis(content: bytes) -> Basis:
    basis = json.loads(content)
    alphabet = Alphabet(basis["alphabet"])
    prefixes, suffixes = alphabet.words(basis["prefixes"]), alphabet.words(basis["suffixes"])
    return Basis(prefixes, suffixes, basis["source"], basis["n_cut"])


def _read_fidelity(contents: Mapping[str, bytes], n_words: int, n_prefixes: int) -> FidelityTable:
    rows = _read_csv("fidelity.csv", contents)
    values = [{name: float(x) for name, x in row.items() if name != "rank"} for row in rows]
    fidelities = tuple(Fidelity.from_saved(v, n_words, n_prefixes) for v in values)
    return FidelityTable(tuple(int(row["rank"]) for row in rows), fidelities)


def _read_csv(name: str, contents: Mapping[str, bytes]) -> list[dict[str, str]]:
    text = contents[name].decode("utf-8")
    if not text.endswith("\n"):
        raise FileError(f"{name}: cut short: the last line does not end")
    return csv_dicts(text)
