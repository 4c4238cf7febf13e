"""How much a change of coordinates changes the weights of words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import FloatArray

MAX_CHECKED_LENGTH, MAX_CHECKED_WORDS = 8, 20_000
"""The loss is measured on all words up to this length, or on this many of them."""


@dataclass(frozen=True, eq=False)
class Checked:
    """The words on which a loss is measured, and their weights as they were, ``(n_words,)``."""

    words: Words
    weights: FloatArray

    @classmethod
    def of(cls, automaton: WeightedAutomaton) -> Checked:
        """Weigh the words that are checked."""
        words = checked_words(automaton.alphabet)
        return cls(words, automaton.weights(words))

    def loss(self, other: WeightedAutomaton) -> float:
        """Return the largest change of a weight, relative to the largest there was.

        Weights beyond float64 are left out.
        """
        weights = other.weights(self.words)
        finite = np.isfinite(weights) & np.isfinite(self.weights)
        before, after = self.weights[finite], weights[finite]
        largest = np.abs(before).max(initial=0) or 1.0
        return float((np.abs(after / largest - before / largest)).max(initial=0))


def weight_loss(a: WeightedAutomaton, b: WeightedAutomaton) -> float:
    """Return the largest change of a weight from ``a`` to ``b``, relative to the largest of ``a``.

    It is measured on all words up to length 8. Where these are more than 20,000, on all of the
    short ones that fit half of that, and on random ones (the same each time) of every other
    length.

    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [2])
    >>> weight_loss(half, WeightedAutomaton("a", [1], [[[0.5]]], [2.5]))
    0.25
    """
    return Checked.of(a).loss(b)


def checked_words(alphabet: Alphabet) -> Words:
    """Return the words on which `weight_loss` is measured.

    >>> len(checked_words(Alphabet("ab"))), len(checked_words(Alphabet(range(20))))
    (511, 18421)
    """
    k = len(alphabet)
    sizes = [k**length for length in range(MAX_CHECKED_LENGTH + 1)]
    room = MAX_CHECKED_WORDS if sum(sizes) <= MAX_CHECKED_WORDS else MAX_CHECKED_WORDS // 2
    n_whole = sum(total <= room for total in np.cumsum(sizes, dtype=float))
    each = (MAX_CHECKED_WORDS - room) // max(len(sizes) - n_whole, 1)
    rng, batches = np.random.default_rng(0), []
    for length, size in enumerate(sizes):
        if length < n_whole:
            codes = np.arange(size)[:, None] // k ** np.arange(length - 1, -1, -1) % k
        else:
            codes = rng.integers(k, size=(each, length))
        offsets = np.arange(len(codes) + 1) * length
        batches.append(Words(alphabet, codes.ravel(), offsets))
    return Words.concatenate(batches)
