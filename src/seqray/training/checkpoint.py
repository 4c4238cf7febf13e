"""Checkpoints: the file that a training writes after every epoch, so that it can resume.

A safetensors file: arrays, and JSON in its header. Nothing in it can run code. The state of the
random generator need not be saved: every epoch makes its own from the seed, the size and its
number.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.words import Words
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError
from seqray.util.files import check_header, reading
from seqray.util.tensors_file import opened_tensors, write_tensors

FORMAT, VERSION = "seqray.training", 1

ARRAYS = ("weights", "step", "exp_avg", "exp_avg_sq")
"""The arrays of a `Learner`: its network's weights, and what Adam remembers."""

NOT_COMPARED = {"patience"}
"""Settings that may change when a training resumes: they say when it ends, not what it learns."""


class Epoch(NamedTuple):
    """One epoch of one size: cross-entropies in nats per symbol or end, and seconds.

    ``training`` is the mean over the epoch while the weights change, ``validation`` is that of
    the weights at its end.
    """

    hidden: int
    epoch: int
    training: float
    validation: float
    seconds: float


class Checkpoint(NamedTuple):
    """The epochs so far, the state after the last one, and the weights after the best one."""

    history: tuple[Epoch, ...]
    state: dict[str, FloatArray]
    best: FloatArray

    def save(self, path: str | os.PathLike[str], purpose: dict[str, Any]) -> None:
        """Write to a file; ``purpose`` says what is trained, on what and how."""
        header = {"format": FORMAT, "version": VERSION, "purpose": purpose}
        header["history"] = [list(row) for row in self.history]
        tensors = {name: np.asarray(array) for name, array in self.state.items()}
        write_tensors(path, {**tensors, "best": self.best}, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str], purpose: dict[str, Any]) -> Checkpoint | None:
        """Read a file, None where there is none; refuse one with another purpose."""
        if not os.path.exists(path):
            return None
        with reading(path, "a checkpoint of seqray train"):
            with opened_tensors(path) as (header, file):
                check_header(header, FORMAT, VERSION)
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            history = tuple(Epoch(*row) for row in header["history"])
            saved, best = header["purpose"], tensors.pop("best")
            if not history or not isinstance(saved, dict):
                raise ValueError("it has no history")
            if {*tensors} != {*ARRAYS}:
                raise ValueError(f"expected the arrays {', '.join(ARRAYS)}, got {sorted(tensors)}")
            _check_epochs(history)
            _check_arrays(tensors, best)
        _check_purpose(path, saved, purpose)
        return cls(history, tensors, best)


def _check_epochs(history: tuple[Epoch, ...]) -> None:
    for epoch in history:
        numbers = [isinstance(each, int | float) and each is not True for each in epoch]
        if not all(numbers) or not all(isinstance(each, int) for each in epoch[:2]):
            raise ValueError(f"expected epochs of numbers, got {tuple(epoch)!r:.200}")


def _check_arrays(arrays: dict[str, FloatArray], best: FloatArray) -> None:
    """Refuse arrays that are no real numbers or differ in shape; the best may have another size."""
    shape = arrays["weights"].shape
    for name, array in {**arrays, "best": best}.items():
        fits = array.ndim == 1 if name == "best" else name == "step" or array.shape == shape
        if array.dtype.kind != "f" or not fits:
            raise ValueError(
                f"{name} has type {array.dtype} and shape {array.shape}: expected real numbers of "
                f"shape {shape}, as the weights have"
            )


def digest(words: Words) -> str:
    """Return a short digest of words."""
    sha = hashlib.sha256(repr(words.alphabet.symbols).encode(errors="backslashreplace"))
    sha.update(np.ascontiguousarray(words.offsets).tobytes())
    sha.update(np.ascontiguousarray(words.codes).tobytes())
    return sha.hexdigest()[:16]


def _check_purpose(
    path: str | os.PathLike[str], saved: dict[str, Any], wanted: dict[str, Any]
) -> None:
    wanted = json.loads(json.dumps(wanted))  # tuples become lists, as they are in the file
    names = [name for name in {**wanted, **saved} if name not in NOT_COMPARED]
    differ = [name for name in names if saved.get(name) != wanted.get(name)]
    if differ:
        changes = "; ".join(
            f"{name} was {saved.get(name)}, is {wanted.get(name)}" for name in differ
        )
        raise ArgumentError(
            f"{path}: this checkpoint is of another training ({changes}): train as before to go on "
            "with it, or remove it to begin anew"
        )
