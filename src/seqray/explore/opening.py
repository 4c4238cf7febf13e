"""What a page opens with: the position of its slider of thresholds (arrows.js has the same)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.util.arrays import FloatArray
from seqray.util.formatting import page_percent

STEPS, DECADES = 60, 3
"""Positions of the page's slider of thresholds, and how far down it goes."""

WANTED_SHARE = 0.9
"""How much of the use of all arrows is drawn, as far as that can be read."""

MIN_SHARE = 0.5
"""Where the readable arrows have less than this, as many as have it are drawn."""

MIN_ARROWS, ARROWS_PER_STATE = 16, 2.2
"""So few arrows are all drawn, light ones too."""

READABLE_ARROWS, READABLE_PER_STATE, MIN_READABLE = 70, 5, 25
"""How many arrows can be read: five per state, 25 to 70."""

MAX_ARROWS = 150
"""More arrows are drawn only if somebody asks for them."""

MOST_EVER = 400
"""More arrows are never drawn."""

NEGLIGIBLE_SHARE, NOISE_SHARE = 0.01, 1e-9
"""Of the largest weight: lighter arrows are drawn only where they are used, or never."""


def slider_threshold(largest: float, position: int) -> float:
    """Return what a position of the page's slider hides.

    >>> slider_threshold(0.8, 0), slider_threshold(0.8, 30), slider_threshold(0.8, 60)
    (0.0, 0.025, 0.8)
    """
    if position == 0:
        return 0.0
    return min(largest, float(f"{largest * 10 ** (-DECADES * (1 - position / STEPS)):.1e}"))


def readable_arrows(n_states: int) -> int:
    """Return how many arrows between so many states can be read.

    >>> [readable_arrows(n_states) for n_states in (1, 8, 100)]
    [25, 40, 70]
    """
    return min(READABLE_ARROWS, max(MIN_READABLE, READABLE_PER_STATE * n_states))


@dataclass(frozen=True, eq=False)
class ArrowUse:
    """How much each transition is used, and what a threshold leaves of that.

    The use of a transition of a probabilistic automaton is how often it is expected in a word; of
    any other it is the size of its weight.

    Parameters
    ----------
    automaton
        What is drawn.
    mass
        The share of the time in each state, or None.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [1, 0], [[[0.5, 0.1], [0.001, 0.3]]], [0.4, 0.699])
    >>> use = ArrowUse(wa, [0.8, 0.2])
    >>> round(use.hidden(0.2), 2), use.opening, use.drawn_sentence(0.0)
    (0.15, 0, 'All 4 arrows are drawn.')
    """

    automaton: WeightedAutomaton
    mass: Sequence[float | None] | None

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether the weights are probabilities."""
        a = self.automaton
        return bool(a.is_distribution and a.transitions.min() > -1e-9 and self.largest < 1 + 1e-6)

    @property
    def has_negative(self) -> bool:
        """Whether a weight is below 0, by more than rounding."""
        return bool(self.automaton.transitions.min() < -NOISE_SHARE * self.largest)

    @cached_property
    def largest(self) -> float:
        """The size of the largest weight."""
        return float(np.abs(self.automaton.transitions).max())

    @cached_property
    def _sizes(self) -> FloatArray:
        return np.abs(self.automaton.transitions)

    @cached_property
    def _use(self) -> FloatArray:
        """The use of each transition, shape as ``transitions``."""
        if not self.is_by_steps:
            return self._sizes
        follows = self.automaton.prefix_final
        share = np.array(self.mass, float) / np.where(follows > 0, follows, np.inf)
        return self._sizes * share[:, None] * follows

    @property
    def is_by_steps(self) -> bool:
        """Whether the use is counted in steps, not in weight."""
        if self.mass is None or not self.are_probabilities:
            return False
        return all(share is not None for share in self.mass)

    @cached_property
    def _heaviest(self) -> FloatArray:
        """The size of each arrow's heaviest weight, in rising order."""
        sizes = self._sizes.max(axis=0).ravel()
        return np.sort(sizes[sizes > 0])

    def n_arrows(self, threshold: float) -> int:
        """Return how many arrows a threshold leaves."""
        return len(self._heaviest) - int(np.searchsorted(self._heaviest, threshold))

    def hidden(self, threshold: float) -> float:
        """Return the share of all use that a threshold hides."""
        total = float(self._use.sum())
        return float(self._use[self._sizes < threshold].sum()) / total if total else 0.0

    def drawn_sentence(self, threshold: float) -> str:
        """Say how much a threshold leaves, as the page does."""
        there, n = self.n_arrows(0.0), self.n_arrows(threshold)
        hidden = self.hidden(threshold)
        of_what = f"{page_percent(hidden)} of all {'steps' if self.is_by_steps else 'weight'}"
        if not there:
            return "There are no arrows."
        if n < there:
            return f"{n:,} of {there:,} arrows drawn, {of_what} hidden."
        drawn = "The only arrow is drawn" if n == 1 else f"All {n:,} arrows are drawn"
        whose = "its" if n == 1 else "their"
        return f"{drawn}, without {whose} lightest symbols: {of_what}." if hidden else f"{drawn}."

    @cached_property
    def opening(self) -> int:
        """Where the slider first stands: most of the use, as far as it can be read."""
        n = self.automaton.n_states
        readable = readable_arrows(n)
        few = min(readable, max(MIN_ARROWS, round(ARROWS_PER_STATE * n)))
        noise = NOISE_SHARE * self.largest
        if not len(self._heaviest) or (len(self._heaviest) <= few and self._heaviest[0] >= noise):
            return 0
        wanted = next((p for p in range(STEPS, 1, -1) if self._keeps(p, WANTED_SHARE)), 1)
        while wanted > 1 and self._can_fall(wanted, few):
            wanted -= 1
        position = max(wanted, self._leaving(readable))
        more = next((p for p in range(position, 0, -1) if self._keeps(p, MIN_SHARE)), 1)
        is_enough = self._keeps(more, MIN_SHARE) and self.n_arrows(self._at(more)) <= MAX_ARROWS
        return more if is_enough else position

    def _at(self, position: int) -> float:
        return slider_threshold(self.largest, position)

    def _keeps(self, position: int, share: float) -> bool:
        return self.hidden(self._at(position)) <= 1 - share + 1e-12

    def _can_fall(self, position: int, few: int) -> bool:
        below = self._at(position - 1)
        return below >= NEGLIGIBLE_SHARE * self.largest and self.n_arrows(below) <= few

    def _leaving(self, most: int) -> int:
        """Return the lowest position that leaves so many arrows.

        Where weights are so alike that it leaves hardly any, it is the position before.
        """
        positions = (p for p in range(1, STEPS) if self.n_arrows(self._at(p)) <= most)
        position = next(positions, STEPS)
        is_bare = position > 1 and self.n_arrows(self._at(position)) < most / 4
        return position - is_bare * (self.n_arrows(self._at(position - 1)) <= MOST_EVER)
