"""Says early where no small deterministic automaton exists, and what it would take."""

from __future__ import annotations

import logging

import numpy as np

from seqray.learning.known_rows import RowEquality
from seqray.learning.tree_learner import TreeLearner
from seqray.util.arrays import FloatArray

logger = logging.getLogger(__name__)

MIN_TRANSITIONS = 200
"""Transitions before the growth of the states is looked at."""

GROWING_SHARE = 0.5
"""The states keep growing while more than this share of the transitions leads to new ones."""

MANY_STATES = 100
"""So many states of an automaton that decides are reported."""

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
        "small deterministic automaton may not exist. Stop at a number of states (--max-states), "
        "look at shorter words (--max-length), or extract a weighted automaton (seqray extract)",
        *(f"{n_states:,}", f"{n_searches:,}"),
    )
    return True


class GrowthWatch:
    """Warns once where nearly every prefix is a state of its own.

    Parameters
    ----------
    tolerance
        The tolerance of the learner.
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance, self.has_warned = tolerance, False

    def look(self, learner: TreeLearner) -> None:
        """Look at a learner after a batch of transitions."""
        n_transitions = len(learner.transitions())
        if self.has_warned or n_transitions < MIN_TRANSITIONS:
            return
        if learner.n_states <= GROWING_SHARE * n_transitions:
            return
        self.has_warned = True
        rows = learner.rows.query(learner.tree.access)
        counts = ", ".join(
            f"{n_distinct(rows, each):,} at {each:g}"
            for each in TOLERANCES
            if each > self.tolerance
        )
        logger.warning(
            "%s of the first %s prefixes are states of their own, and more are likely: a small "
            "deterministic automaton may not exist. Next symbols alone would need %s. Choose a "
            "larger tolerance (--tolerance), stop at a number of states (--max-states), or extract "
            "a weighted automaton (seqray extract)",
            *(f"{learner.n_states:,}", f"{n_transitions + 1:,}"),
            f"{counts} states" if counts else "as many states at any tolerance",
        )
