"""Run folders: what an extraction leaves on disk, and every later command opens.

::

    RUN/
      config.json            how it was made, and the rank that was chosen
      basis.json             the prefixes and suffixes that were asked about
      singular_values.csv    one a rank
      fidelity.csv           every metric on held-out words, one row a rank
      automaton.npz          the automaton of the largest rank; smaller ranks are its leading blocks
      fitted.npz             by contexts only: what `seqray.ranked` says
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqray.basis import Basis
from seqray.errors import ArgumentError, FileError, MissingFileError
from seqray.extraction import Extraction
from seqray.fidelity import Fidelity, FidelityTable
from seqray.files import DAMAGE, check_header, read_text, reading, writing
from seqray.ranked import RankedAutomata
from seqray.spectral import Decomposition
from seqray.words import Alphabet

FORMAT, VERSION = "seqray.run", 1

OWN = (
    *("config.json", "basis.json", "singular_values.csv", "fidelity.csv"),
    *("automaton.npz", "fitted.npz"),
)
"""The files of a run; all else in its folder is the user's."""


def save_run(
    found: Extraction,
    folder: str | os.PathLike[str],
    *,
    rank: int | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write an extraction to a run folder, whole or not at all.

    Parameters
    ----------
    found
        What `seqray.extract` returned.
    folder
        Where to. In a run folder that is there already, the run is replaced and all else is kept;
        any other folder is refused.
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
    check_run_target(folder)
    chosen = found.automaton(found.best_rank() if rank is None else rank)
    config = {
        "format": FORMAT,
        "version": VERSION,
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
    with writing(folder) as fresh:
        fresh.mkdir()
        (fresh / "config.json").write_text(json.dumps(config, indent=1), "utf-8")
        (fresh / "basis.json").write_text(json.dumps(basis, ensure_ascii=False), "utf-8")
        _write_csv(fresh / "singular_values.csv", ["rank", "value"], values)
        _write_csv(fresh / "fidelity.csv", list(rows[0]), [list(row.values()) for row in rows])
        found.automata.save(fresh)
        _keep_others(Path(folder), fresh)


def check_run_target(folder: str | os.PathLike[str]) -> None:
    """Refuse a place where a run folder cannot go, before any work is done."""
    target = Path(folder)
    if target.exists() and not _is_run(target) and not _is_empty(target):
        raise ArgumentError(f"{target}: is there already and is no run folder: choose another name")
    if not target.absolute().parent.is_dir():
        raise ArgumentError(f"{target}: there is no folder {target.parent} to put it in")
    try:
        tempfile.TemporaryDirectory(prefix=".seqray.", dir=target.absolute().parent).cleanup()
    except OSError as error:
        raise FileError(f"{target}: cannot write here: {error.strerror or error}") from error


def _keep_others(old: Path, fresh: Path) -> None:
    """Copy what a user put into an old run folder, such as drawings, into the new one."""
    for entry in old.iterdir() if old.is_dir() else ():
        if entry.name in OWN:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, fresh / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, fresh / entry.name, follow_symlinks=False)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _is_run(folder: Path) -> bool:
    """Whether a folder is a run, damaged or not: many another kind has a config.json too."""
    try:
        config = json.loads(read_text(folder / "config.json"))
    except (FileError, *DAMAGE):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def open_run(folder: str | os.PathLike[str]) -> Extraction:
    """Read the extraction back from a run folder."""
    home = Path(folder)
    if not home.exists():
        raise MissingFileError(f"{home}: there is no such folder")
    if not (home / "config.json").is_file():
        raise FileError(f"{home}: expected a run folder that `seqray extract` wrote")
    with reading(home, "a run folder"):
        config = json.loads(read_text(home / "config.json"))
        check_header(config, FORMAT, VERSION)
        values = [float(row["value"]) for row in _read_csv(home / "singular_values.csv")]
        automata = RankedAutomata.load(home)
        if config.get("method") == "conditional" and automata.through is None:
            raise FileError("damaged: fitted.npz is missing")
        table = _read_fidelity(home, config["words"], config["word_prefixes"])
        n = automata.largest.n_states
        if table.ranks != tuple(range(1, n + 1)) or len(values) != n:
            raise FileError(
                f"damaged: {len(values)} singular values and fidelity of {len(table)} ranks: "
                f"expected them to fit an automaton of {n} states"
            )
        if config["rank"] not in table.ranks:
            raise FileError(f"damaged: rank {config['rank']!r} was chosen: expected 1 … {n}")
        settings = {k: v for k, v in config.items() if k not in ("format", "version")}
        decomposition = Decomposition(np.array(values), automata.largest, automata.through)
        return Extraction(decomposition, _read_basis(home), table, settings, automata.fitted)


def _read_basis(home: Path) -> Basis:
    basis = json.loads(read_text(home / "basis.json"))
    alphabet = Alphabet(basis["alphabet"])
    prefixes, suffixes = alphabet.words(basis["prefixes"]), alphabet.words(basis["suffixes"])
    return Basis(prefixes, suffixes, basis["source"], basis["n_cut"])


def _read_fidelity(home: Path, n_words: int, n_prefixes: int) -> FidelityTable:
    rows = _read_csv(home / "fidelity.csv")
    values = [{name: float(x) for name, x in row.items() if name != "rank"} for row in rows]
    fidelities = tuple(Fidelity(v, n_words=n_words, n_prefixes=n_prefixes) for v in values)
    return FidelityTable(tuple(int(row["rank"]) for row in rows), fidelities)


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _read_csv(path: Path) -> list[dict[str, str]]:
    text = read_text(path)
    if not text.endswith("\n"):
        raise FileError(f"{path}: cut short: the last line does not end")
    return list(csv.DictReader(text.splitlines()))
