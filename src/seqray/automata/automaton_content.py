"""What ``.json`` and ``.npz`` files of automata hold: an alphabet, and every number exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.words import Alphabet
from seqray.util.checksums import CHECKSUM, compare, of_arrays, opened_json, sealed_json
from seqray.util.errors import ArgumentError, FileError
from seqray.util.files import check_header, read_bytes, reading, writing
from seqray.util.npz import NpzArrays, npz_bytes

FORMAT, VERSION = "seqray.automaton", 2
DENSE_VERSION = 1  # of files that every seqray reads

STRUCTURED, CLASSIFIER = "structured", "classifier"

CLASSIFIER_ARRAYS = "initial", "transitions", "outputs"
DENSE_ARRAYS = "initial", "transitions", "final"
STRUCTURED_ARRAYS = (
    *("next_group", "group_sizes", "start_group", "initial_vector"),
    *("emission", "entry", "pair_groups", "pair_symbols", "values"),
)

OPTIONAL_ARRAYS = "pair_matrices", "outputs", "output_names"
"""Of structured automata; the outputs are those of deterministic ones."""


class AutomatonContent(NamedTuple):
    """An alphabet, and the arrays of an automaton by name.

    They are what `WeightedAutomaton` takes, or what `StructuredAutomaton.from_arrays` takes. What
    is ``about`` an automaton that classifies are its classes, its question and its threshold.
    """

    alphabet: Alphabet
    arrays: Mapping[str, Any]
    about: Mapping[str, Any] = MappingProxyType({})

    @property
    def is_structured(self) -> bool:
        """Whether these are the arrays of a structured automaton."""
        return "next_group" in self.arrays

    @property
    def is_deterministic(self) -> bool:
        """Whether these are the arrays of a deterministic automaton that decides."""
        return self.is_structured and self.arrays.get("outputs") is not None

    @property
    def is_classifier(self) -> bool:
        """Whether these are the arrays of a dense automaton that classifies."""
        return not self.is_structured and "outputs" in self.arrays


def write_automaton(path: str | os.PathLike[str], content: AutomatonContent) -> None:
    """Write an automaton to a ``.json`` or ``.npz`` file."""
    written = to_npz if _suffix(path) == ".npz" else to_json
    with writing(path) as fresh:  # which has an error for text that UTF-8 cannot hold
        fresh.write_bytes(written(content))


def read_automaton(path: str | os.PathLike[str]) -> AutomatonContent:
    """Read what `write_automaton` wrote. No file can make it run code."""
    suffix, data = _suffix(path), read_bytes(path)
    with reading(path, "a seqray automaton"):
        return from_npz(data) if suffix == ".npz" else from_json(data)


def to_npz(content: AutomatonContent) -> bytes:
    """Return what a ``.npz`` file holds."""
    header = _header(content)
    checksum = of_arrays(content.arrays, json.dumps(header))
    text = json.dumps({**header, CHECKSUM: checksum})
    return npz_bytes({"header": np.array(text), **content.arrays})


def from_npz(data: bytes) -> AutomatonContent:
    """Return what `to_npz` wrote."""
    arrays = NpzArrays(data)
    header = json.loads(str(arrays["header"]))
    expected = header.pop(CHECKSUM, None) if isinstance(header, dict) else None
    content = _read(header, arrays)
    if expected is not None:  # an array whose name is damaged would pass for one that is not there
        present = {name: each for name, each in content.arrays.items() if each is not None}
        compare(of_arrays(present, json.dumps(header)), expected)
    return content


def to_json(content: AutomatonContent) -> bytes:
    """Return what a ``.json`` file holds, one line; docs/automaton.schema.json describes it."""
    lists = {name: array.tolist() for name, array in content.arrays.items()}
    return sealed_json({**_header(content), **lists})


def from_json(data: bytes) -> AutomatonContent:
    """Return what `to_json` wrote."""
    document = opened_json(data)
    return _read(document, document)


def _header(content: AutomatonContent) -> dict[str, object]:
    alphabet = content.alphabet.to_json()
    if content.is_structured:
        return {"format": FORMAT, "version": VERSION, "kind": STRUCTURED, "alphabet": alphabet}
    if content.is_classifier:
        header = {"format": FORMAT, "version": VERSION, "kind": CLASSIFIER, "alphabet": alphabet}
        return {**header, **content.about}
    return {"format": FORMAT, "version": DENSE_VERSION, "alphabet": alphabet}


def _read(header: Any, arrays: Mapping[str, Any] | NpzArrays) -> AutomatonContent:
    check_header(header, FORMAT, VERSION)
    kind = header.get("kind")
    if kind not in (None, STRUCTURED, CLASSIFIER):
        raise FileError(
            f"expected an automaton of kind {STRUCTURED!r}, {CLASSIFIER!r} or none, got {kind!r}"
        )
    if kind == CLASSIFIER:
        about = {name: header[name] for name in ("classes", "question", "threshold")}
        read = {name: arrays[name] for name in CLASSIFIER_ARRAYS}
        return AutomatonContent(Alphabet(header["alphabet"]), read, about)
    names = DENSE_ARRAYS if kind is None else STRUCTURED_ARRAYS
    parts: dict[str, Any] = {name: arrays[name] for name in names}
    parts["elsewhere"] = arrays.get("elsewhere")
    if kind == STRUCTURED:
        for name in OPTIONAL_ARRAYS:
            parts[name] = arrays.get(name)
    return AutomatonContent(Alphabet(header["alphabet"]), parts)


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix
    if suffix not in (".json", ".npz"):
        raise ArgumentError(
            f"{path}: an automaton file ends in .json or .npz, not {suffix!r}; "
            "seqray.save_automaton and seqray.open_black_box know other formats"
        )
    return suffix
