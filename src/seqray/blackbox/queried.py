"""Black boxes without states: they are queried about whole words, or about prefixes.

A `QueriedBox` answers with the weight of each word. A `QueriedModel` answers with what follows each
prefix; it is a stepper whose state is the prefix read so far.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.stepper import read_each
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.guarded import described
from seqray.blackbox.protocol import Backend, check_lengths, checked_answers, max_length_of
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError, SeqrayError

SUM_TOLERANCE = 1e-3
"""Largest difference from 1 of the sum of next-symbol probabilities."""


@dataclass(frozen=True, eq=False, repr=False)
class QueriedBox:
    """A box that is queried for the weight of each word.

    Parameters
    ----------
    backend
        What queries the model, see `Backend`.
    alphabet
        The symbols of the words.
    """

    backend: Backend
    alphabet: Alphabet

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.backend.who}, {len(self.alphabet)} symbols)"

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read; None: it can read any word."""
        return max_length_of(self.backend)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of the answer to one word: a number."""
        return ()

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Query the weight of each word, float64, shape ``(n_words,)``."""
        words = self.alphabet.words(words)
        return gathered(self.answers(words), np.empty(len(words)), self.backend.who)

    def answers(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield which words are answered, and what, as it comes; each answer has been checked."""
        for which, answers in answered_pieces(self.backend, words):
            yield which, checked_answers(answers, words[which], (len(which),), self.backend.who)


class PrefixStates(NamedTuple):
    """The state of a model without states is the prefix itself."""

    prefixes: Words
    log_weight: FloatArray
    next_symbol: FloatArray


class PrefixReader(ABC):
    """Reads words by what follows their prefixes: a state is the prefix itself."""

    alphabet: Alphabet

    @abstractmethod
    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return what follows each word as a prefix, the end last."""

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return each word's probability: the product of its symbols' and its end's."""
        return read_each(self, self.alphabet.words(words), self.state_weights)

    def start(self) -> PrefixStates:
        """Return a batch of one: the empty prefix."""
        empty = self.alphabet.words([()])
        return PrefixStates(empty, np.zeros(1), self.next_symbol(empty))

    def step(self, states: PrefixStates, parents: IntArray, symbols: IntArray) -> PrefixStates:
        """Return the prefixes with one more symbol."""
        prefixes = states.prefixes[parents].extended(symbols)
        with np.errstate(divide="ignore"):
            logs = states.log_weight[parents] + np.log(states.next_symbol[parents, symbols])
        return PrefixStates(prefixes, logs, self.next_symbol(prefixes))

    def state_weights(self, states: PrefixStates) -> FloatArray:
        """Return the probability of the word that leads to each state."""
        return np.exp(states.log_weight) * states.next_symbol[:, -1]

    def state_next_symbol(self, states: PrefixStates) -> FloatArray:
        """Return what follows each prefix, the end last."""
        return states.next_symbol


@dataclass(frozen=True, eq=False, repr=False)
class QueriedModel(PrefixReader):
    """A model that is queried about what follows a prefix; a walk queries each prefix once.

    Parameters
    ----------
    backend
        What queries the model, see `Backend`: for each prefix the probability of every symbol in
        the order of the alphabet, and last that the word ends.
    alphabet
        The symbols of the words.
    leaks
        Whether the probabilities may sum to less than 1: the model knows other symbols too.
    """

    backend: Backend
    alphabet: Alphabet
    leaks: bool = False

    def __repr__(self) -> str:
        note = ", not renormalised" if self.leaks else ""
        return f"{type(self).__name__}({self.backend.who}, {len(self.alphabet)} symbols{note})"

    @property
    def max_length(self) -> int | None:
        """The length of the longest prefix that the model can read; None: it can read any."""
        return max_length_of(self.backend)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of the answer to one prefix: a number for each symbol and the end."""
        return (len(self.alphabet) + 1,)

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Query what follows each word as a prefix, the end last, ``(n_words, n_symbols + 1)``."""
        words = self.alphabet.words(words)
        probabilities = np.empty((len(words), len(self.alphabet) + 1))
        return gathered(self.answers(words), probabilities, self.backend.who)

    def answers(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield which prefixes are answered, and what, as it comes; each has been checked."""
        for which, answers in answered_pieces(self.backend, words):
            shape = (len(which), len(self.alphabet) + 1)
            yield (
                which,
                self._checked(
                    checked_answers(answers, words[which], shape, self.backend.who), words[which]
                ),
            )

    def _checked(self, probabilities: FloatArray, words: Words) -> FloatArray:
        total = probabilities.sum(axis=1)
        wrong = (probabilities < 0).any(axis=1) | (total > 1 + SUM_TOLERANCE) | (total <= 0)
        if not self.leaks:
            wrong |= total < 1 - SUM_TOLERANCE
        if wrong.any():
            at = int(wrong.argmax())
            are_scores = bool((probabilities[at] < 0).any())
            raise BlackBoxError(
                f"{self.backend.who} returned {probabilities[at].tolist()} for the prefix "
                f"{self.alphabet.show(words[at])!r}: expected probabilities that sum to 1, "
                f"one for each of {len(self.alphabet)} symbols and last the end"
                + ("; if these are scores, apply softmax" if are_scores else "")
            )
        return probabilities


def answered_pieces(backend: Backend, words: Words) -> Iterator[tuple[IntArray, object]]:
    """Yield what a backend answers, as it comes; refuse words that it cannot read."""
    check_lengths(words, max_length_of(backend), backend.who)
    if len(words):  # many boxes fail on an empty query
        yield from backend.query(words)


def gathered(
    pieces: Iterable[tuple[IntArray, FloatArray]], result: FloatArray, who: str
) -> FloatArray:
    """Return answers that come in pieces in the order of the words; all have to come."""
    missing = np.ones(len(result), bool)
    for which, answers in pieces:
        result[which] = answers
        missing[which] = False
    if missing.any():
        raise BlackBoxError(
            f"{who} was queried about {len(result)} words and left {missing.sum()} unanswered"
        )
    return result


class FailedError(Exception):
    """A model failed on some words, and its own message says why."""


def halving(
    query: Callable[[IntArray], Any], words: Words, which: IntArray, who: str
) -> Iterator[tuple[IntArray, Any]]:
    """Query some of the words; where that fails, one half and then the other.

    So every word before the one that fails is answered, and that one is named. A model that only
    fails on large batches is queried in small ones.
    """
    try:
        answers = query(which)
    except (SeqrayError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: no box may end the program
        if len(which) == 1:
            reason = str(error) if isinstance(error, FailedError) else described(error)
            word = words.alphabet.show(words[int(which[0])])
            raise BlackBoxError(f"{who} failed on the word {word!r}: {reason}") from error
        half = len(which) // 2
        yield from halving(query, words, which[:half], who)
        yield from halving(query, words, which[half:], who)
        return
    yield which, answers
