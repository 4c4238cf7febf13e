"""Boxes that decide: a classifier by its classes, any other box by a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.decisions import decide
from seqray.automata.deterministic import DECISIONS
from seqray.automata.words import Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.classifier_box import queried_classifier
from seqray.blackbox.protocol import BlackBox, Classifier, threshold_of
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError


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
        The box says yes to words that weigh at least this; None: it is a classifier.
    """

    box: BlackBox
    names: tuple[str, ...]
    threshold: float | None

    def by(self, source: BlackBox | Classifier, words: Words) -> IntArray:
        """Return what the box decides, or an oracle or automaton in its place, as numbers."""
        if isinstance(source, Classifier):
            return decide(source.scores(words), threshold_of(source))
        return self.of_weights(source.weights(words))

    def of_weights(self, weights: FloatArray) -> IntArray:
        """Return the decisions of a box of numbers by the weights of words."""
        assert self.threshold is not None
        return np.asarray(weights >= self.threshold, np.int64)

    def check_hint(self, hint: BlackBox) -> None:
        """Refuse an automaton in place of the box that has other decisions."""
        classes = tuple(hint.classes) if isinstance(hint, Classifier) else None
        is_right = self.threshold is not None if classes is None else classes == self.names
        if not is_right:
            got = f"one with the classes {', '.join(classes)}" if classes else "one without classes"
            raise ArgumentError(
                f"hint: expected an automaton with the classes {', '.join(self.names)}, "
                f"got {got}: extract one from this box"
            )


def decisions_of(box: object, threshold: float = 0.5) -> Decisions:
    """Return what a box decides: a classifier by its classes, a box of numbers by a threshold.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [len(word) / 4 for word in words], "ab")
    >>> decisions = decisions_of(box)
    >>> decisions.names, decisions.by(box, box.alphabet.words(["a", "ab", "aba"]))
    (('no', 'yes'), array([0, 1, 1]))
    """
    given = as_box(box)
    if isinstance(given, Classifier):
        return Decisions(queried_classifier(given), tuple(given.classes), None)
    if not np.isfinite(threshold):
        raise ArgumentError(f"threshold: expected a finite number, got {threshold}")
    return Decisions(given, DECISIONS, float(threshold))
