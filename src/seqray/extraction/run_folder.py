"""Run folders: an extraction on disk, which every later command opens.

::

    RUN/
      config.json            how it was made, the rank that was chosen, checksums of all files
      basis.json             the prefixes and suffixes that were queried
      singular_values.csv    one per rank
      fidelity.csv           every metric on held-out words, one row per rank
      automaton.npz          the automaton of the largest rank; smaller ranks are its leading blocks
      fitted.npz             method conditional only: see `seqray.automata.ranks`
      copies.csv             every metric of each copy, where there are copies
      copy-1.npz, …          the copies, structured automata, smaller ones first
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import FITTED, RankedAutomata
from seqray.automata.words import Alphabet
from seqray.blackbox.box_record import BoxRecord
from seqray.blackbox.registry import ADAPTERS
from seqray.extraction.basis import Basis
from seqray.extraction.request import Method
from seqray.extraction.result import Extraction, ExtractionSettings
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.formats.run_files import check_run_target, opened_run, write_run
from seqray.util.csv_table import csv_dicts, plain_csv_bytes
from seqray.util.errors import FileError, SeqrayError
from seqray.util.files import reading

COPIES = "copies.csv"

__all__ = ["check_run_target", "open_run", "save_run"]


def save_run(
    extraction: Extraction,
    folder: str | os.PathLike[str],
    *,
    rank: int | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write an extraction to a run folder, whole or not at all.

    Where that fails, the run is saved in a new folder among the system's temporary files, and the
    error says where: the answers of the box are not lost.

    Parameters
    ----------
    extraction
        What `seqray.extract` returned.
    folder
        The run folder, or a link to it. Where it is one already, the run is replaced and all
        else stays; any other folder that is not empty is refused. Call
        `check_run_target` to find out before the work.
    rank
        The number of states that later commands use; copies are left out then. By default the
        best, and copies are saved too.
    about
        What else ``config.json`` is to hold, such as the box's specification.

    Examples
    --------
    >>> import seqray, tempfile
    >>> box = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> save_run(seqray.extract(box, n_prefixes=30, n_suffixes=30), folder)
    >>> open_run(folder).best()
    WeightedAutomaton(1 states, 2 symbols)
    """
    chosen = extraction.automaton(extraction.best_rank() if rank is None else rank)
    settings = replace(extraction.settings, recorded_box=_record_for(folder, extraction.settings))
    config = {
        **({"box": settings.recorded_box.spec} if settings.recorded_box else {}),
        **(about or {}),
        **settings,
        "rank": chosen.n_states,
        "rank_is_given": rank is not None or extraction.has_given_rank,
        "words": extraction.fidelity.fidelities[0].n_words,
        "word_prefixes": extraction.fidelity.fidelities[0].n_prefixes,
    }
    basis = {
        "alphabet": extraction.basis.alphabet.to_json(),
        "source": extraction.basis.source,
        "n_cut": extraction.basis.n_cut,
        "prefixes": [list(word) for word in extraction.basis.prefixes],
        "suffixes": [list(word) for word in extraction.basis.suffixes],
    }
    values = [(i + 1, repr(float(v))) for i, v in enumerate(extraction.singular_values)]
    rows = extraction.fidelity.rows()
    contents = {
        "basis.json": json.dumps(basis, ensure_ascii=False).encode(),
        "singular_values.csv": plain_csv_bytes(["rank", "value"], values),
        "fidelity.csv": plain_csv_bytes(list(rows[0]), [list(row.values()) for row in rows]),
        **extraction.automata.to_files(),
        **_copies_to_files(extraction.copies if rank is None else ()),
    }
    try:
        write_run(folder, config, contents)
    except SeqrayError as error:
        raise type(error)(f"{error}; {_save_elsewhere(config, contents)}") from error


def _record_for(folder: str | os.PathLike[str], settings: ExtractionSettings) -> BoxRecord | None:
    """Return how the box was opened, with its path as it is seen from the run folder."""
    record = settings.recorded_box
    if record is None or record.path_from_run is not None:  # the latter belongs to another folder
        return record and replace(record, path_from_run=None)
    is_file = record.kind in ADAPTERS and ADAPTERS[record.kind].reads_files_only
    return record.seen_from(folder) if is_file else record


def _save_elsewhere(config: Mapping[str, Any], contents: Mapping[str, bytes]) -> str:
    """Save a run among the system's temporary files, and say where, or why not."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="seqray-"), "run")
        write_run(folder, config, contents)
    except (OSError, SeqrayError) as error:
        return f"nor can the run be saved elsewhere: {error}"
    return f"the run was saved in {folder} instead: move it from there"


def open_run(folder: str | os.PathLike[str]) -> Extraction:
    """Return the extraction that a run folder holds."""
    with opened_run(folder) as (config, contents):
        values = [float(row["value"]) for row in _read_csv("singular_values.csv", contents)]
        automata = RankedAutomata.from_files(contents)
        if config.get("method") == Method.CONDITIONAL and FITTED not in contents:
            raise FileError(f"damaged: {FITTED} is missing")
        known = {k: v for k, v in config.items() if k not in ("format", "version")}
        settings = ExtractionSettings.from_json(known)
        table = _read_fidelity(contents, settings)
        n = automata.max_rank
        if table.ranks != tuple(range(1, n + 1)) or len(values) != n:
            raise FileError(
                f"damaged: {len(values)} singular values and fidelity of {len(table)} ranks: "
                f"expected them to fit an automaton of {n} states"
            )
        if not np.isfinite(values).all():
            raise FileError(f"damaged: singular values {values}: expected finite numbers")
        if config["rank"] not in table.ranks:
            raise FileError(f"damaged: rank {config['rank']!r} was chosen: expected 1 … {n}")
        automata = replace(automata, singular_values=np.array(values))
        basis = _read_basis(contents["basis.json"])
        copies = _read_copies(contents, settings)
        return Extraction(automata, basis, table, settings, copies)


def _copies_to_files(copies: Sequence[Copy]) -> dict[str, bytes]:
    """Return the content of the files of copies, by name; none where there is no copy."""
    if not copies:
        return {}
    names = list(copies[0].fidelity)
    rows = [[i, *(copy.fidelity[name] for name in names)] for i, copy in enumerate(copies, 1)]
    automata = {f"copy-{i}.npz": copy.automaton.to_npz() for i, copy in enumerate(copies, 1)}
    return {COPIES: plain_csv_bytes(["copy", *names], rows), **automata}


def _read_copies(contents: Mapping[str, bytes], settings: ExtractionSettings) -> tuple[Copy, ...]:
    """Return the copies that a run folder holds."""
    copies = []
    for row in _read_csv(COPIES, contents) if COPIES in contents else ():
        name = f"copy-{int(row['copy'])}.npz"
        if name not in contents:
            raise FileError(f"damaged: {name} is missing, which {COPIES} names")
        values = {metric: float(value) for metric, value in row.items() if metric != "copy"}
        fidelity = _saved_fidelity(values, settings)
        with reading(name, "a seqray automaton"):
            copies.append(Copy(WeightedAutomaton.from_npz(contents[name]), fidelity))
    return tuple(copies)


def _read_basis(content: bytes) -> Basis:
    basis = json.loads(content)
    alphabet = Alphabet(basis["alphabet"])
    prefixes, suffixes = alphabet.words(basis["prefixes"]), alphabet.words(basis["suffixes"])
    return Basis(prefixes, suffixes, basis["source"], basis["n_cut"])


def _saved_fidelity(row: Mapping[str, float], settings: ExtractionSettings) -> Fidelity:
    n_words, n_prefixes = settings["words"], settings["word_prefixes"]
    if n_words is not None and not n_words >= 1:
        raise FileError(f"damaged: fidelity on {n_words!r} words: expected 1 or more")
    return Fidelity.from_saved(row, n_words, n_prefixes, settings.objective)


def _read_fidelity(contents: Mapping[str, bytes], settings: ExtractionSettings) -> FidelityTable:
    rows = _read_csv("fidelity.csv", contents)
    values = [{name: float(x) for name, x in row.items() if name != "rank"} for row in rows]
    fidelities = tuple(_saved_fidelity(each, settings) for each in values)
    return FidelityTable(tuple(int(row["rank"]) for row in rows), fidelities)


def _read_csv(name: str, contents: Mapping[str, bytes]) -> list[dict[str, str]]:
    text = contents[name].decode("utf-8")
    if not text.endswith("\n"):
        raise FileError(f"{name}: cut short: the last line does not end")
    return csv_dicts(text)
