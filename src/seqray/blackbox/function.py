"""Python functions as black boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqray.arrays import FloatArray, IntArray
from seqray.blackbox.protocol import checked_answers
from seqray.errors import BlackBoxError, SeqrayError
from seqray.stepper import collect
from seqray.tree import PrefixTree
from seqray.words import Alphabet, Symbol, Word, Words

Function = Callable[[list[Any]], Any]


def black_box(function: Function, alphabet: Alphabet | Iterable[Symbol]) -> FunctionBox:
    """Turn a function on words into a black box.

    Parameters
    ----------
    function
        Takes a list of words and returns one real number a word. A word is a string where all
        symbols are single characters, and a tuple of symbols otherwise.
    alphabet
        The symbols of the words.

    Examples
    --------
    >>> box = black_box(lambda words: [0.5 ** len(w) for w in words], "ab")
    >>> box.weights(["", "a", "abb"])
    array([1.   , 0.5  , 0.125])
    """
    return FunctionBox(function, Alphabet.of(alphabet))


def language_model(function: Function, alphabet: Alphabet | Iterable[Symbol]) -> FunctionModel:
    """Turn a function that predicts the next symbol into a black box.

    Parameters
    ----------
    function
        Takes a list of prefixes and returns, for each, the probability of every symbol in the
        order of the alphabet, and last that the word ends: shape ``(n, n_symbols + 1)``.
    alphabet
        The symbols of the words.

    Examples
    --------
    >>> box = language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")
    >>> box.weights(["", "a", "ab"])
    array([0.25   , 0.125  , 0.03125])
    """
    return FunctionModel(function, Alphabet.of(alphabet))


@dataclass(frozen=True, eq=False)
class FunctionBox:
    """A function that gives a number to each word; see `black_box`."""

    function: Function
    alphabet: Alphabet

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Ask the function for the number of each word, in one call."""
        words = self.alphabet.words(words)
        if not len(words):
            return np.empty(0)  # functions are not asked about nothing: many fail on it
        return checked_answers(
            _ask(self.function, words), words, (len(words),), _name(self.function)
        )


class PrefixStates(NamedTuple):
    """The state of a model without states is the prefix itself."""

    prefixes: Words
    log_weight: FloatArray
    next_symbol: FloatArray


@dataclass(frozen=True, eq=False)
class FunctionModel:
    """A function that predicts the next symbol; see `language_model`.

    It is a stepper whose state is the prefix read so far, so that a walk asks each prefix once.
    """

    function: Function
    alphabet: Alphabet

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return each word's probability: the product of its symbols' and its end's."""
        tree = PrefixTree.of(self.alphabet.words(words))
        return collect(self, tree, self.state_weights)[tree.node_of_word]

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Ask the function what follows each word as a prefix."""
        words = self.alphabet.words(words)
        who = _name(self.function)
        shape = (len(words), len(self.alphabet) + 1)
        if not len(words):
            return np.empty(shape)
        chances = checked_answers(_ask(self.function, words), words, shape, who)
        wrong = (chances < 0).any(axis=1) | (np.abs(chances.sum(axis=1) - 1) > 1e-3)
        if wrong.any():
            at = int(wrong.argmax())
            raise BlackBoxError(
                f"{who} returned {chances[at].tolist()} for the prefix "
                f"{self.alphabet.show(words[at])!r}: expected probabilities that sum to 1, "
                f"one for each of {len(self.alphabet)} symbols and last the end"
            )
        return chances

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


def _name(function: Function) -> str:
    return f"the function {getattr(function, '__name__', repr(function))!r}"


def _ask(function: Function, words: Words) -> Any:
    """Call a user's function with words as the user knows them."""
    plain: list[Any] = list(words)
    if words.alphabet.has_characters:
        plain = ["".join(word) for word in plain]
    try:
        return function(plain)
    except SeqrayError:
        raise
    except Exception as error:
        raise BlackBoxError(
            f"{_name(function)} failed on a batch of {len(words)} words that begins with "
            f"{words.alphabet.show(words[0])!r}: {type(error).__name__}: {error}"
        ) from error
