"""Blind spots of a box: symbols and parts of words that never change its answer.

A model whose padding has the id of a symbol cannot see that symbol at the end of a word. Others cut
long words, or read two symbols as one. Nothing fails then, so nobody notices. Here words are
changed in such a manner, and their answers compared.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from seqray.automata.sampling import uniform_words
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import BlackBox, Classifier, allowed_length
from seqray.blackbox.queries.oracle import Oracle, open_oracle
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.formatting import counted, shortened
from seqray.util.random import Seed, random_generator

MAX_RELATIVE_DIFFERENCE = 1e-5
"""Up to this relative difference two answers count as equal."""

N_WORDS, MAX_WORD_LENGTH = 100, 10
"""How many words confirm a blind spot, and the length of the longest, in symbols."""

N_FIRST_WORDS = 6
"""How many words every symbol is tried on."""

MAX_SYMBOLS = 200
"""How many symbols are tried; of a larger alphabet some, drawn at random."""

MIN_CHANGED_SHARE = 0.1
"""The least share of words on which another change of the same kind changes the answer."""

N_LONG_WORDS, LONG_LENGTH = 24, 100
"""How many long words are tried, and their length, in symbols."""


class BlindSpotKind(enum.StrEnum):
    """What never changes the answer."""

    END = "at the end"
    """A symbol after the last one of a word."""
    BEGINNING = "at the beginning"
    """A symbol before the first one of a word."""
    ANYWHERE = "anywhere"
    """A symbol at any place."""
    EXCHANGED = "exchanged"
    """One symbol in the place of another."""
    TAIL = "tail"
    """All symbols after the first few."""
    HEAD = "head"
    """All symbols before the last few."""


ADVICE = {
    BlindSpotKind.END: "is its id also the padding id?",
    BlindSpotKind.BEGINNING: "is its id also the padding id, or that of the start?",
    BlindSpotKind.ANYWHERE: "is it masked, or left out before the model reads a word?",
    BlindSpotKind.EXCHANGED: "do they have the same id, or are they unknown to the model?",
    BlindSpotKind.TAIL: "are longer words cut?",
    BlindSpotKind.HEAD: "are longer words cut, or does the box forget?",
}


@dataclass(frozen=True)
class BlindSpot:
    """Something that never changes the answer of a box; printed, a sentence.

    Parameters
    ----------
    kind
        What it is.
    symbols
        The symbols that it is about; none where positions count.
    length
        How many symbols of a word count; None where it is about symbols.
    pair
        Two words with the same answer.
    n_words
        For how many pairs of words that was so: for all that were tried.
    alphabet
        The symbols of the words.
    """

    kind: BlindSpotKind
    symbols: tuple[Symbol, ...]
    length: int | None
    pair: tuple[tuple[Symbol, ...], tuple[Symbol, ...]]
    n_words: int
    alphabet: Alphabet

    @property
    def advice(self) -> str:
        """What may be the reason."""
        return ADVICE[self.kind]

    def __str__(self) -> str:
        names = " and ".join(f'"{symbol}"' for symbol in self.symbols[:5])
        if len(self.symbols) > 5:
            names += f" and {len(self.symbols) - 5} more"
        if self.kind in (BlindSpotKind.TAIL, BlindSpotKind.HEAD):
            side = "first" if self.kind is BlindSpotKind.TAIL else "last"
            many = counted(self.length or 0, "symbol")
            return (
                f"of words of {len(self.pair[0])} symbols nothing but the {side} {many} counts: "
                f"{self.n_words} words got the same answer with others in place of the rest"
            )
        one, other = (f'"{shortened(self.alphabet.show(word), 20)}"' for word in self.pair)
        examples = f"{one} and {other} got the same answer, and so did all {self.n_words} pairs"
        if self.kind is BlindSpotKind.EXCHANGED:
            return f"{names} are one symbol to the box: {examples}"
        return f"{names} {self.kind.value} never changes the answer: {examples}"


def find_blind_spots(
    box: BlackBox | Classifier, words: Words | Iterable[Word] | None = None, *, seed: Seed = 0
) -> tuple[BlindSpot, ...]:
    """Find symbols and parts of words that never change the answer of a box.

    Every symbol is put at the end, at the beginning and inside of a few words, and in the place of
    each other symbol. What changed nothing is tried on a hundred words. Long words get other
    symbols behind, or before, some position. A blind spot is reported only where other changes of
    the same kind do change the answer. A thousand queries, for 40 symbols. The answer is a number,
    the probabilities of the classes, or those of the next symbol.

    Parameters
    ----------
    box
        Any box or classifier.
    words
        Words to put symbols into; by default random ones of up to 10 symbols.
    seed
        Random seed, a number or a generator.

    Examples
    --------
    >>> import seqray
    >>> weigh = lambda words: [sum(map(ord, word.rstrip("-"))) for word in words]
    >>> for spot in seqray.find_blind_spots(seqray.black_box(weigh, "ab-")):
    ...     print(spot.kind, spot.symbols)
    at the end ('-',)
    """
    oracle, rng = open_oracle(as_box(box)), random_generator(seed)
    given = None if words is None else oracle.alphabet.words(words).unique()[0]
    return (*symbol_blind_spots(oracle, given, rng), *length_blind_spots(oracle, rng))


def symbol_blind_spots(
    oracle: Oracle, words: Words | None, rng: np.random.Generator
) -> tuple[BlindSpot, ...]:
    """Return the symbols that never change the answer, and those that are one to the box."""
    longest = allowed_length(oracle, None, MAX_WORD_LENGTH + 1) - 1
    if words is None:
        drawn = uniform_words(oracle.alphabet, N_WORDS, seed=rng, max_length=max(1, longest))
        words = drawn.cut(longest).unique()[0]
    limit = oracle.max_length
    fits = np.flatnonzero(words.lengths < (np.inf if limit is None else limit))
    words = words[rng.permutation(fits)[:N_WORDS]]
    codes = np.sort(rng.permutation(len(oracle.alphabet))[:MAX_SYMBOLS])
    inside = rng.integers(0, words.lengths + 1)
    anywhere = _Insertions(oracle, words, inside, BlindSpotKind.ANYWHERE, codes)
    spots = anywhere.ignored()
    masked = {symbol for spot in spots for symbol in spot.symbols}
    for kind, places in (
        (BlindSpotKind.END, words.lengths),
        (BlindSpotKind.BEGINNING, np.zeros(len(words), np.int64)),
    ):
        left = np.array([c for c in codes if oracle.alphabet.symbols[c] not in masked], np.int64)
        spots += _Insertions(oracle, words, places, kind, left).ignored()
    return (*spots, *anywhere.confused(masked))


class _Insertions:
    """Words with one more symbol at a place of each, and the answers to the first few."""

    def __init__(
        self, oracle: Oracle, words: Words, places: IntArray, kind: BlindSpotKind, codes: IntArray
    ) -> None:
        self.oracle, self.words, self.places, self.kind, self.codes = (
            oracle,
            words,
            places,
            kind,
            codes,
        )
        few = np.arange(min(N_FIRST_WORDS, len(words)))
        self.unchanged = _answers(oracle, words[few])
        self.changed = self._answers_with(codes, few)
        self.same = _equal(self.changed, self.unchanged[:, None])

    def _with(self, codes: IntArray, which: IntArray) -> Words:
        """Return each chosen word with each symbol inserted, the symbols varying fastest."""
        symbols = self.oracle.alphabet.decode(codes.tolist())
        chosen = zip(self.words[which], self.places[which].tolist(), strict=True)
        longer = [(*word[:at], symbol, *word[at:]) for word, at in chosen for symbol in symbols]
        return self.oracle.alphabet.words(longer)

    def _answers_with(self, codes: IntArray, which: IntArray) -> FloatArray:
        answers = _answers(self.oracle, self._with(codes, which))
        return answers.reshape(len(which), len(codes), -1)

    def ignored(self) -> list[BlindSpot]:
        """Return the symbols that never change the answer, as one blind spot."""
        tells = ~self.same.all(axis=1)
        candidates = self.codes[self.same[tells].all(axis=0)]
        if not tells.any() or not len(candidates):
            return []
        other = self.codes[int((~self.same).sum(axis=0).argmax())]
        everywhere = np.arange(len(self.words))
        rows = self._answers_with(np.append(candidates, other), everywhere)
        same = _equal(rows, _answers(self.oracle, self.words)[:, None])
        if (~same[:, -1]).mean() < MIN_CHANGED_SHARE:
            return []
        codes = candidates[same[:, :-1].all(axis=0)]
        if not len(codes):
            return []
        longer = self._with(codes[:1], everywhere[:1])[0]
        symbols = self.oracle.alphabet.decode(codes.tolist())
        pair = (longer, self.words[0])
        return [BlindSpot(self.kind, symbols, None, pair, len(self.words), self.oracle.alphabet)]

    def confused(self, masked: set[Symbol]) -> list[BlindSpot]:
        """Return the groups of symbols with the same answers, but for symbols that are masked."""
        left = [
            i for i, c in enumerate(self.codes) if self.oracle.alphabet.symbols[c] not in masked
        ]
        spots = []
        while left:
            first, *rest = left
            same = _equal(self.changed[:, rest], self.changed[:, [first]]).all(axis=0)
            group = [first, *np.array(rest, np.int64)[same].tolist()]
            left = [i for i in rest if i not in group]
            spots += self._confirmed(self.codes[group])
        return spots

    def _confirmed(self, codes: IntArray) -> list[BlindSpot]:
        """Return those symbols of a group that have the answers of the first on all words."""
        others = self.codes[~np.isin(self.codes, codes)]
        if len(codes) < 2:
            return []
        everywhere = np.arange(len(self.words))
        rows = self._answers_with(np.concatenate([codes, others[:1]]), everywhere)
        same = _equal(rows, rows[:, :1])
        # Where all symbols are one, lengths of words have to count.
        tells = (
            ~same[:, -1] if len(others) else ~_equal(rows[:, 0], _answers(self.oracle, self.words))
        )
        alike = same[:, : len(codes)].all(axis=0)
        if tells.mean() < MIN_CHANGED_SHARE or alike.sum() < 2:
            return []
        pair = self._with(codes[alike][:2], everywhere[:1])
        symbols = self.oracle.alphabet.decode(codes[alike].tolist())
        kind, n_words = BlindSpotKind.EXCHANGED, len(self.words)
        return [BlindSpot(kind, symbols, None, (pair[0], pair[1]), n_words, self.oracle.alphabet)]


def length_blind_spots(oracle: Oracle, rng: np.random.Generator) -> tuple[BlindSpot, ...]:
    """Return from which position on, and up to which, symbols of long words do not count."""
    longest = allowed_length(oracle, None, LONG_LENGTH)
    if longest < 2 or len(oracle.alphabet) < 2:
        return ()
    shape, n_symbols = (N_LONG_WORDS, longest), len(oracle.alphabet)
    codes = rng.integers(0, n_symbols, shape)
    others = (codes + rng.integers(1, n_symbols, shape)) % n_symbols  # another symbol everywhere
    place, unchanged = np.arange(longest), _answers(oracle, _rectangle(oracle.alphabet, codes))
    spots = []
    for kind, order in ((BlindSpotKind.TAIL, place), (BlindSpotKind.HEAD, place[::-1])):

        def changed(n_kept: int, order: IntArray = order) -> Words:
            return _rectangle(oracle.alphabet, np.where(order < n_kept, codes, others))

        n_kept = _n_counting(oracle, unchanged, changed, longest)
        if n_kept is not None:
            pair = (_rectangle(oracle.alphabet, codes)[0], changed(n_kept)[0])
            spots.append(BlindSpot(kind, (), n_kept, pair, N_LONG_WORDS, oracle.alphabet))
    return tuple(spots)


def _n_counting(
    oracle: Oracle, unchanged: FloatArray, changed: Callable[[int], Words], longest: int
) -> int | None:
    """Return how many symbols have to stay for the same answers; None where all have to."""

    def same(n_kept: int) -> BoolArray:
        return _equal(_answers(oracle, changed(n_kept)), unchanged)

    if not same(longest - 1).all() or same(0).mean() > 1 - MIN_CHANGED_SHARE:
        return None
    low, high = 0, longest - 1  # too few, and enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if same(middle).all() else (middle, high)
    return high


def _rectangle(alphabet: Alphabet, codes: IntArray) -> Words:
    """Return words of one length."""
    return Words(alphabet, codes.ravel(), np.arange(len(codes) + 1) * codes.shape[1])


def _answers(oracle: Oracle, words: Words) -> FloatArray:
    """Return a row of numbers for each word, which says all that the box says of it."""
    if oracle.classifier is not None:
        return oracle.classifier.scores(words)
    return oracle.next_symbol(words) if oracle.predicts else oracle.weights(words)[:, None]


def _equal(rows: FloatArray, others: FloatArray) -> BoolArray:
    """Return which rows are equal, up to rounding."""
    sizes = np.maximum(np.abs(rows), np.abs(others))
    return np.asarray((np.abs(rows - others) <= MAX_RELATIVE_DIFFERENCE * sizes).all(axis=-1))
