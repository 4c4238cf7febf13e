"""What an oracle hands out where a box can be stepped: its steps are counted or cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqray.automata.stepper import Stepper, predicts, read_each
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.protocol import in_batches, max_length_of, name_of
from seqray.blackbox.queried import PrefixReader, halving
from seqray.blackbox.queries.limits import Meter
from seqray.util.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from seqray.blackbox.queries.oracle import Oracle

WORDS_PER_BATCH = 1024
"""Words of a box of somebody's own that are queried at once."""


def counted(box: Stepper, meter: Meter) -> CountedStepper:
    """Return a box with states that answers the same, and whose steps are counted."""
    return (CountedPredictor if predicts(box) else CountedStepper)(box, meter)


@dataclass(frozen=True, eq=False)
class CountedStepper:
    """A box with states whose steps are counted."""

    box: Any
    meter: Meter

    @property
    def who(self) -> str:
        """Who answers."""
        return name_of(self.box)

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read."""
        return max_length_of(self.box)

    @property
    def max_states(self) -> int | None:
        """How many states may be stepped at once."""
        limit: int | None = getattr(self.box, "max_states", None)
        return limit

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        alphabet: Alphabet = self.box.alphabet
        return alphabet

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return one real number per word; what words share is stepped, and counted, once."""
        return read_each(self, self.alphabet.words(words), self.state_weights)

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        return self.box.start()

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after a symbol, if more steps are allowed."""
        self.meter.check()
        self.meter.require(len(parents))
        states = self.box.step(states, parents, symbols)
        self.meter.n_sent += len(parents)
        self.meter.report(len(parents))
        self.meter.end_batch()
        return states

    def state_weights(self, states: States) -> FloatArray:
        """Return the weight of the word that leads to each state."""
        weights: FloatArray = self.box.state_weights(states)
        return weights


class CountedPredictor(CountedStepper):
    """A box with states that predicts, and whose steps are counted."""

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return what follows each state, the end last."""
        probabilities: FloatArray = self.box.state_next_symbol(states)
        return probabilities

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return what follows each word as a prefix, the end last."""
        return read_each(self, self.alphabet.words(words), self.state_next_symbol)


@dataclass(frozen=True, eq=False)
class QueriedPrefixes(PrefixReader):
    """Steps by prefixes, each of which is one query.

    Parameters
    ----------
    who, alphabet, max_length
        Those of the box.
    query
        Returns what follows each prefix, the end last.
    """

    who: str
    alphabet: Alphabet
    max_length: int | None
    query: Callable[[Words], FloatArray]

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return what follows each word as a prefix, the end last."""
        return self.query(self.alphabet.words(words))


@dataclass(frozen=True, eq=False)
class WholeWords:
    """A backend that queries any box about whole words, or what follows them if it predicts."""

    box: Any
    deterministic: bool = False

    @property
    def who(self) -> str:
        """Who answers."""
        return name_of(self.box)

    @property
    def fingerprint(self) -> str | None:
        """What the answers are cached under."""
        fingerprint: str | None = getattr(self.box, "fingerprint", None)
        return fingerprint

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read."""
        return max_length_of(self.box)

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield which words are answered, and their answers."""
        for begin in range(0, len(words), WORDS_PER_BATCH):
            which = np.arange(begin, min(begin + WORDS_PER_BATCH, len(words)))
            yield from halving(lambda some: self._answers(words[some]), words, which, self.who)

    def _answers(self, words: Words) -> Any:
        if not isinstance(self.box, Stepper):
            return self.box.weights(words)
        read = self.box.state_next_symbol if predicts(self.box) else self.box.state_weights
        return read_each(self.box, words, read)


@dataclass(frozen=True, eq=False)
class CountedClassifier:
    """A classifier whose queries an oracle counts and caches.

    Parameters
    ----------
    oracle
        Counts and caches.
    classes, threshold
        Those of the box.
    uncached
        Queries the box itself, where nothing is cached.
    """

    oracle: Oracle
    classes: tuple[str, ...]
    threshold: float | None
    uncached: Callable[[Words], FloatArray]

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.oracle.alphabet

    @property
    def who(self) -> str:
        """Who answers."""
        return self.oracle.who

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read."""
        return self.oracle.max_length

    def scores(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the probability of each class for each word, ``(n_words, n_classes)``."""
        words = self.alphabet.words(words)
        query = self.oracle.queries or self.uncached
        rows = [np.empty((0, len(self.classes))), *(query(some) for some in in_batches(words))]
        return np.concatenate(rows)

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the probability of the last class for each word, ``(n_words,)``."""
        return self.scores(words)[:, -1]
