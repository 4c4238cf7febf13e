"""What a fit is given, and what it leaves: files that every environment can read with NumPy."""

from __future__ import annotations

import json
import resource
import time
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Word = tuple[int, ...]

WORDS_FILE, MODEL_FILE, OUTCOME_FILE = "words.npz", "model.npz", "outcome.json"


@dataclass(frozen=True)
class Drawn:
    """Words that were drawn from a box, as codes, with what the box predicted after each prefix.

    Parameters
    ----------
    n_symbols
        The size of the alphabet; the end of a word has this code.
    codes, offsets
        Word ``i`` is ``codes[offsets[i] : offsets[i + 1]]``.
    n_training
        So many words are for training, the others for validation.
    rows
        Next-symbol probabilities after each distinct prefix, the end last.
    node, parent, symbol
        ``node[i]`` is the row after word ``i``; ``parent`` and ``symbol`` make a tree of the rows.
    """

    n_symbols: int
    codes: np.ndarray
    offsets: np.ndarray
    n_training: int
    rows: np.ndarray
    node: np.ndarray
    parent: np.ndarray
    symbol: np.ndarray

    @classmethod
    def load(cls, folder: Path) -> Drawn:
        """Read what `save` wrote into a folder."""
        with np.load(folder / WORDS_FILE) as arrays:
            values = {name: arrays[name] for name in arrays.files}
        for name in ("n_symbols", "n_training"):
            values[name] = int(values[name])
        return cls(**values)

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        np.savez(folder / WORDS_FILE, **values)

    @cached_property
    def words(self) -> list[Word]:
        """All words, as tuples of codes."""
        bounds = self.offsets.tolist()
        codes = self.codes.tolist()
        return [tuple(codes[a:b]) for a, b in pairwise(bounds)]

    @property
    def training(self) -> list[Word]:
        """The words to fit to."""
        return self.words[: self.n_training]

    @property
    def validation(self) -> list[Word]:
        """The words to choose settings by."""
        return self.words[self.n_training :]

    def path(self, i: int) -> list[int]:
        """Return the rows along word ``i``: after the empty prefix, …, after the whole word."""
        nodes = [int(self.node[i])]
        while nodes[-1]:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]


class LimitReachedError(Exception):
    """The budget of queries, or the time, is used up."""


class Clock:
    """Processor seconds since it was made, and whether a limit is over."""

    def __init__(self, limit: float) -> None:
        self.begin, self.limit = time.process_time(), limit

    def restart(self) -> None:
        """Begin to count now."""
        self.begin = time.process_time()

    @property
    def seconds(self) -> float:
        """Processor seconds so far."""
        return time.process_time() - self.begin

    @property
    def is_over(self) -> bool:
        """Whether the limit is over."""
        return self.seconds > self.limit


def peak_megabytes() -> float:
    """Return the most memory that this process had, with all that it imported.

    Linux counts it anew for every program; what `getrusage` says includes the parent's.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def save_outcome(folder: Path, model: Arrays, outcome: dict[str, Any]) -> None:
    np.savez(folder / MODEL_FILE, **model)
    (folder / OUTCOME_FILE).write_text(json.dumps(outcome))
