"""Boxes that decide: a classifier by its classes, any other box by a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.decisions import decide
from seqray.automata.deterministic import DECISIONS
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import (
    BlackBox,
    Classifier,
    checked_answers,
    max_length_of,
    name_of,
    threshold_of,
)
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class ClassNumbers:
    """A classifier as a box of numbers: the number of the class that each word gets."""

    classifier: Classifier

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.classifier.alphabet

    @property
    def who(self) -> str:
        """Who answers."""
        return name_of(self.classifier)

    @property
    def fingerprint(self) -> str | None:
        """What the answers are cached under."""
        name: str | None = getattr(self.classifier, "fingerprint", None)
        return None if name is None else f"{name} classes"

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the classifier can read."""
        return max_length_of(self.classifier)

    def weights(self, words: Words) -> FloatArray:
        """Return the number of each word's class."""
        shape = len(words), len(self.classifier.classes)
        scores = checked_answers(self.classifier.scores(words), words, shape, self.who)
        return decide(scores, threshold_of(self.classifier)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a box decides about words.

    Parameters
    ----------
    box
        What is queried.
    names
        The names of the decisions.
    threshold
        The box says yes to words that weigh at least this; None: its answers are numbers of
        decisions.
    """

    box: BlackBox
    names: tuple[str, ...]
    threshold: float | None

    def of(self, weights: FloatArray) -> IntArray:
        """Return the decisions that the answers of the box mean, as numbers."""
        if self.threshold is None:
            return weights.astype(np.int64)
        return (weights >= self.threshold).astype(np.int64)


def decisions_of(box: object, threshold: float = 0.5) -> Decisions:
    """Return what a box decides: a classifier by its classes, a box of numbers by a threshold.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [len(word) / 4 for word in words], "ab")
    >>> decisions = decisions_of(box)
    >>> decisions.names, decisions.of(box.weights(["a", "ab", "aba"]))
    (('no', 'yes'), array([0, 1, 1]))
    """
    if isinstance(box, Classifier):
        return Decisions(ClassNumbers(box), tuple(box.classes), None)
    if not np.isfinite(threshold):
        raise ArgumentError(f"threshold: expected a finite number, got {threshold}")
    return Decisions(as_box(box), DECISIONS, float(threshold))
