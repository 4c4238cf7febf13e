"""What a black box can do, as protocols, and the checks on what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from seqray.automata.stepper import PredictingStepper
from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError, BlackBoxError


@runtime_checkable
class BlackBox(Protocol):
    """Anything that gives a real number to a word.

    Boxes that can do more are queried more cheaply: a `Stepper` has states, and a
    `PredictingStepper` also says what comes next. A `seqray.WeightedAutomaton` is
    all of these.
    """

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words that the box takes."""

    def weights(self, words: Words, /) -> FloatArray:
        """Return one real number per word, shape ``(n_words,)``."""


@runtime_checkable
class PredictingBox(BlackBox, PredictingStepper, Protocol):
    """A black box with states that also predicts the next symbol."""


@runtime_checkable
class Classifier(Protocol):
    """Anything that gives a word one probability for each of several classes.

    It decides for the class of the largest probability. One with two classes may have an attribute
    ``threshold``: then it decides for the second class where its probability reaches that.
    A `seqray.ClassifierAutomaton` is one.
    """

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words that the classifier takes."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""

    def scores(self, words: Words, /) -> FloatArray:
        """Return the probability of each class for each word, ``(n_words, n_classes)``."""


def threshold_of(classifier: Classifier) -> float | None:
    """Return the probability at which the second of two classes is decided for.

    None: the largest probability decides.

    Examples
    --------
    >>> import seqray
    >>> threshold_of(seqray.classifier(lambda words: [0.2] * len(words), "ab", threshold=0.1))
    0.1
    """
    threshold: float | None = getattr(classifier, "threshold", None)
    return threshold


class Backend(Protocol):
    """What queries a model: takes words as they are, and hands on its answers as they come.

    `seqray.blackbox.queried` makes a black box of it, and an oracle
    (`seqray.blackbox.queries.oracle`) counts, caches and averages its answers.
    """

    @property
    def who(self) -> str:
        """Who answers, for people: ``the function 'f'``."""

    @property
    def fingerprint(self) -> str | None:
        """What is the same as long as its answers are; None where nothing can say that."""

    @property
    def deterministic(self) -> bool:
        """Whether it is known to give the same answer always."""

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield which of the words are answered, and an array with an entry or a row for each.

        An answer that has been yielded is cached, whatever happens later: so a long query is best
        answered in pieces. Every word is answered once; nothing is checked yet.
        """


EXPECTED_ROW = "one row for each word, with the probability of every symbol and last of the end"


def name_of(box: object) -> str:
    """Say who a box is, for error messages.

    Examples
    --------
    >>> import seqray
    >>> name_of(seqray.black_box(len, "ab"))
    "the function 'len'"
    """
    who = getattr(getattr(box, "backend", box), "who", None)
    return who if isinstance(who, str) else f"the {type(box).__name__}"


def unknown_of(box: object) -> str | None:
    """Say how much of its answers a box leaves unknown; None: it answers in full.

    A backend that does not get all probabilities says so by its attribute ``unknown``.
    """
    unknown = getattr(getattr(box, "backend", None), "unknown", None)
    return None if unknown is None else str(unknown)


def max_length_of(box: object) -> int | None:
    """Return the length of the longest word that a box can read; None: it can read any word.

    A box that has a limit says so by its attribute ``max_length``.

    Examples
    --------
    >>> import seqray
    >>> max_length_of(seqray.black_box(len, "ab", max_length=20))
    20
    """
    max_length: int | None = getattr(box, "max_length", None)
    return max_length


def allowed_length(box: object, max_length: int | None, default: int) -> int:
    """Return how long words that are drawn for a box may be.

    That is ``max_length``, which must be within the box's own limit, or where it is None the
    default, or the box's limit where that is less.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(len, "ab", max_length=20)
    >>> allowed_length(box, None, 100), allowed_length(box, 5, 100)
    (20, 5)
    """
    limit = max_length_of(box)
    if max_length is None:
        return default if limit is None else min(default, limit)
    if limit is not None and max_length > limit:
        raise ArgumentError(
            f"max_length: {name_of(box)} reads words of at most {limit} symbols, got {max_length}: "
            f"give {limit} or less, or leave it out"
        )
    return max_length


def check_lengths(words: Words, max_length: int | None, who: str) -> None:
    """Refuse words that a box cannot read, before it is queried."""
    if max_length is None or not len(words):
        return
    longest = int(words.lengths.argmax())
    if words.lengths[longest] > max_length:
        raise BlackBoxError(
            f"{who} reads words of at most {max_length} symbols, and "
            f"{words.alphabet.show(words[longest])!r} has {words.lengths[longest]}: "
            "query shorter words (max_length)"
        )


def checked_answers(answers: Any, words: Words, shape: tuple[int, ...], who: str) -> FloatArray:
    """Return a box's answers as float64, or a `BlackBoxError` that names the offending word."""
    try:
        array = np.asarray(answers)
    except ValueError as error:  # rows of different lengths
        raise BlackBoxError(f"{who} returned something that is no array: {error}") from error
    if array.dtype.kind == "O" and array.size and all(_is_real(x) for x in array.ravel()):
        try:
            array = array.astype(np.float64)
        except OverflowError as error:  # a whole number with hundreds of digits
            raise BlackBoxError(
                f"{who} returned a number that is too large ({error}): expected finite numbers"
            ) from error
    if array.dtype.kind not in "iufb":
        raise BlackBoxError(
            f"{who} returned {_kind(array)}: expected an array of real numbers of shape {shape}"
            + (": is a return statement missing?" if answers is None else "")
        )
    if array.shape != shape:
        raise BlackBoxError(
            f"{who} was queried about {len(words)} words and returned shape {array.shape}: "
            f"expected {shape}, {'one number for each word' if len(shape) == 1 else EXPECTED_ROW}: "
            "it gets a list of words and has to answer all of them"
            + _advice(array.shape, shape, words)
        )
    array = array.astype(np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        first = np.argwhere(bad)[0]
        word = words.alphabet.show(words[int(first[0])])
        raise BlackBoxError(
            f"{who} returned {array[tuple(first)]} for the word {word!r}: expected a finite "
            "number; try the box on this word alone"
        )
    return array


def _advice(shape: tuple[int, ...], expected: tuple[int, ...], words: Words) -> str:
    """Say how a function is made a box that returns what comes next."""
    n_words, n_symbols = len(words), len(words.alphabet)
    if expected == (n_words,) and shape == (n_words, n_symbols + 1):
        return "; seqray.language_model(function, alphabet) takes probabilities of what comes next"
    return ""


def _is_real(x: object) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


def _kind(array: np.ndarray[Any, Any]) -> str:
    names = {"c": "complex numbers", "U": "strings", "S": "bytes"}
    return names.get(array.dtype.kind, f"objects such as {array.ravel()[:1].tolist()}")


WORDS_PER_QUERY = 16_384
"""Words in one query to a box without states."""


def in_batches(words: Words) -> Iterator[Words]:
    """Yield words in batches of one query each."""
    for begin in range(0, len(words), WORDS_PER_QUERY):
        yield words[begin : begin + WORDS_PER_QUERY]


def query_weights(
    box: BlackBox, words: Words, answered: Callable[[int], None] = lambda n: None
) -> FloatArray:
    """Query the weights of words in batches, and check the answers.

    ``answered`` is called with the number of answers after every batch.
    """
    answers: list[FloatArray] = [np.empty(0)]
    for some in in_batches(words):
        answers.append(checked_answers(box.weights(some), some, (len(some),), name_of(box)))
        answered(len(some))
    return np.concatenate(answers)
