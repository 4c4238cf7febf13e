"""What ``.json`` and ``.npz`` files of automata hold: an alphabet, and every number exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.words import Alphabet
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError
from seqray.util.files import check_header, read_bytes, reading, writing
from seqray.util.npz import NpzArrays, npz_bytes

FORMAT, VERSION = "seqray.automaton", 1


class AutomatonContent(NamedTuple):
    """An alphabet, and the arrays of an automaton as `WeightedAutomaton` takes them."""

    alphabet: Alphabet
    arrays: Mapping[str, Any]


def write_automaton(path: str | os.PathLike[str], content: AutomatonContent) -> None:
    """Write an automaton to a ``.json`` or ``.npz`` file."""
    data = to_npz(content) if _suffix(path) == ".npz" else _to_json(content)
    with writing(path) as fresh:
        fresh.write_bytes(data)


def read_automaton(path: str | os.PathLike[str]) -> AutomatonContent:
    """Read what `write_automaton` wrote. No file can make it run code."""
    suffix, data = _suffix(path), read_bytes(path)
    with reading(path, "a seqray automaton"):
        if suffix == ".npz":
            return from_npz(data)
        document = json.loads(data)
        return _read(document, document)


def to_npz(content: AutomatonContent) -> bytes:
    """Return what a ``.npz`` file holds."""
    return npz_bytes({"header": np.array(json.dumps(_header(content))), **content.arrays})


def from_npz(data: bytes) -> AutomatonContent:
    """Return what `to_npz` wrote."""
    arrays = NpzArrays(data)
    return _read(json.loads(str(arrays["header"])), arrays)


def _to_json(content: AutomatonContent) -> bytes:
    lists = {name: array.tolist() for name, array in content.arrays.items()}
    return json.dumps({**_header(content), **lists}, ensure_ascii=False).encode()


def _header(content: AutomatonContent) -> dict[str, object]:
    return {"format": FORMAT, "version": VERSION, "alphabet": content.alphabet.to_json()}


def _read(header: Any, arrays: Mapping[str, Any] | NpzArrays) -> AutomatonContent:
    check_header(header, FORMAT, VERSION)
    names = "initial", "transitions", "final"
    parts: dict[str, FloatArray | None] = {name: arrays[name] for name in names}
    parts["elsewhere"] = arrays.get("elsewhere")
    return AutomatonContent(Alphabet(header["alphabet"]), parts)


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix
    if suffix not in (".json", ".npz"):
        raise ArgumentError(f"{path}: an automaton file ends in .json or .npz, not {suffix!r}")
    return suffix
