"""Black boxes that travel to workers: how they are opened there, never a live model.

Automata and recurrent networks of seqray's own travel as the content of their files. Any other box
travels as its specification and is opened by each worker. No secret travels.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.guide import Guide
from seqray.blackbox.box_record import BoxRecord, record_of
from seqray.blackbox.guided import GuidedBox
from seqray.blackbox.native.rnn import RecurrentNetwork
from seqray.blackbox.protocol import BlackBox, name_of
from seqray.blackbox.registry import ADAPTERS, open_black_box, split_spec
from seqray.parallel.executor import Executor
from seqray.util.errors import ArgumentError, BlackBoxError
from seqray.util.redaction import is_secret_name

MAX_OPEN_BOXES = 2
"""Boxes that stay open on a worker."""


@dataclass(frozen=True, eq=False)
class BoxParcel:
    """How a worker opens a box.

    Parameters
    ----------
    spec, options
        Its specification; just its kind where the content travels.
    content
        What its file holds, for automata and networks of seqray's own.
    fingerprint
        What the box that is opened has to have: otherwise the worker has another file or module.
    folder
        The caller's current folder, where modules are looked for if the worker has it.
    guide
        What the box may say.

    Examples
    --------
    >>> parcel = BoxParcel.of(open_black_box("demo"))
    >>> parcel.spec, len(parcel.content) > 1000
    ('rnn', True)
    >>> parcel.opened().alphabet
    Alphabet(['a', 'b', 'c', 'd'])
    """

    spec: str
    options: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    fingerprint: str | None = None
    folder: str = ""
    guide: Guide | None = None

    @classmethod
    def of(cls, box: BlackBox) -> BoxParcel:
        """Return the parcel of a box; refuse one that no worker can open."""
        if isinstance(box, GuidedBox):
            return replace(cls.of(box.box), guide=box.guide)
        if isinstance(box, WeightedAutomaton):
            return cls("wa", content=box.to_npz())
        fingerprint = _fingerprint(box)
        if isinstance(box, RecurrentNetwork) and _is_own(box):
            return cls("rnn", content=_saved(box), fingerprint=fingerprint)
        record = record_of(box)
        if record is None:
            raise ArgumentError(
                f"executor: {name_of(box)} lives in this process alone, and no worker can open it: "
                "expected a box with a specification; put it into a module and open it with "
                "open_black_box('python:MODULE:OBJECT'), or leave out the executor"
            )
        _check_record(record)
        kind, where = split_spec(record.spec)
        spec = record.spec
        if ADAPTERS[kind].reads_files_only and where and os.path.exists(where):
            spec = f"{kind}:{os.path.abspath(where)}"
        return cls(spec, dict(record.options), None, fingerprint, os.getcwd())

    def opened(self) -> BlackBox:
        """Open the box, or return it if it is open: once on each thread of a worker."""
        boxes: OrderedDict[str, BlackBox] = _OPEN.__dict__.setdefault("boxes", OrderedDict())
        if self._digest not in boxes:
            boxes[self._digest] = self._open()
            while len(boxes) > MAX_OPEN_BOXES:
                boxes.popitem(last=False)
        boxes.move_to_end(self._digest)
        box = boxes[self._digest]
        return box if self.guide is None else GuidedBox(box, self.guide)

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256(repr((self.spec, self.options, self.fingerprint)).encode())
        digest.update(self.content or b"")
        return digest.hexdigest()

    def _open(self) -> BlackBox:
        if self.content is not None and self.spec == "wa":
            return WeightedAutomaton.from_npz(self.content)
        if self.content is not None:
            return _loaded(self.content)
        if self.folder not in sys.path and os.path.isdir(self.folder):
            sys.path.append(self.folder)
        box = open_black_box(self.spec, **self.options)
        fingerprint = _fingerprint(box)
        if fingerprint != self.fingerprint:
            raise BlackBoxError(
                f"a worker opened {self.spec} and it is another box there ({fingerprint!r:.80}; "
                f"expected {self.fingerprint!r:.80}): give all workers the same files and modules"
            )
        return box


_OPEN = threading.local()


@dataclass(frozen=True, eq=False)
class BoxWorkers:
    """Workers that can query a box.

    Parameters
    ----------
    executor
        Where they are.
    parcel
        How they open the box.
    """

    executor: Executor
    parcel: BoxParcel


def _fingerprint(box: object) -> str | None:
    fingerprint: str | None = getattr(getattr(box, "backend", box), "fingerprint", None)
    return fingerprint


def _is_own(box: object) -> bool:
    return type(box).__module__.startswith("seqray.")


def _check_record(record: BoxRecord) -> None:
    """Refuse a box that was opened with what does not travel."""
    secret = [name for name in record.left_out if is_secret_name(name)]
    if secret or record.has_secrets:
        what = f"the option {secret[0]!r}" if secret else "a secret in its specification"
        raise ArgumentError(
            f"executor: the box was opened with {what}, and secrets are not sent to workers: set "
            "it in the environment of the workers, as docs/boxes/ says, and leave it out here"
        )
    if record.left_out:
        raise ArgumentError(
            f"executor: the option {record.left_out[0]!r} of the box is no number, text or list, "
            "and cannot be sent to workers: leave it out, or leave out the executor"
        )


def _saved(network: RecurrentNetwork) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "network.safetensors")
        network.save(path)
        return path.read_bytes()


def _loaded(content: bytes) -> RecurrentNetwork:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "network.safetensors")
        path.write_bytes(content)
        return RecurrentNetwork.load(path)
