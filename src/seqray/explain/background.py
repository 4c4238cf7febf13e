"""Backgrounds for Shapley values: distributions of the symbols at unknown positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import normalised
from seqray.automata.purpose import Purpose
from seqray.automata.words import Alphabet, Symbol, Words
from seqray.explain.probable import sums
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, read_only, real_array
from seqray.util.errors import ArgumentError

SMOOTHING = 0.5
"""Added to the count of every symbol, so that none has probability 0."""

MIN_PROBABILITY = 1e-6
"""The smallest probability of a symbol in a background that is read from an automaton."""


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """A distribution over words of one length, whatever the length.

    Symbols are drawn independently, or each depends on the one before (a Markov chain). Make one
    with `uniform`, `independent`, `markov`, `frequencies` or `bigrams`.

    Parameters
    ----------
    alphabet
        The symbols.
    initial
        The probability of each symbol at the first position, shape ``(n_symbols,)``.
    transitions
        The probability of each symbol (column) after each (row), shape
        ``(n_symbols, n_symbols)``; None where every position is like the first.

    Examples
    --------
    >>> Background.uniform("ab")
    Background(independent, a 0.5, b 0.5)
    >>> Background.bigrams(Alphabet("ab").words(["ab", "aab"])).transitions.round(3)
    array([[0.375, 0.625],
           [0.5  , 0.5  ]])
    """

    alphabet: Alphabet
    initial: FloatArray
    transitions: FloatArray | None = None

    def __post_init__(self) -> None:
        k = len(self.alphabet)
        object.__setattr__(self, "initial", _probabilities("initial", self.initial, (k,)))
        if self.transitions is not None:
            rows = _probabilities("transitions", self.transitions, (k, k))
            object.__setattr__(self, "transitions", rows)

    @classmethod
    def uniform(cls, alphabet: Alphabet | Iterable[Symbol]) -> Background:
        """Return the background in which all symbols have the same probability everywhere."""
        alphabet = Alphabet.of(alphabet)
        return cls(alphabet, np.full(len(alphabet), 1 / len(alphabet)))

    @classmethod
    def independent(
        cls, alphabet: Alphabet | Iterable[Symbol], probabilities: ArrayLike
    ) -> Background:
        """Return the background in which symbols have given probabilities, ``(n_symbols,)``.

        >>> Background.independent("ab", [0.75, 0.25])
        Background(independent, a 0.75, b 0.25)
        """
        return cls(Alphabet.of(alphabet), np.asarray(probabilities))

    @classmethod
    def markov(
        cls, alphabet: Alphabet | Iterable[Symbol], initial: ArrayLike, transitions: ArrayLike
    ) -> Background:
        """Return a Markov chain, given by its first symbol and its matrix.

        >>> Background.markov("ab", [0.5, 0.5], [[0.9, 0.1], [0.5, 0.5]])
        Background(Markov, begins with a 0.5, b 0.5)
        """
        return cls(Alphabet.of(alphabet), np.asarray(initial), np.asarray(transitions))

    @classmethod
    def frequencies(cls, source: Words | AutomatonLike) -> Background:
        """Return independent symbols, as frequent as in words, or as an automaton expects.

        Half a symbol of each kind is added to what words have. What an automaton expects is exact,
        the sum over all words; one whose weights do not sum expects every symbol alike.

        >>> Background.frequencies(Alphabet("ab").words(["aab", "aaa"]))
        Background(independent, a 0.786, b 0.214)
        >>> Background.frequencies(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
        Background(independent, a 0.667, b 0.333)
        """
        if isinstance(source, Words):
            counts = np.bincount(source.codes, minlength=len(source.alphabet)) + SMOOTHING
            return cls(source.alphabet, counts / counts.sum())
        a = as_automaton(source, "source", purpose=Purpose.READING)
        if not sums(a):
            return cls.uniform(a.alphabet)
        return cls(a.alphabet, _positive(expected_counts(a)))

    @classmethod
    def bigrams(cls, source: Words | AutomatonLike) -> Background:
        """Return the Markov chain of the pairs of symbols in words, or that an automaton expects.

        As in `frequencies`, no probability is 0: every symbol can then be known at every position.

        >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
        >>> Background.bigrams(wa).transitions.round(3)
        array([[0.667, 0.333],
               [0.667, 0.333]])
        """
        if isinstance(source, Words):
            k = len(source.alphabet)
            first = source.codes[source.offsets[:-1][source.lengths > 0]]
            starts = np.bincount(first, minlength=k) + SMOOTHING
            inner = np.ones(len(source.codes), bool)
            inner[source.offsets[:-1][source.lengths > 0]] = False
            second = np.flatnonzero(inner)
            pairs = np.bincount(
                source.codes[second - 1] * k + source.codes[second], minlength=k * k
            )
            rows = pairs.reshape(k, k) + SMOOTHING
            return cls(
                source.alphabet, starts / starts.sum(), rows / rows.sum(axis=1, keepdims=True)
            )
        a = as_automaton(source, "source", purpose=Purpose.READING)
        if not sums(a):
            k = len(a.alphabet)
            return cls(a.alphabet, np.full(k, 1 / k), np.full((k, k), 1 / k))
        after = a.transitions @ a.prefix_final  # (n_symbols, n_states)
        visited = expected_visits(a) @ a.transitions  # (n_symbols, n_states)
        return cls(a.alphabet, _positive(after @ a.initial), _positive(visited @ after.T))

    @property
    def is_independent(self) -> bool:
        """Whether every position is drawn on its own."""
        return self.transitions is None

    def __repr__(self) -> str:
        pairs = zip(self.alphabet, self.initial, strict=True)
        shown = ", ".join([f"{symbol} {probability:.3g}" for symbol, probability in pairs][:4])
        more = ", …" if len(self.alphabet) > 4 else ""
        kind = "independent, " if self.is_independent else "Markov, begins with "
        return f"Background({kind}{shown}{more})"


def expected_visits(a: WeightedAutomaton) -> FloatArray:
    """Return the summed state over all prefixes, α₀(I − ΣMσ)⁻¹, shape ``(n_states,)``.

    >>> expected_visits(WeightedAutomaton("a", [1], [[[0.75]]], [0.25]))
    array([4.])
    """
    return a.mirror.prefix_final


def expected_counts(a: WeightedAutomaton) -> FloatArray:
    """Return how often each symbol is expected in a word, shape ``(n_symbols,)``.

    >>> expected_counts(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])).round(9)
    array([2., 1.])
    """
    counts: FloatArray = (a.transitions @ a.prefix_final) @ expected_visits(a)
    return counts


def _positive(rows: FloatArray) -> FloatArray:
    """Normalise numbers that may be a little below 0, or all 0, to positive probabilities."""
    rows = np.maximum(normalised(rows), MIN_PROBABILITY)
    probabilities: FloatArray = rows / rows.sum(axis=-1, keepdims=True)
    return probabilities


def _probabilities(name: str, values: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Check probabilities: none below 0, and every row sums to 1."""
    rows = real_array(name, values, shape)
    total = rows.sum(axis=-1)
    if (rows < 0).any() or not np.allclose(total, 1, rtol=0, atol=1e-6):
        raise ArgumentError(
            f"{name}: expected probabilities from 0 up that sum to 1, got a smallest one of "
            f"{rows.min():.3g} and sums from {total.min():.6g} to {total.max():.6g}"
        )
    return read_only(rows / total[..., None])
