"""What a black box can do, as protocols, and the checks on what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from seqray.arrays import FloatArray, IntArray
from seqray.errors import BlackBoxError
from seqray.words import Alphabet, Words


@runtime_checkable
class BlackBox(Protocol):
    """Anything that gives a real number to a word.

    Boxes that can do more are asked more cheaply: a `seqray.stepper.Stepper` has states, and a
    `seqray.stepper.PredictingStepper` also says what comes next. A `seqray.WeightedAutomaton` is
    all of these.
    """

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words that the box takes."""

    def weights(self, words: Words, /) -> FloatArray:
        """Return one real number a word, shape ``(n_words,)``."""


class Asker(Protocol):
    """What asks a model: takes words as they are, and hands on its answers as they come.

    `seqray.blackbox.asked` makes a black box of it, whose answers can be kept, counted and
    averaged on their way.
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

    def ask(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield which of the words are answered, and an array with an entry or a row for each.

        An answer that has been yielded is kept, whatever happens later: so a long question is
        best answered in pieces. Every word is answered once; nothing is checked yet.
        """


def name_of(box: object) -> str:
    """Say who a box is, for error messages.

    Examples
    --------
    >>> import seqray
    >>> name_of(seqray.black_box(len, "ab"))
    "the function 'len'"
    """
    who = getattr(getattr(box, "asker", box), "who", None)
    return who if isinstance(who, str) else f"the {type(box).__name__}"


def checked_answers(answers: Any, words: Words, shape: tuple[int, ...], who: str) -> FloatArray:
    """Return a box's answers as float64, or a `BlackBoxError` that names the offending word."""
    try:
        array = np.asarray(answers)
    except ValueError as error:  # rows of different lengths
        raise BlackBoxError(f"{who} returned something that is no array: {error}") from error
    if array.dtype.kind == "O" and array.size and all(_is_real(x) for x in array.ravel()):
        array = array.astype(np.float64)
    if array.dtype.kind not in "iufb":
        raise BlackBoxError(
            f"{who} returned {_kind(array)}: expected an array of real numbers of shape {shape}"
        )
    if array.shape != shape:
        raise BlackBoxError(
            f"{who} was asked about {len(words)} words and returned shape {array.shape}: "
            f"expected {shape}"
        )
    array = array.astype(np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        first = np.argwhere(bad)[0]
        word = words.alphabet.show(words[int(first[0])])
        raise BlackBoxError(
            f"{who} returned {array[tuple(first)]} for the word {word!r}: expected a finite number"
        )
    return array


def _is_real(x: object) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


def _kind(array: np.ndarray[Any, Any]) -> str:
    names = {"c": "complex numbers", "U": "strings", "S": "bytes"}
    return names.get(array.dtype.kind, f"objects such as {array.ravel()[:1].tolist()}")
