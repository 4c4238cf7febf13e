"""Python functions as black boxes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqray.automata.words import Alphabet, Symbol, Words
from seqray.blackbox.call_size import CallSize
from seqray.blackbox.queried import QueriedBox, QueriedModel, halving
from seqray.util.arrays import IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError

Function = Callable[[list[Any]], Any]

MAX_WORDS_PER_CALL = 1024
"""How many words one call of a function gets at most."""


def black_box(
    function: Function,
    alphabet: Alphabet | Iterable[Symbol],
    *,
    name: str | None = None,
    batch_size: int = MAX_WORDS_PER_CALL,
    timeout: float | None = None,
    max_length: int | None = None,
) -> QueriedBox:
    """Turn a function on words into a black box.

    Parameters
    ----------
    function
        Takes a list of words and returns one real number per word. A word is a string where all
        symbols are single characters, and a tuple of symbols otherwise.
    alphabet
        The symbols of the words.
    name
        The key of its cached answers: change it when the function changes.
    batch_size
        The most words in one call. A function that is slow for each word gets fewer, so that the
        words of a call take about a second, or as long as the call of a single word if that is
        more. Answers before a failure are never lost.
    timeout
        The most seconds that one call may take; by default there is no limit.
    max_length
        The length of the longest word that the function can read; by default it reads any word.

    Examples
    --------
    >>> box = black_box(lambda words: [0.5 ** len(w) for w in words], "ab")
    >>> box.weights(["", "a", "abb"])
    array([1.   , 0.5  , 0.125])
    """
    backend = FunctionBackend(function, name, batch_size, timeout, max_length)
    return QueriedBox(backend, Alphabet.of(alphabet))


def language_model(
    function: Function,
    alphabet: Alphabet | Iterable[Symbol],
    *,
    name: str | None = None,
    batch_size: int = MAX_WORDS_PER_CALL,
    timeout: float | None = None,
    max_length: int | None = None,
) -> QueriedModel:
    """Turn a function that predicts the next symbol into a black box.

    Parameters
    ----------
    function
        Takes a list of prefixes and returns, for each, the probability of every symbol in the
        order of the alphabet, and last that the word ends: shape ``(n, n_symbols + 1)``.
    alphabet
        The symbols of the words.
    name, batch_size, timeout, max_length
        As for `black_box`.

    Examples
    --------
    >>> box = language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")
    >>> box.weights(["", "a", "ab"])
    array([0.25   , 0.125  , 0.03125])
    """
    backend = FunctionBackend(function, name, batch_size, timeout, max_length)
    return QueriedModel(backend, Alphabet.of(alphabet))


@dataclass(frozen=True)
class FunctionBackend:
    """Queries a function; see `black_box`."""

    function: Function
    fingerprint: str | None = None
    batch_size: int = MAX_WORDS_PER_CALL
    timeout: float | None = None
    max_length: int | None = None
    deterministic: bool = False
    pace: CallSize = field(default_factory=CallSize, repr=False, compare=False)
    """How many words the next call gets; adapted to the speed of the function."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentError(
                f"function: expected a function of a list of words, got {self.function!r}"
            )
        whole_number("batch_size", self.batch_size, 1)
        if self.timeout is not None and not 0 < self.timeout < threading.TIMEOUT_MAX:
            raise ArgumentError(f"timeout: expected seconds, more than 0, got {self.timeout}")
        if self.max_length is not None:
            whole_number("max_length", self.max_length, 0)

    @property
    def who(self) -> str:
        """The function's name."""
        return f"the function {getattr(self.function, '__name__', repr(self.function))!r}"

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Call the function; if it fails, find the word on which it fails."""
        begin = 0
        while begin < len(words):
            n_words = min(self.pace.n_words, self.batch_size, len(words) - begin)
            which = np.arange(begin, begin + n_words)
            yield from halving(lambda some: self._timed(words[some]), words, which, self.who)
            begin += n_words

    def _timed(self, words: Words) -> Any:
        """Call the function, and adapt the size of the next call to how long that takes."""
        since = time.monotonic()
        answers = self._call(words)
        self.pace.adapt(len(words), time.monotonic() - since, self.timeout)
        return answers

    def _call(self, words: Words) -> Any:
        """Call the function with words as strings or tuples of symbols."""
        plain: list[Any] = list(words)
        if words.alphabet.has_characters:
            plain = ["".join(word) for word in plain]
        if self.timeout is None:
            return self.function(plain)
        return self._call_in_time(plain, words)

    def _call_in_time(self, plain: list[Any], words: Words) -> Any:
        """Call the function on a thread of its own; leave the thread behind if it hangs."""
        outcome: dict[str, Any] = {}

        def call() -> None:
            try:
                outcome["answers"] = self.function(plain)
            except BaseException as error:
                outcome["error"] = error

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(self.timeout)
        if thread.is_alive():
            raise BlackBoxError(
                f"{self.who} gave no answer in {self.timeout:g} s to {len(words)} words that begin "
                f"with {words.alphabet.show(words[0])!r}: expected one in that time; send "
                "fewer words at once (batch_size) or wait longer (timeout)"
            )
        if "error" in outcome:
            raise outcome["error"]
        return outcome["answers"]
