"""How to train: the settings of `train` that are not data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from seqray.automata.words import Alphabet
from seqray.blackbox.native.cells import check_name
from seqray.training.checkpoint import Epoch
from seqray.training.network import CELLS, Network
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError

SCHEDULES: dict[str, Callable[[float], float]] = {
    "cosine": lambda done: min(1.0, 20 * done) * (1 + math.cos(math.pi * done)) / 2,
    "constant": lambda done: 1.0,
}
"""The learning rate's factor when a share of the steps is done. Cosine begins with a warm-up."""

DEFAULT_PATIENCE = 10
"""Epochs without a better one, after which a size is left."""


@dataclass(frozen=True)
class Recipe:
    """How to train; the arguments of `train` that are not data."""

    sizes: tuple[int, ...]
    epochs: int
    cell: str
    n_layers: int
    embedding: int | None
    batch_size: int
    learning_rate: float
    schedule: str
    clip: float
    patience: int | None
    seed: int

    def __post_init__(self) -> None:
        sizes = tuple(whole_number("sizes", size, 1) for size in self.sizes)
        if not sizes or len(set(sizes)) < len(sizes):
            raise ArgumentError(f"sizes: expected one or more, all different, got {self.sizes}")
        object.__setattr__(self, "sizes", sizes)
        for name in ("epochs", "n_layers", "batch_size"):
            whole_number(name, getattr(self, name), 1)
        for name in ("embedding", "patience"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1)
        check_name("cell", self.cell, CELLS)
        check_name("schedule", self.schedule, SCHEDULES)
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ArgumentError(f"{name}: expected more than 0, got {getattr(self, name)!r}")

    def build(self, alphabet: Alphabet, hidden: int) -> Network:
        """Return a fresh network of a size. It depends on the seed and the size alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, hidden]).generate_state(1)[0]))
            return Network(
                len(alphabet),
                hidden=hidden,
                n_layers=self.n_layers,
                embedding=self.embedding,
                cell=self.cell,
            )

    def is_done(self, rows: Sequence[Epoch]) -> bool:
        """Return whether one size has been trained long enough."""
        if not rows or len(rows) == self.epochs:
            return bool(rows)
        best = min(rows, key=lambda row: row.validation)
        return self.patience is not None and rows[-1].epoch - best.epoch >= self.patience

    def rate(self, done: float) -> float:
        """Return the learning rate when a share of the steps is done."""
        return self.learning_rate * SCHEDULES[self.schedule](done)
