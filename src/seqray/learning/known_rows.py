"""What a learner knows: one row of numbers for each word that it queried.

The row of a word is what follows it (for a box that predicts), or its decision (for a box that
decides). A learner compares words by their rows after suffixes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.errors import ArgumentError

Codes: TypeAlias = tuple[int, ...]
"""A word as the codes of its symbols."""

WORDS_PER_BATCH = 1024
"""Words that are queried at once: so many are lost at most where a limit ends a query."""

IMPOSSIBLE = -1.0
"""Each number of the row of a word that has probability 0: no other row is near to it."""


UNKNOWN = np.nan
"""Each number of the row of a word that is longer than the box reads: any other row is equal."""


MIN_POSSIBLE = 1e-6
"""A number above this is not equal to 0, whatever the tolerance: what is possible stays so."""


MAX_COMPARED_NUMBERS = 4_000_000
"""How many pairs of numbers are compared at once."""


def words_of(alphabet: Alphabet, words: Sequence[Codes]) -> Words:
    """Return a batch of words from their codes.

    >>> words_of(Alphabet("ab"), [(), (0, 1)])
    Words(2 words over 2 symbols: λ, ab)
    """
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    codes = np.fromiter((code for word in words for code in word), np.int32, offsets[-1])
    return Words(alphabet, codes, offsets)


def codes_of(words: Words) -> list[Codes]:
    """Return the codes of each word.

    >>> codes_of(Alphabet("ab").words(["", "ab"]))
    [(), (0, 1)]
    """
    codes, offsets = words.codes.tolist(), words.offsets.tolist()
    return [tuple(codes[a:b]) for a, b in pairwise(offsets)]


@dataclass(frozen=True)
class RowEquality:
    """When two rows count as equal.

    Parameters
    ----------
    tolerance
        Equal rows differ by at most this in each number.
    partitions
        Or: the numbers from 0 to 1 are cut into so many parts, and equal rows have all their
        numbers in the same parts. Then ``tolerance`` does not count.

    Rows are never equal where a symbol is impossible after one and possible after the other. A
    row of `UNKNOWN` numbers is equal to any row.

    Examples
    --------
    >>> near = RowEquality(0.01)
    >>> near.match(np.array([[0.5, 0.5], [0.3, 0.7]]), np.array([[0.9, 0.1], [0.505, 0.495]]))
    array([ 1, -1])
    """

    tolerance: float = 0.01
    partitions: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise ArgumentError(f"tolerance: expected 0 or more and below 1, got {self.tolerance}")
        if self.partitions is not None and self.partitions < 1:
            raise ArgumentError(f"partitions: expected 1 or more, got {self.partitions}")

    def distance(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Return the largest difference of the numbers of two rows, row by row."""
        return np.asarray(np.abs(rows - others).max(axis=-1))

    def same(self, rows: FloatArray, others: FloatArray) -> BoolArray:
        """Return whether rows count as equal, row by row."""
        if self.partitions is None:
            is_near = ~(self.distance(rows, others) > self.tolerance)
        else:
            is_unknown = np.isnan(rows) | np.isnan(others)
            is_near = (is_unknown | (self._parts(rows) == self._parts(others))).all(axis=-1)
        return np.asarray(is_near & ~self._one_sided(rows, others))

    def match(self, rows: FloatArray, others: FloatArray) -> IntArray:
        """Return the first of the others that each row is equal to, or -1.

        The first and not the nearest: a row that has a match keeps it when others are added.
        """
        equal = np.full(len(rows), -1)
        for which in _pieces(rows, others):
            is_same = self.same(rows[which, None], others)
            equal[which] = np.where(is_same.any(axis=1), is_same.argmax(axis=1), -1)
        return equal

    def nearest(self, rows: FloatArray, others: FloatArray) -> IntArray:
        """Return which of the others is nearest to each row."""
        nearest = np.full(len(rows), -1)
        for which in _pieces(rows, others):
            nearest[which] = self.distance(rows[which, None], others).argmin(axis=1)
        return nearest

    @staticmethod
    def _one_sided(rows: FloatArray, others: FloatArray) -> BoolArray:
        """Return where a number is 0 in one row and clearly above 0 in the other."""
        low, high = np.minimum(rows, others), np.maximum(rows, others)
        return np.asarray(((low <= 0) & (high > MIN_POSSIBLE)).any(axis=-1))

    def _parts(self, rows: FloatArray) -> FloatArray:
        assert self.partitions is not None
        return np.asarray(np.minimum(np.floor(rows * self.partitions), self.partitions - 1))


def _pieces(rows: FloatArray, others: FloatArray) -> Iterator[slice]:
    """Yield parts of the rows that are compared with all others at once; none if there are none."""
    if others.size:
        step = max(1, MAX_COMPARED_NUMBERS // others.size)
        yield from (slice(begin, begin + step) for begin in range(0, len(rows), step))


class KnownRows:
    """The rows of words, each queried once.

    Parameters
    ----------
    alphabet
        The symbols.
    query
        Returns the rows of words.
    min_probability
        Symbols that are not more probable than this are taken as impossible; None: rows say
        nothing about the next symbol.
    allowed
        Returns how many words may still be queried: these are queried before the others fail.
    max_length
        The longest word that may be queried; None: any.

    Examples
    --------
    >>> rows = KnownRows(Alphabet("ab"), lambda words: np.tile([0.5, 0, 0.5], (len(words), 1)))
    >>> rows.query([(), (0,)])
    array([[0.5, 0. , 0.5],
           [0.5, 0. , 0.5]])
    >>> rows.after([(), (0,)], (1,))
    array([[-1., -1., -1.],
           [-1., -1., -1.]])
    >>> len(rows)
    2
    """

    def __init__(
        self,
        alphabet: Alphabet,
        query: Callable[[Words], FloatArray],
        min_probability: float | None = 0.0,
        allowed: Callable[[], float] = lambda: math.inf,
        max_length: int | None = None,
    ) -> None:
        self.alphabet, self._query, self._allowed = alphabet, query, allowed
        self.min_probability, self.max_length = min_probability, max_length
        self._place: dict[Codes, int] = {}
        self._rows = np.empty((0, 0))
        self._batches = [words_of(alphabet, [])]
        self._has_zeros = False

    def __len__(self) -> int:
        return len(self._place)

    @property
    def words(self) -> list[Codes]:
        """All words that were queried."""
        return list(self._place)

    def everything(self) -> tuple[Words, FloatArray]:
        """Return all words that were queried, in the same order, and their rows."""
        self._batches = [Words.concatenate(self._batches)]
        return self._batches[0], self._rows[: len(self)]

    def may_query(self, length: int) -> bool:
        """Whether words of a length may be queried."""
        return self.max_length is None or length <= self.max_length

    def __contains__(self, word: Codes) -> bool:
        return word in self._place

    def query(self, words: Sequence[Codes]) -> FloatArray:
        """Return the rows of words; those that are not known are queried."""
        missing = [word for word in dict.fromkeys(words) if word not in self._place]
        while missing:
            n_words = int(max(1, min(WORDS_PER_BATCH, self._allowed())))
            self._add(missing[:n_words])
            missing = missing[n_words:]
        return np.asarray(self._rows[[self._place[word] for word in words]])

    def _add(self, words: list[Codes]) -> None:
        batch = words_of(self.alphabet, words)
        answers = self._query(batch)
        n_known, n_all = len(self._place), len(self._place) + len(words)
        if n_all > len(self._rows):
            grown = np.empty((max(2 * n_all, 64), answers.shape[1]))
            if n_known:
                grown[:n_known] = self._rows[:n_known]
            self._rows = grown
        self._rows[n_known:n_all] = answers
        self._batches.append(batch)
        self._place.update(zip(words, range(n_known, n_all), strict=True))
        self._has_zeros = self._has_zeros or not self.possible(answers).all()

    def possible(self, rows: FloatArray) -> BoolArray:
        """Return which symbols can follow, shape ``(n_rows, n_symbols)``."""
        n_symbols = len(self.alphabet)
        if self.min_probability is None:
            return np.ones((len(rows), n_symbols), bool)
        return np.asarray(rows[:, :n_symbols] > self.min_probability)

    def impossible(self, rows: FloatArray) -> BoolArray:
        """Return which symbols have probability 0, shape ``(n_rows, n_symbols)``."""
        n_symbols = len(self.alphabet)
        if self.min_probability is None:
            return np.zeros((len(rows), n_symbols), bool)
        return np.asarray(rows[:, :n_symbols] <= 0)

    def after(self, words: Sequence[Codes], suffix: Codes) -> FloatArray:
        """Return the rows of words followed by a suffix.

        They are `UNKNOWN` where that is longer than may be queried, and `IMPOSSIBLE` where the
        suffix cannot follow.
        """
        short = [i for i, word in enumerate(words) if self.may_query(len(word) + len(suffix))]
        if len(short) < len(words):
            rows = np.full((len(words), self._rows.shape[1]), UNKNOWN)
            if short:
                rows[short] = self.after([words[i] for i in short], suffix)
            return rows
        if not self._has_zeros:
            return self.query([word + suffix for word in words])
        alive = np.arange(len(words))
        for at, code in enumerate(suffix):
            rows = self.query([words[i] + suffix[:at] for i in alive.tolist()])
            alive = alive[self.possible(rows)[:, code]] if len(alive) else alive
        rows = np.full((len(words), self._rows.shape[1]), IMPOSSIBLE)
        if len(alive):
            rows[alive] = self.query([words[i] + suffix for i in alive.tolist()])
        return rows
