"""Black boxes by name: ``wa:machine.json``, ``rnn:model.safetensors``.

This is the only place that names an adapter, and it does so by string: none is loaded before a
box of its kind is opened.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import os
from typing import Any, NamedTuple

from seqray.blackbox.protocol import BlackBox
from seqray.errors import ArgumentError


class Adapter(NamedTuple):
    """Where a kind of black box is opened, and what it is."""

    target: str
    """``module:function``; the function takes what follows the name in a specification."""
    argument: str
    """What that is, for people."""
    description: str
    """One line for ``--help``."""


ADAPTERS = {
    "rnn": Adapter(
        "seqray.blackbox.rnn:RecurrentNetwork.load",
        "PATH",
        "a recurrent network that seqray trained, in a .safetensors file",
    ),
    "taysir": Adapter(
        "seqray.blackbox.taysir:load_taysir",
        "FOLDER",
        "a language model of the TAYSIR competition, in a folder of plain arrays",
    ),
    "wa": Adapter(
        "seqray.blackbox.wa:open_wa",
        "PATH",
        "a weighted automaton: .json, .npz, the folder of an extraction, or a PAutomaC machine",
    ),
}

SUFFIXES = {".safetensors": "rnn", ".json": "wa", ".npz": "wa", "_model.txt": "wa"}
"""Which kind a bare path is."""


def open_black_box(spec: str | os.PathLike[str]) -> BlackBox:
    """Open a black box by its specification.

    Parameters
    ----------
    spec
        ``kind:where``; `known_black_boxes` lists the kinds. The kind may be left out before a path
        that ends in ``.safetensors`` (rnn), ``.json``, ``.npz`` or ``_model.txt`` (wa).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from seqray import WeightedAutomaton
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "coin.json")
    ...     WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).save(path)
    ...     open_black_box(f"wa:{path}").weights(["", "a"])
    array([0.5 , 0.25])
    """
    kind, where = _split(os.fspath(spec))
    module, _, attributes = ADAPTERS[kind].target.partition(":")
    opener: Any = functools.reduce(getattr, attributes.split("."), importlib.import_module(module))
    box: BlackBox = opener(where)
    return box


def known_black_boxes() -> dict[str, str]:
    """Return each kind of black box with one line about it.

    Examples
    --------
    >>> sorted(known_black_boxes())[-1]
    'wa'
    """
    return {kind: adapter.description for kind, adapter in ADAPTERS.items()}


def _split(spec: str) -> tuple[str, str]:
    """Return the kind and what follows it."""
    kind, colon, where = spec.partition(":")
    if not colon or len(kind) == 1:  # a bare path, maybe on a drive C:
        for suffix, guess in SUFFIXES.items():
            if spec.endswith(suffix):
                return guess, spec
        raise ArgumentError(f"black box {spec!r}: expected KIND:WHERE, one of {_forms()}")
    if kind not in ADAPTERS:
        near = difflib.get_close_matches(kind.lower(), ADAPTERS, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ArgumentError(
            f"black box {spec!r}: unknown kind {kind!r}: {hint}expected one of {_forms()}"
        )
    if not where:
        raise ArgumentError(
            f"black box {spec!r}: say where it is: {kind}:{ADAPTERS[kind].argument}"
        )
    return kind, where


def _forms() -> str:
    return ", ".join(f"{kind}:{adapter.argument}" for kind, adapter in ADAPTERS.items())
