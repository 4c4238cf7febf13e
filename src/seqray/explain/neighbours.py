"""Words with one edit of a word, and those of them where an automaton's answer changes most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import as_probabilities, total_variation
from seqray.automata.words import Symbol, Words
from seqray.explain.edits import Edit, one_edit
from seqray.explain.text import next_name
from seqray.fidelity.reference import Reference
from seqray.util.arrays import FloatArray, IntArray

MAX_NUMBERS = 2**25
"""Next symbols are read after as many words with one edit as have so many, the heaviest first."""

MAX_NUMBERS_AT_ONCE = 2**22
"""Probabilities of next symbols that are read at once."""

N_QUERIED = 40
"""How many words with one edit are sent to the box, to measure the fidelity near a word."""


class Neighbour(NamedTuple):
    """A word with one edit, where the answer is another.

    ``why`` it is shown: it is ``heavier``, ``lighter``, or it has another likeliest ``next``
    symbol. ``distance`` is the total variation distance of the next symbols after both words, nan
    where the automaton does not predict; ``box_weight`` is nan where there is no box.
    """

    word: tuple[Symbol, ...]
    edit: Edit
    why: str
    weight: float
    distance: float
    next_symbol: str
    box_weight: float
    box_next_symbol: str


class _Following:
    """What comes next after words with one edit, as far as it was read."""

    def __init__(self, wa: WeightedAutomaton, word: Words, edited: Words) -> None:
        self.wa, self.edited = wa, edited
        self._own = as_probabilities(wa.next_symbol(word))[0]
        self.best = np.full(len(edited), -1)  # the likeliest next symbol; -1: not read
        self.distance = np.zeros(len(edited))  # of the next symbols, to those of the word itself

    def read(self, numbers: IntArray) -> None:
        """Read what comes next after some of the words."""
        size = max(1, MAX_NUMBERS_AT_ONCE // len(self._own))
        unread = numbers[self.best[numbers] < 0]
        for begin in range(0, len(unread), size):
            some = unread[begin : begin + size]
            rows = as_probabilities(self.wa.next_symbol(self.edited[some]))
            self.best[some] = rows.argmax(axis=1)
            self.distance[some] = total_variation(rows, self._own)

    def read_heaviest(self, logs: FloatArray) -> FloatArray:
        """Read the heaviest words; return their distances where another symbol is likeliest."""
        n_read = max(1, MAX_NUMBERS // len(self._own))
        self.read(np.sort(np.argsort(-logs, kind="stable")[:n_read]))
        return np.where(self.best != self._own.argmax(), self.distance, 0)


@dataclass(frozen=True, eq=False)
class OneEditWords:
    """All words with one edit; which of them are shown, and why.

    Parameters
    ----------
    word
        The word itself, alone.
    edits, words, weights
        The edits, the edited words, and the automaton's weights of them, shape ``(n_words,)``.
    following
        What comes next after each edited word; None where the automaton does not predict.
    shown, why
        Which of the edited words are shown, and why each.
    """

    word: Words
    edits: list[Edit]
    words: Words
    weights: FloatArray
    following: _Following | None
    shown: IntArray
    why: list[str]

    @classmethod
    def of(
        cls, wa: WeightedAutomaton, word: tuple[Symbol, ...], n: int, max_length: int | None
    ) -> OneEditWords:
        """Weigh all words with one edit, and choose those where the answer changes most."""
        edits, words = one_edit(word, wa.alphabet, max_length=max_length)
        own = wa.alphabet.words([word])
        weights, following = wa.weights(words), None
        shown: dict[int, str] = {}
        if wa.is_distribution:
            sign, logs = wa.log_weights(Words.concatenate([own, words]))
            logs = np.where(sign > 0, logs, -1e9)
            change = logs[1:] - logs[0]
            following = _Following(wa, own, words)
            moved = following.read_heaviest(logs[1:])
            for i in np.argsort(-moved, kind="stable")[:n].tolist():
                if moved[i] > 0:
                    shown[i] = "next"
        else:
            both = np.append(weights, wa.weight(word))
            finite = np.nan_to_num(both)  # beyond float64: the largest
            finite = finite / (np.abs(finite).max() or 1.0)
            change = finite[:-1] - finite[-1]
        change = np.round(change, 9)  # differences by rounding alone do not count
        for why, gain, most in (("heavier", change, n - n // 2), ("lighter", -change, n // 2)):
            for i in np.argsort(-gain, kind="stable")[:most].tolist():
                if gain[i] > 0:
                    shown.setdefault(i, why)
        chosen = np.array([*shown], int)
        if following is not None:
            following.read(chosen)
        return cls(own, edits, words, weights, following, chosen, [*shown.values()])

    def queries(self) -> Words:
        """Return the words to query: the word, those to be shown, and others at random."""
        rng = np.random.default_rng(0)
        others = np.setdiff1d(np.arange(len(self.words)), self.shown)
        n_others = min(len(others), max(0, N_QUERIED - len(self.shown)))
        drawn = np.sort(rng.choice(others, n_others, replace=False)) if n_others else others[:0]
        return Words.concatenate([self.word, self.words[self.shown], self.words[drawn]])

    def neighbours(self, reference: Reference | None) -> tuple[Neighbour, ...]:
        """Return the words to be shown, with the box's answers to `queries` if there is one."""
        return tuple(
            self._neighbour(place, i, why, reference)
            for place, (i, why) in enumerate(zip(self.shown.tolist(), self.why, strict=True))
        )

    def _neighbour(self, place: int, i: int, why: str, reference: Reference | None) -> Neighbour:
        alphabet = self.words.alphabet
        distance, following = np.nan, ""
        if self.following is not None:
            distance = float(self.following.distance[i])
            following = next_name(alphabet, int(self.following.best[i]))
        box_weight, box_following = np.nan, ""
        if reference is not None:
            box_weight = float(reference.weights[place + 1])
            if reference.next_symbol is not None:
                node = reference.tree.node_of_word[place + 1]
                box_following = next_name(alphabet, int(reference.next_symbol[:, node].argmax()))
        return Neighbour(
            *(self.words[i], self.edits[i], why, float(self.weights[i]), distance),
            *(following, box_weight, box_following),
        )
