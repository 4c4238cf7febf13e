"""How far two sides are from each other, in both directions, on words of each."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from seqray.automata.probabilities import as_probabilities
from seqray.automata.reading import ReadsPredictions
from seqray.automata.stepper import PredictingStepper, predicts
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.native.clipped import clipped
from seqray.blackbox.protocol import BlackBox, Classifier, allowed_length, max_length_of
from seqray.blackbox.queries.oracle import direct_oracle
from seqray.explain.difference.exact import ExactDistance
from seqray.fidelity.decisions import compare_decisions
from seqray.fidelity.intervals import Interval
from seqray.fidelity.reference import (
    MAX_DRAWN_LENGTH,
    MAX_RANDOM_LENGTH,
    Reference,
    drawn_words,
)
from seqray.fidelity.table import Fidelity
from seqray.fidelity.word_metrics import without_rounding
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.random import Seed, random_generator


class DistanceKind(enum.StrEnum):
    """What is compared, and which figure says how much two sides differ."""

    DIVERGENCE = "divergence"
    """Both predict next symbols: bits per symbol."""
    DECISIONS = "decisions"
    """Both are classifiers: the share of words that get different classes."""
    WEIGHTS = "weights"
    """All others: the error of the weights of words, relative to their size."""


METRICS: Mapping[DistanceKind, str] = MappingProxyType(
    {
        DistanceKind.DIVERGENCE: "kl_per_symbol",
        DistanceKind.DECISIONS: "agreement",
        DistanceKind.WEIGHTS: "relative_error",
    }
)
"""The metric of `seqray.compare` that the figure of each kind comes from."""

UNITS: Mapping[DistanceKind, str] = MappingProxyType(
    {
        DistanceKind.DIVERGENCE: "bits per symbol",
        DistanceKind.DECISIONS: "share of words that get different classes",
        DistanceKind.WEIGHTS: "relative error of the weights",
    }
)
"""What the figure of each kind is."""


@dataclass(frozen=True)
class DistanceFigure:
    """One figure of a distance.

    Parameters
    ----------
    name
        What it is, in words.
    value
        The estimate.
    interval
        Its 95 % confidence interval; None where there is none.
    """

    name: str
    value: float
    interval: Interval | None


@dataclass(frozen=True, eq=False)
class Distance:
    """How far two sides are from each other.

    Parameters
    ----------
    kind
        What was compared.
    forward
        How faithful B is to A, on words of A.
    backward
        How faithful A is to B, on words of B.
    words_a, words_b
        Which words those are.
    exact
        Distances over all words, for two automata; None for all else.
    """

    kind: DistanceKind
    forward: Fidelity
    backward: Fidelity
    words_a: str
    words_b: str
    exact: ExactDistance | None = None

    @property
    def figures(self) -> tuple[DistanceFigure, ...]:
        """The figure from A to B and from B to A; of decisions one, which both directions share."""
        if self.kind is DistanceKind.DECISIONS:
            return (self._figure(self.forward, ""),)
        return (
            self._figure(self.forward, " from A to B"),
            self._figure(self.backward, " from B to A"),
        )

    @property
    def largest(self) -> DistanceFigure:
        """The larger figure of both directions; that from A to B where they are equal."""
        return max(self.figures, key=lambda figure: figure.value)

    def _figure(self, fidelity: Fidelity, where: str) -> DistanceFigure:
        metric = METRICS[self.kind]
        value, interval = fidelity[metric], fidelity.intervals.get(metric)
        if self.kind is DistanceKind.DECISIONS:
            value = 1 - value
            interval = None if interval is None else (1 - interval[1], 1 - interval[0])
        return DistanceFigure(f"{UNITS[self.kind]}{where}", without_rounding(value), interval)


def measure_distance(
    a: BlackBox,
    b: BlackBox,
    words: Words | None,
    *,
    max_length: int | None = None,
    seed: Seed = 0,
) -> Distance:
    """Compare two sides over one alphabet.

    Parameters
    ----------
    a, b
        The two sides.
    words
        What to compare them on, in both directions; None: words are drawn from each side that
        predicts, and at random for any other.
    max_length
        The longest word to draw: by default 100 symbols, 12 at random, or the limit of a side.
    seed
        Random seed, a number or a generator.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> one = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> other = WeightedAutomaton("a", [1], [[[0.75]]], [0.25])
    >>> [round(each.value, 6) for each in measure_distance(one, other, None).figures]
    [0.207519, 0.188722]
    """
    rng = random_generator(seed)
    if isinstance(a, Classifier) and isinstance(b, Classifier):
        own, source = _words_of((a, b), 0, words, max_length, rng)
        both = compare_decisions(a, b, own), compare_decisions(b, a, own)
        return Distance(DistanceKind.DECISIONS, *both, source, source)
    sides = as_predictor(a), as_predictor(b)
    of_a, of_b = (_words_of(sides, at, words, max_length, rng) for at in (0, 1))
    forward = Reference.query(sides[0], of_a[0]).compare(sides[1], intervals=True)
    backward = Reference.query(sides[1], of_b[0]).compare(sides[0], intervals=True)
    has_bits = all(METRICS[DistanceKind.DIVERGENCE] in each for each in (forward, backward))
    kind = DistanceKind.DIVERGENCE if has_bits else DistanceKind.WEIGHTS
    return Distance(kind, forward, backward, of_a[1], of_b[1])


def as_predictor(box: BlackBox) -> BlackBox:
    """Return a box whose next symbols are probabilities: none below 0, and no sum above 1.

    An automaton that is nearly a distribution is clipped to one. The rows of any other box that
    predicts are scaled: in float32 they sum to 1 but for rounding, which would count as bits.

    >>> from seqray import WeightedAutomaton
    >>> as_predictor(WeightedAutomaton("ab", [1], [[[0.6]], [[-0.1]]], [0.5]))
    ClippedAutomaton(1 states, 2 symbols)
    """
    automaton = direct_oracle(box).automaton
    if automaton is None:
        return NormalisedRows(box) if predicts(box) else box
    if automaton.is_nonnegative or not automaton.is_distribution:
        return box
    return clipped(automaton)


@dataclass(frozen=True, eq=False)
class NormalisedRows(ReadsPredictions):
    """A box that predicts, whose next-symbol probabilities sum to 1, or to less if it leaks."""

    box: PredictingStepper

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.box.alphabet

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read; None: it can read any word."""
        return max_length_of(self.box)

    @property
    def max_states(self) -> int | None:
        """How many states the box holds at once; None: any number."""
        limit: int | None = getattr(self.box, "max_states", None)
        return limit

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        return self.box.start()

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        return self.box.step(states, parents, symbols)

    def state_weights(self, states: States) -> FloatArray:
        """Return the probability of the word that leads to each state."""
        return self.box.state_weights(states)

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return what follows each state, the end last, float64."""
        rows = np.asarray(self.box.state_next_symbol(states), np.float64)
        return as_probabilities(rows)


def _words_of(
    sides: tuple[BlackBox, BlackBox],
    at: int,
    words: Words | None,
    max_length: int | None,
    rng: Seed,
) -> tuple[Words, str]:
    """Return the words to compare on, and where they are from: by default a side itself."""
    if words is not None:
        return words, f"{len(words):,} given words"
    default = MAX_DRAWN_LENGTH if predicts(sides[at]) else MAX_RANDOM_LENGTH
    longest = shared_length(*sides, max_length, default)
    drawn, source = drawn_words(sides[at], seed=rng, max_length=longest)
    return drawn, source.replace("the box", "AB"[at])


def shared_length(a: BlackBox, b: BlackBox, max_length: int | None, default: int) -> int:
    """Return the longest word to draw: one that both sides can read.

    >>> from seqray import WeightedAutomaton
    >>> coin = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> shared_length(coin, coin, None, 100)
    100
    """
    longest = allowed_length(a, max_length, default)
    limit = max_length_of(b)
    return longest if limit is None else min(longest, limit)
