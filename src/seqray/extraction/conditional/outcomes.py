"""The columns of the outcomes after a word: with very many symbols some of them share one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.words import Words
from seqray.util.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The column of each symbol; the end, and elsewhere if there is one, come after these.

    Examples
    --------
    >>> from seqray.automata.words import Alphabet
    >>> outcomes = Outcomes.of(Alphabet("abcde").words(["dd", "b"]), 4)
    >>> outcomes.column
    array([2, 1, 3, 0, 2])
    >>> outcomes.grouped(np.array([[0.1, 0.2, 0.1, 0.3, 0.2, 0.1]]))
    array([[0.3, 0.2, 0.3, 0.1, 0.1]])
    """

    column: IntArray

    @classmethod
    def of(cls, words: Words, n_columns: int, needed: IntArray | None = None) -> Outcomes:
        """Give half of the columns to single symbols: those needed, and the most frequent ones.

        The others share the other half. Where there are enough columns, each symbol has its own,
        in the order of the alphabet.
        """
        n_symbols = len(words.alphabet)
        single = np.zeros(0, np.int64) if needed is None else np.unique(needed)
        n_single, n_shared = max(n_columns // 2, len(single)), n_columns - n_columns // 2
        if n_symbols <= n_single + n_shared:
            return cls(np.arange(n_symbols))
        met = np.bincount(words.codes, minlength=n_symbols)
        met[single] = met.max() + 1
        column = np.empty(n_symbols, np.int64)
        order = np.argsort(-met, kind="stable")
        column[order[:n_single]] = np.arange(n_single)
        column[order[n_single:]] = n_single + np.arange(n_symbols - n_single) % n_shared
        return cls(column)

    @cached_property
    def n_columns(self) -> int:
        """How many columns the symbols have."""
        return int(self.column.max()) + 1

    def grouped(self, probabilities: FloatArray) -> FloatArray:
        """Add up the probabilities of symbols that share a column; the end and more stay."""
        n_symbols = len(self.column)
        if self.n_columns == n_symbols:
            return probabilities
        order = np.argsort(self.column, kind="stable")
        begins = np.searchsorted(self.column[order], np.arange(self.n_columns))
        sums = np.add.reduceat(probabilities[:, order], begins, axis=1)
        return np.concatenate([sums, probabilities[:, n_symbols:]], axis=1)
