"""A box that counts what is read of it, one prefix with its whole next-symbol row as one query."""

from __future__ import annotations

from typing import Any

import numpy as np
from boxes import opened
from job import Clock, LimitReachedError, Word


class CountedBox:
    """Next-symbol rows of a box, each distinct prefix read once and counted.

    Reading a prefix reads every shorter one on the way; these count, too, once.
    """

    def __init__(self, box: Any, budget: int, clock: Clock) -> None:
        self.box, self.budget, self.clock = box, budget, clock
        states = box.start()
        self._known = {(): (states, box.state_next_symbol(states)[0])}

    @classmethod
    def open(cls, name: str, budget: int, clock: Clock) -> CountedBox:
        """Open the box of a name."""
        return cls(opened(name), budget, clock)

    @property
    def n_queries(self) -> int:
        """Distinct prefixes that were read, the empty one included."""
        return len(self._known)

    def row(self, prefix: Word) -> np.ndarray:
        """Return the next-symbol probabilities after a prefix, the end last."""
        known = self._known.get(prefix)
        return self._read(prefix) if known is None else known[1]

    def _read(self, prefix: Word) -> np.ndarray:
        length = len(prefix) - 1
        while prefix[:length] not in self._known:
            length -= 1
        for end in range(length + 1, len(prefix) + 1):
            if self.n_queries >= self.budget or self.clock.is_over:
                raise LimitReachedError
            states = self._known[prefix[: end - 1]][0]
            states = self.box.step(states, np.array([0]), np.array([prefix[end - 1]]))
            self._known[prefix[:end]] = states, self.box.state_next_symbol(states)[0]
        return self._known[prefix][1]
