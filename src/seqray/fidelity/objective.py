"""What an automaton is to be near to its box in: the number that ranks are chosen by."""

from __future__ import annotations

import enum

from seqray.util.errors import ArgumentError


class Objective(enum.StrEnum):
    """What ranks, weightings and fitted automata are chosen by, on held-out words."""

    NEXT = "next"
    """Next symbols: the divergence, in bits per symbol."""
    WEIGHTS = "weights"
    """Weights of words: the mean squared error."""
    LOG = "log"
    """Logarithms of the weights of words: the ratio of the two weights."""
    DECISIONS = "decisions"
    """Decisions of a classifier: the share of words that get the same class."""

    @property
    def measured(self) -> str:
        """What is measured, for people."""
        return OBJECTIVES[self]


OBJECTIVES = {
    Objective.NEXT: "the divergence of next symbols",
    Objective.WEIGHTS: "the mean squared error of the weights of words",
    Objective.LOG: "the ratio of the weights of a word",
    Objective.DECISIONS: "the agreement of decisions",
}
"""The objectives, and what is measured."""


def named_objective(name: str | None) -> Objective | None:
    """Return the objective of a name; None where there is none: the box decides.

    >>> named_objective("weights")
    <Objective.WEIGHTS: 'weights'>
    """
    if name is None:
        return None
    if name not in list(Objective):
        expected = ", ".join(Objective)
        raise ArgumentError(f"objective: expected one of {expected}, got {name!r}")
    return Objective(name)
