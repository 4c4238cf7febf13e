"""Searches for words that a box decides otherwise than a deterministic automaton does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.sampling import sample, uniform_words
from seqray.automata.words import Words
from seqray.learning.known_rows import Codes, KnownRows, codes_of, words_of
from seqray.learning.search_words import prefixes_of
from seqray.util.arrays import IntArray

MEAN_SUFFIX_LENGTH = 4
"""Symbols after a transition of the automaton, on average."""

FIRST_PIECE = 32
"""Words that are queried first, before they are compared; then twice as many, and so on."""

HINTED_FACTOR = 10
"""For each word that may be queried, so many are tried on the hint, which costs no query."""


@dataclass(frozen=True, eq=False)
class DecisionSearch:
    """Where to search for counterexamples.

    Parameters
    ----------
    known
        What is known, and queries what is not.
    given
        Words that are searched first, with all their prefixes.
    hint
        A weighted automaton that is near to the box: words on which its decision is not that of the
        deterministic automaton are queried before others.
    hint_decides
        Returns the decisions that the hint's weights mean.
    n_words
        How many words of each kind are queried in each search.
    max_length
        The longest random word.
    """

    known: KnownRows
    given: Words
    hint: WeightedAutomaton | None
    hint_decides: Callable[[WeightedAutomaton, Words], IntArray]
    n_words: int
    max_length: int

    def counterexample(
        self,
        automaton: DeterministicAutomaton,
        rng: np.random.Generator,
        ignored: Collection[Codes] = (),
    ) -> Codes | None:
        """Return a short word on which box and automaton decide otherwise; None: none was found.

        Words that are ignored do not count.
        """
        for words in self._batches(automaton, rng):
            short = [word for word in words if len(word) <= self.max_length]
            for some in self._pieces([word for word in short if word not in ignored]):
                decided = self.known.query(some).argmax(axis=1)
                batch = words_of(automaton.alphabet, some)
                wrong = np.flatnonzero(decided != automaton.outputs[automaton.states(batch)])
                if len(wrong):
                    return min((some[i] for i in wrong.tolist()), key=len)
        return None

    def _pieces(self, words: list[Codes]) -> Iterator[list[Codes]]:
        """Yield words in growing pieces, those that are known at once.

        A counterexample in one piece saves the queries of the next; a limit loses one piece.
        """
        known = [word for word in words if word in self.known]
        if known:
            yield known
        unknown = [word for word in dict.fromkeys(words) if word not in self.known]
        begin, size = 0, FIRST_PIECE
        while begin < len(unknown):
            yield unknown[begin : begin + size]
            begin, size = begin + size, 2 * size

    def _batches(
        self, automaton: DeterministicAutomaton, rng: np.random.Generator
    ) -> Iterator[list[Codes]]:
        """Yield words to compare on, what costs nothing first."""
        yield self.known.words
        if len(self.given):
            yield prefixes_of(self.given)
        if self.hint is not None:
            yield self._hinted(automaton, self.hint, rng)
        yield walks_along(automaton, self.n_words, rng)
        yield spliced(automaton, self._rare(), self.n_words, rng)
        if self.max_length > 0:
            yield codes_of(self._uniform(automaton, self.n_words, rng))

    def _rare(self) -> list[Codes]:
        """Return known words with a rare decision: their endings often make a difference."""
        if not len(self.known):
            return []
        words, rows = self.known.everything()
        decided = rows.argmax(axis=1)
        counts = np.bincount(decided)
        return codes_of(words[np.flatnonzero(counts[decided] <= counts.max() / 2)])

    def _uniform(
        self, automaton: DeterministicAutomaton, n_words: int, rng: np.random.Generator
    ) -> Words:
        return uniform_words(automaton.alphabet, n_words, seed=rng, max_length=self.max_length)

    def _hinted(
        self, automaton: DeterministicAutomaton, hint: WeightedAutomaton, rng: np.random.Generator
    ) -> list[Codes]:
        """Return words on which the hint and the automaton decide otherwise."""
        n_tried = HINTED_FACTOR * self.n_words
        tried = [
            words_of(automaton.alphabet, walks_along(automaton, n_tried, rng)),
            self._uniform(automaton, n_tried, rng) if self.max_length else self.given[:0],
        ]
        rare = self._rare()
        if hint.is_distribution:
            drawn = sample(hint, self.n_words, seed=rng, max_length=self.max_length).words
            rare += codes_of(drawn)
            tried.append(drawn)
        tried.append(words_of(automaton.alphabet, spliced(automaton, rare, n_tried, rng)))
        words = Words.concatenate(tried).unique()[0]
        own = automaton.outputs[automaton.states(words)]
        wrong = np.flatnonzero(self.hint_decides(hint, words) != own)
        shortest = wrong[np.argsort(words.lengths[wrong], kind="stable")][: self.n_words]
        return codes_of(words[shortest])


def walks_along(
    automaton: DeterministicAutomaton, n_words: int, rng: np.random.Generator
) -> list[Codes]:
    """Return words that go along each transition and on at random; at least so many.

    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> len(walks_along(even, 10, np.random.default_rng(0)))
    12
    """
    k = len(automaton.alphabet)
    transitions = [(*word, code) for word in access_words(automaton) for code in range(k)]
    repeats = -(-n_words // len(transitions))
    lengths = rng.geometric(1 / (1 + MEAN_SUFFIX_LENGTH), repeats * len(transitions)) - 1
    codes = iter(rng.integers(0, k, int(lengths.sum())).tolist())
    return [
        (*word, *(next(codes) for _ in range(n)))
        for word, n in zip(transitions * repeats, lengths.tolist(), strict=True)
    ]


def spliced(
    automaton: DeterministicAutomaton, words: list[Codes], n_words: int, rng: np.random.Generator
) -> list[Codes]:
    """Return words that go along a transition and then on like the end of one of some words.

    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> len(spliced(even, [(0, 0, 0)], 3, np.random.default_rng(0)))
    3
    """
    if not words:
        return []
    access, k = access_words(automaton), len(automaton.alphabet)
    result: list[Codes] = []
    for _ in range(n_words):
        prefix = (*access[rng.integers(len(access))], int(rng.integers(k)))
        word = words[rng.integers(len(words))]
        result.append(prefix + word[rng.integers(len(word) + 1) :])
    return result


def access_words(automaton: DeterministicAutomaton) -> list[Codes]:
    """Return a shortest word to each state that can be reached, short ones first.

    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> access_words(even)
    [(), (0,)]
    """
    words: list[Codes] = [()]
    states, seen = [automaton.start_state], {automaton.start_state}
    for state, word in zip(states, words, strict=False):  # both grow meanwhile
        for code, target in enumerate(automaton.next_state[state].tolist()):
            if target not in seen:
                seen.add(target)
                states.append(target)
                words.append((*word, code))
    return words
