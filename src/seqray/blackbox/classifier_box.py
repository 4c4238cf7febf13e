"""Classifiers as black boxes: each word is answered with one probability per class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqray.automata.decisions import check_classes, check_threshold, decide
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.protocol import (
    Backend,
    Classifier,
    checked_answers,
    max_length_of,
    name_of,
    threshold_of,
)
from seqray.blackbox.queried import answered_pieces, gathered, halving
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError
from seqray.util.formatting import counted

SUM_TOLERANCE = 0.02
"""Largest difference from 1 of the sum of class probabilities: those of 16 bits are rounded."""

WORDS_PER_BATCH = 1024
"""Words of a classifier of somebody's own that are queried at once."""


@dataclass(frozen=True, eq=False, repr=False)
class QueriedClassifier:
    """A classifier that is queried about whole words.

    As a box of numbers its weights are the probabilities of the last class.

    Parameters
    ----------
    backend
        What queries the model, see `Backend`. It answers a word with one probability per class; of
        two classes the probability of the second is enough; or with the name of a class.
    alphabet
        The symbols of the words.
    classes
        The names of the classes.
    threshold
        See `seqray.automata.decisions.decide`.
    """

    backend: Backend
    alphabet: Alphabet
    classes: tuple[str, ...]
    threshold: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", check_classes(self.classes))
        check_threshold(self.threshold, len(self.classes))

    def __repr__(self) -> str:
        sizes = f"{len(self.alphabet)} symbols, {len(self.classes)} classes"
        return f"{type(self).__name__}({self.backend.who}, {sizes})"

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read; None: it can read any word."""
        return max_length_of(self.backend)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of the answer to one word: a probability for each class."""
        return (len(self.classes),)

    def scores(self, words: Words | Iterable[Word]) -> FloatArray:
        """Query the probability of each class for each word, ``(n_words, n_classes)``."""
        words = self.alphabet.words(words)
        scores = np.empty((len(words), len(self.classes)))
        return gathered(self.answers(words), scores, self.backend.who)

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Query the probability of the last class for each word, ``(n_words,)``."""
        return self.scores(words)[:, -1]

    def classify(self, words: Words | Iterable[Word]) -> list[str]:
        """Return the name of the class of each word."""
        return [self.classes[number] for number in decide(self.scores(words), self.threshold)]

    def answers(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield which words are answered, and their class probabilities, as they come."""
        for which, answers in answered_pieces(self.backend, words):
            yield which, class_scores(answers, words[which], self.classes, self.backend.who)


def class_scores(answers: Any, words: Words, classes: tuple[str, ...], who: str) -> FloatArray:
    """Return what a classifier answered as probabilities that sum to 1, one row per word.

    Parameters
    ----------
    answers
        Rows of probabilities; of two classes the probability of the second; or names of classes.
    words
        The words that were queried, for error messages.
    classes
        The names of the classes.
    who
        Who answered.

    Examples
    --------
    >>> words = Alphabet("ab").words(["a", "b"])
    >>> class_scores(["yes", "no"], words, ("no", "yes"), "the box")
    array([[0., 1.],
           [1., 0.]])
    """
    try:
        array = np.asarray(answers)
    except ValueError as error:  # rows of different lengths
        raise BlackBoxError(
            f"{who} returned rows of different lengths: {_expected(len(words), classes)}"
        ) from error
    if array.dtype.kind == "U":
        return _of_names(array, words, classes, who)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 1 and len(classes) == 2 and len(array) == len(words):
        second = checked_answers(array, words, (len(words),), who)
        array = np.stack([1 - second, second], axis=1)
    shape = len(words), len(classes)
    if array.shape != shape:
        raise BlackBoxError(
            f"{who} was queried about {counted(len(words), 'word')} and returned shape "
            f"{array.shape}: {_expected(len(words), classes)}"
        )
    scores = checked_answers(array, words, shape, who)
    total = scores.sum(axis=1)
    wrong = (scores < -SUM_TOLERANCE).any(axis=1) | (np.abs(total - 1) > SUM_TOLERANCE)
    if wrong.any():
        at = int(wrong.argmax())
        raise BlackBoxError(
            f"{who} returned {scores[at].tolist()} for the word "
            f"{words.alphabet.show(words[at])!r}: expected probabilities that sum to 1, one for "
            f"each of the classes {', '.join(classes)}; if these are logits, take their softmax"
        )
    scores = np.maximum(scores, 0.0)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _expected(n_words: int, classes: tuple[str, ...]) -> str:
    """Say what the answers of a classifier look like."""
    text = (
        f"expected shape ({n_words}, {len(classes)}), for each word one probability for each of "
        f"the {len(classes)} classes {', '.join(classes)}"
    )
    if len(classes) == 2:
        text += f", or only that of {classes[1]}"
    return f"{text}; or for each word the name of a class"


def _of_names(
    names: np.ndarray[Any, Any], words: Words, classes: tuple[str, ...], who: str
) -> FloatArray:
    """Return 1 for the class that was named, 0 for the others."""
    if names.shape != (len(words),):
        raise BlackBoxError(
            f"{who} was queried about {len(words)} words and returned shape {names.shape}: "
            "expected one name of a class for each word"
        )
    rows = []
    for at, name in enumerate(names.tolist()):
        if name not in classes:
            raise BlackBoxError(
                f"{who} returned the class {name!r} for the word "
                f"{words.alphabet.show(words[at])!r}: expected one of {', '.join(classes)}; name "
                "all classes (classes)"
            )
        rows.append(classes.index(name))
    return np.eye(len(classes))[np.array(rows, np.int64)]


@dataclass(frozen=True, eq=False)
class ScoresBackend:
    """Queries any object that is a `Classifier`, in batches."""

    classifier: Classifier
    batch_size: int = WORDS_PER_BATCH

    @property
    def who(self) -> str:
        """Who answers."""
        return name_of(self.classifier)

    @property
    def fingerprint(self) -> str | None:
        """The key of its cached answers."""
        value: str | None = getattr(self.classifier, "fingerprint", None)
        return value

    @property
    def deterministic(self) -> bool:
        """Whether it is known to give the same answer always."""
        return bool(getattr(self.classifier, "deterministic", False))

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that it can read."""
        return max_length_of(self.classifier)

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield answers batch by batch."""
        for begin in range(0, len(words), self.batch_size):
            which = np.arange(begin, min(begin + self.batch_size, len(words)))
            yield from halving(
                lambda some: self.classifier.scores(words[some]), words, which, self.who
            )


def queried_classifier(classifier: Classifier) -> QueriedClassifier:
    """Return a classifier of any kind as one that is queried about whole words.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.classifier(lambda words: [0.2] * len(words), "ab")
    >>> queried_classifier(box) is box
    True
    """
    if isinstance(classifier, QueriedClassifier):
        return classifier
    return QueriedClassifier(
        ScoresBackend(classifier),
        classifier.alphabet,
        tuple(classifier.classes),
        threshold_of(classifier),
    )
