"""Networks that are stepped from state to state by a framework's own code, as black boxes.

An adapter brings an `IdStepper`; the rest is the same for every framework.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from seqray.automata.reading import ReadsPredictions, ReadsWords
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.scores import checked_scores
from seqray.blackbox.guarded import blamed
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError, BlackBoxError


class IdStepper(Protocol):
    """Steps a network with states from id to id; each adapter has its own."""

    def begin(self) -> tuple[Any, Any]:
        """Return the scores ``(1, n_outputs)`` and the state before anything is read.

        The scores may be None where the card has a start or a stop: they are not needed then.
        """

    def advance(self, state: Any, parents: IntArray, ids: IntArray) -> tuple[Any, Any]:
        """Return scores ``(n, n_outputs)`` and states after reading ``ids[i]`` in ``parents[i]``.

        ``state`` is a batch that must not be changed; ``parents`` are places in it.
        """


class SteppedStates(NamedTuple):
    """A batch of states of a network that answers values."""

    inner: Any
    value: FloatArray


class SteppedModelStates(NamedTuple):
    """A batch of states of a network that predicts, with logarithms of probabilities."""

    inner: Any
    log_weight: FloatArray
    log_next: FloatArray


def stepped_box(
    stepper: IdStepper, card: Card, *, who: str, fingerprint: str | None = None
) -> SteppedBox:
    """Make a black box of a network with states.

    Parameters
    ----------
    stepper
        Steps the network.
    card
        How symbols become ids, and scores answers.
    who
        The network's name in error messages.
    fingerprint
        The key of its cached answers.
    """
    card.check_outputs()
    if card.answers == "classes":
        return SteppedClassifier(stepper, _with_classes(stepper, card, who), who, fingerprint)
    kind = SteppedBox if card.answers == "value" else SteppedModel
    return kind(stepper, card, who, fingerprint)


def _with_classes(stepper: IdStepper, card: Card, who: str) -> Card:
    """Return a classifier's card with its classes; those without names are counted in a trial."""
    if card.classes is not None:
        return card
    first = (*card.start_ids, *(card.ids or ()))[:1]
    with blamed(who, f" on the id {first[0]}"):
        scores = stepper.advance(stepper.begin()[1], np.zeros(1, np.int64), np.array(first))[0]
    shape = np.shape(scores)
    return card.with_classes(shape[-1] if len(shape) > 1 else 1)


@dataclass(frozen=True, eq=False, repr=False)
class SteppedBox(ReadsWords):
    """A network with states that gives one number per word; see `stepped_box`."""

    stepper: IdStepper
    card: Card
    who: str
    fingerprint: str | None

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.card.alphabet

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the network can read."""
        return self.card.max_length

    @property
    def max_states(self) -> int | None:
        """How many states may be stepped at once; None: any number."""
        max_states: int | None = getattr(self.stepper, "max_states", None)
        return max_states

    def __repr__(self) -> str:
        note = ", not renormalised" if self.card.leaks else ""
        return f"{type(self).__name__}({self.who}, {len(self.alphabet)} symbols{note})"

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        scores, inner = self._begin()
        if self.card.empty is not None:
            return SteppedStates(inner, self.card.empty_answer[None])
        return SteppedStates(inner, self._answers(self._checked(self._at_stop(scores, inner, 1))))

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        scores, inner = self._advance(states.inner, parents, symbols)
        scores = self._at_stop(scores, inner, len(symbols))
        return SteppedStates(inner, self._answers(self._checked(scores, symbols)))

    def _answers(self, scores: FloatArray) -> FloatArray:
        """Return what scores stand for: one value per word."""
        return self.card.values(scores)

    def _at_stop(self, scores: Any, inner: Any, n: int) -> Any:
        """Return the scores after the stop; the states of the words stay before it."""
        with blamed(self.who, f" on {n} states and the stop"):
            for number in self.card.stop_ids:
                scores, inner = self.stepper.advance(inner, np.arange(n), np.full(n, number))
        return scores

    def _begin(self) -> tuple[Any, Any]:
        with blamed(self.who, " on the start"):
            scores, inner = self.stepper.begin()
            for number in self.card.start_ids:
                scores, inner = self.stepper.advance(
                    inner, np.zeros(1, np.int64), np.array([number])
                )
        if scores is None and self.card.empty is None and self.card.stop is None:
            hint = (
                f"or {self.card.empty_hint}"
                if self.card.answers != "next"
                else "the id that it was trained to read first"
            )
            raise ArgumentError(
                f"{self.who} answers nothing before it has read an id, and its card has no start: "
                f"give the card a start, {hint}"
            )
        return scores, inner

    def _advance(self, inner: Any, parents: IntArray, symbols: IntArray) -> tuple[Any, Any]:
        with blamed(self.who, f" on {len(symbols)} states and symbols"):
            return self.stepper.advance(inner, parents, np.asarray(self.card.ids)[symbols])

    def _checked(self, scores: Any, symbols: IntArray | None = None) -> FloatArray:
        def place(row: int) -> str:
            if symbols is None:
                return "for the empty word"
            return f"after the symbol {self.alphabet.symbols[symbols[row]]!r}"

        n = 1 if symbols is None else len(symbols)
        return checked_scores(scores, self.card, n, self.who, place)


@dataclass(frozen=True, eq=False, repr=False)
class SteppedClassifier(SteppedBox):
    """A network with states that classifies whole words; see `stepped_box`.

    As a box of numbers its weights are the probabilities of the last class.
    """

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(self.card.classes or ())

    @property
    def threshold(self) -> float | None:
        """The probability at which the second of two classes is decided for."""
        return self.card.threshold

    def _answers(self, scores: FloatArray) -> FloatArray:
        """Return what scores stand for: one probability per class."""
        return self.card.class_scores(scores)

    def scores(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the probability of each class for each word, ``(n_words, n_classes)``."""
        return self._read(words, lambda states: np.asarray(states.value))

    def state_weights(self, states: SteppedStates) -> FloatArray:
        """Return the probability of the last class of the word that leads to each state."""
        return states.value[:, -1]


@dataclass(frozen=True, eq=False, repr=False)
class SteppedModel(ReadsPredictions, SteppedBox):
    """A network with states that predicts the next symbol; see `stepped_box`."""

    @property
    def leaks(self) -> bool:
        """Whether next-symbol probabilities may sum to less than 1."""
        return self.card.leaks

    def start(self) -> SteppedModelStates:
        """Return a batch of one: the state before the first symbol."""
        scores, inner = self._begin()
        return SteppedModelStates(inner, np.zeros(1), self._log_next(scores))

    def step(
        self, states: SteppedModelStates, parents: IntArray, symbols: IntArray
    ) -> SteppedModelStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        scores, inner = self._advance(states.inner, parents, symbols)
        log_weight = states.log_weight[parents] + states.log_next[parents, symbols]
        return SteppedModelStates(inner, log_weight, self._log_next(scores, symbols))

    def _log_next(self, scores: Any, symbols: IntArray | None = None) -> FloatArray:
        logs = self.card.log_next(self._checked(scores, symbols))
        if np.isnan(logs).any():
            raise BlackBoxError(
                f"{self.who} gave no probability to any symbol nor to the end: expected "
                "probabilities of the next symbol; see the card's columns and end"
            )
        return logs
