"""Says early where no small deterministic automaton exists, and what it would take."""

from __future__ import annotations

import logging

import numpy as np

from seqray.learning.known_rows import RowEquality
from seqray.learning.tree_learner import TreeLearner
from seqray.util.arrays import FloatArray
from seqray.util.formatting import significant

logger = logging.getLogger(__name__)

MIN_TRANSITIONS = 200
"""Transitions before the growth of the states is looked at."""

GROWING_SHARE = 0.5
"""The states keep growing while more than this share of the transitions leads to new ones."""

MANY_STATES = 100
"""So many states are reported where searches for counterexamples find more and more of them."""

SPLIT_GROWTH = 1.25
"""They do so if there are more than this many times the states that transitions alone led to."""

TOLERANCES = 0.01, 0.02, 0.05, 0.1, 0.2
"""Other tolerances for which the states are counted."""


def n_distinct(rows: FloatArray, tolerance: float) -> int:
    """Return how many rows remain if each stands for those that are equal within a tolerance.

    >>> n_distinct(np.array([[0.1], [0.105], [0.2]]), 0.01)
    2
    """
    equality, kept = RowEquality(tolerance), rows[:0]
    for at in range(len(rows)):
        row = rows[at : at + 1]
        if not len(kept) or equality.match(row, kept)[0] < 0:
            kept = np.concatenate([kept, row])
    return len(kept)


def warn_of_size(n_states: int, n_searches: int) -> bool:
    """Warn that an automaton that decides has many states; return whether it has."""
    if n_states < MANY_STATES:
        return False
    logger.warning(
        "the automaton has %s states after %s searches, and each still found a counterexample: a "
        "small deterministic automaton may not exist. Search no words that are longer than those "
        "that the box was trained on (--max-length), stop at a number of states (--max-states), or "
        "extract a weighted automaton (seqray extract)",
        *(f"{n_states:,}", f"{n_searches:,}"),
    )
    return True


def warn_of_one_decision(name: str, threshold: float | None, weights: tuple[float, float]) -> None:
    """Warn that every word that was queried has the same decision.

    Parameters
    ----------
    name
        The decision.
    threshold
        What separates the decisions; None where a classifier makes them.
    weights
        The smallest and the largest weight of a word.
    """
    if threshold is None:
        logger.warning(
            "the box puts every word that was queried into the class %s: give words of other "
            "classes (--words)",
            name,
        )
        return
    low, high = (significant(each, 3) for each in weights)
    advice = f"choose a threshold from above {low} to {high} (--threshold), or " * (low != high)
    logger.warning(
        "the decision is %s for every word that was queried: their weights are from %s to %s, and "
        "the threshold is %s; %sgive words that the box decides otherwise (--words)",
        *(name, low, high, f"{threshold:g}", advice),
    )


class GrowthWatch:
    """Warns once where the states keep growing.

    That is so where nearly every prefix is a state of its own, and where there are many states and
    counterexamples split more and more of them.

    Parameters
    ----------
    tolerance
        The tolerance of the learner.
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance, self.has_warned = tolerance, False
        self.n_unsplit: int | None = None  # the states before the first counterexample

    def look(self, learner: TreeLearner) -> None:
        """Look at a learner after a batch of transitions."""
        if self.has_warned or (growth := self._growth(learner)) is None:
            return
        self.has_warned = True
        rows = learner.rows.query(learner.tree.access)
        counts = ", ".join(
            f"{n_distinct(rows, each):,} at {each:g}"
            for each in TOLERANCES
            if each > self.tolerance
        )
        logger.warning(
            "%s, and more are likely: a small deterministic automaton may not exist. Next symbols "
            "alone would need %s. Choose a larger tolerance (--tolerance), do not follow "
            "improbable symbols (--min-probability), stop at a number of states (--max-states), or "
            "extract a weighted automaton (seqray extract)",
            growth,
            f"{counts} states" if counts else "as many states at any tolerance",
        )

    def _growth(self, learner: TreeLearner) -> str | None:
        """Say how the states grow; None while they do not, or there are few."""
        n_states, n_transitions = learner.n_states, len(learner.transitions())
        if n_transitions >= MIN_TRANSITIONS and n_states > GROWING_SHARE * n_transitions:
            return (
                f"{n_states:,} of the first {n_transitions + 1:,} prefixes are states of their own"
            )
        if self.n_unsplit is None:
            self.n_unsplit = n_states if learner.is_closed else None
        elif n_states >= max(MANY_STATES, SPLIT_GROWTH * self.n_unsplit):
            return f"{self.n_unsplit:,} states became {n_states:,} by counterexamples"
        return None
