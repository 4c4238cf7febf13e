"""Class probabilities, the decisions made of them, and the questions that an automaton can learn.

A classifier gives each word one probability per class. It decides for the class of the largest
one, or, where there are two classes, for the second where its probability reaches a threshold.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.formatting import counted

MIN_PROBABILITY = 1e-6
"""Smaller probabilities count as this much in a logit: float32 networks round them anyway."""


class Question(enum.StrEnum):
    """What an automaton learns of a classifier's answer."""

    DECISION = "decision"
    """1 for the class that was decided for, 0 for the others."""
    PROBABILITY = "probability"
    """The probability of each class."""
    LOGIT = "logit"
    """The logarithm of each probability, less their mean."""


def check_threshold(threshold: float | None, n_classes: int) -> float | None:
    """Return a threshold of the second of two classes; refuse any other.

    >>> check_threshold(0.3, 2)
    0.3
    """
    if threshold is None:
        return None
    if n_classes != 2:
        raise ArgumentError(
            f"threshold: expected none for {n_classes} classes, got {threshold}: only the second "
            "of two classes has one; leave it out, and the largest probability decides"
        )
    is_number = isinstance(threshold, int | float | np.floating) and not isinstance(threshold, bool)
    if not is_number or not 0 < threshold < 1:
        raise ArgumentError(f"threshold: expected a number between 0 and 1, got {threshold!r}")
    return float(threshold)


def check_classes(classes: object) -> tuple[str, ...]:
    """Return the names of classes; refuse fewer than two, and equal ones.

    >>> check_classes(["no", "yes"])
    ('no', 'yes')
    """
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise ArgumentError(
            f'classes: expected a list of names, as in ["no", "yes"], got {classes!r}'
        )
    names = tuple(str(name) for name in classes)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ArgumentError(
            f"classes: expected at least two names, all different, got {list(names)}"
        )
    return names


def check_class_count(classes: Sequence[str], n_outputs: int) -> None:
    """Refuse names of classes that are not as many as the outputs of a network.

    Two classes may have a single output; classes without names fit any network.

    >>> check_class_count(["no", "yes"], 1)
    """
    n = len(classes)
    if n in (0, n_outputs) or (n, n_outputs) == (2, 1):
        return
    raise ArgumentError(
        f"classes: the card names {n} ({', '.join(classes)}) and the network has "
        f'{counted(n_outputs, "output")}: write one name for each output ("classes": [...]), or '
        'choose an output for each class ("columns": [...])'
    )


def decide(scores: FloatArray, threshold: float | None = None) -> IntArray:
    """Return the number of the class that each row of probabilities decides for.

    Parameters
    ----------
    scores
        One row per word and one column per class.
    threshold
        The probability at which the second of two classes is decided for. None: the class of the
        largest probability, the first of several.

    Examples
    --------
    >>> scores = np.array([[0.6, 0.4], [0.9, 0.1]])
    >>> decide(scores), decide(scores, threshold=0.3)
    (array([0, 0]), array([1, 0]))
    """
    if threshold is None:
        return np.asarray(np.argmax(scores, axis=1))
    return np.asarray(np.asarray(scores)[:, 1] >= threshold, np.int64)


def margins(scores: FloatArray, threshold: float | None = None) -> FloatArray:
    """Return how far each decision is from another one, from 0 to 1.

    That is the distance to the threshold, or the difference of the two largest probabilities.

    >>> margins(np.array([[0.5, 0.3, 0.2]])).round(3)
    array([0.2])
    """
    if threshold is not None:
        return np.asarray(np.abs(scores[:, 1] - threshold))
    ordered = np.sort(scores, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def answers_to(question: Question, scores: FloatArray, threshold: float | None) -> FloatArray:
    """Return what an automaton is to compute, one column per class, for class probabilities.

    >>> answers_to(Question.DECISION, np.array([[0.2, 0.8]]), None)
    array([[0., 1.]])
    """
    if question is Question.PROBABILITY:
        return scores
    if question is Question.DECISION:
        return np.eye(scores.shape[1])[decide(scores, threshold)]
    logs = np.log(np.maximum(scores, MIN_PROBABILITY))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def scores_of(question: Question, outputs: FloatArray) -> FloatArray:
    """Return class probabilities for what an automaton computes; the largest stays the largest.

    >>> scores_of(Question.PROBABILITY, np.array([[0.3, 0.9], [-0.2, 0.4]])).round(3)
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    if question is Question.LOGIT:
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    positive = np.maximum(outputs, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    first = np.eye(outputs.shape[1])[outputs.argmax(axis=1)]
    return np.asarray(np.divide(positive, total, where=total > 0, out=first))
