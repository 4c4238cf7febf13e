"""Conditional blocks: how every context of a box that predicts goes on.

The row of a context u is its row of the Hankel matrix divided by the weight of u as a prefix. So
all rows are of the same size, however improbable their contexts are. Entries are P(v…|u), the
probability that v comes next, and P(v⋊|u), that v comes and then the end. One reading of a box's
state fills as many of them as there are symbols, and one more.

A box may leak: it knows symbols outside the alphabet, and its probabilities sum to less than 1. The
step to such a symbol is then an outcome of its own, *elsewhere*, beside the symbols and the end,
and nothing follows it. Whether something is rare depends on its probability among the words that
stay within the alphabet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.probabilities import leak_of
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.extraction.conditional.outcomes import Outcomes
from seqray.util.arrays import BoolArray, FloatArray, IntArray, read_only

RARE_PROBABILITY = 1e-3
"""What follows a context with at most this probability is not queried: it counts as 0."""

MAX_FEW_SYMBOLS = 64
"""Up to so many next symbols, what is rare is left out."""

MIN_RARE_SHARE = 1e-3
"""With more, rare symbols are followed too where they are this much of all next symbols."""


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalBlocks:
    """How contexts and their children go on.

    Parameters
    ----------
    rows
        The contexts and those children of theirs that are not rare, closed under prefixes.
    contexts
        Which nodes of ``rows`` are the contexts, the empty word first, shape ``(n_contexts,)``.
    visits
        How often each context was met, shape ``(n_contexts,)``.
    suffixes
        What may follow a row, closed under prefixes.
    values
        P(v σ…|u), and then P(v⋊|u), of each row u and suffix v, shape ``(n_rows, n_suffixes,
        n_outcomes)``; 0 where v is rare after u. There are n_symbols + 1 outcomes, and of a box
        that leaks one more, elsewhere. With very many symbols there are fewer: those that are
        not frequent share some, which hold their sums.
    probabilities
        What comes next after each context, the end and elsewhere last, of every symbol,
        ``(n_contexts, …)``.
    n_steps
        How many symbols the box read.
    max_stay
        Of a box that leaks: the largest probability to stay within the alphabet. Blocks are those
        of a box whose next-symbol probabilities are divided by it, and elsewhere goes the rest: so
        values of long suffixes are not tiny. 1 for a box that does not leak.
    outcomes
        Which symbols share a column of the values; None where it does not matter.

    Examples
    --------
    >>> import seqray
    >>> from seqray.extraction.conditional.fill import fill_conditional
    >>> from seqray.fidelity.reference import Reference
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> reference = Reference.query(wa, ["", "a", "ab"])
    >>> blocks = fill_conditional(wa, reference, n_contexts=2, n_columns=9)
    >>> blocks
    ConditionalBlocks(2 contexts, 5 rows, 9 columns)
    >>> blocks.values[0]  # after the empty word: a…, b…, the end; aa…, ab…, a and the end; …
    array([[0.5   , 0.25  , 0.25  ],
           [0.25  , 0.125 , 0.125 ],
           [0.125 , 0.0625, 0.0625]])
    """

    rows: PrefixTree
    contexts: IntArray
    visits: FloatArray
    suffixes: Words
    values: FloatArray
    probabilities: FloatArray
    n_steps: int
    max_stay: float = 1.0
    outcomes: Outcomes | None = None

    @property
    def leaks(self) -> bool:
        """Whether there is an outcome elsewhere."""
        return bool(self.probabilities.shape[1] > len(self.rows.alphabet) + 1)

    @cached_property
    def children(self) -> IntArray:
        """The row of each context with each symbol, -1 where that is rare."""
        n_symbols = len(self.rows.alphabet)
        place = np.full(len(self.rows), -1)
        place[self.contexts] = np.arange(len(self.contexts))
        parents = place[self.rows.parent[1:]]
        after_context = np.flatnonzero(parents >= 0)
        children = np.full((len(self.contexts), n_symbols), -1)
        children[parents[after_context], self.rows.symbol[1:][after_context]] = 1 + after_context
        children[~is_frequent(self.probabilities[:, : n_symbols + 1])] = -1
        return read_only(children)

    @cached_property
    def rare_matter(self) -> bool:
        """Whether symbols that are rare after contexts are frequent together."""
        return rare_matter(self.probabilities[:, : len(self.rows.alphabet) + 1], self.visits)

    @cached_property
    def column_sizes(self) -> FloatArray:
        """What the columns of the values are divided by in `features`."""
        share = self.visits / self.visits.sum()
        flat = self.values.reshape(len(self.rows), -1)
        sizes = np.sqrt(share @ flat[self.contexts] ** 2)
        return np.asarray(np.sqrt(np.maximum(sizes, 1e-4)))

    @cached_property
    def features(self) -> FloatArray:
        """The rows as they are compared, shape ``(n_rows, n_columns)``.

        A column is divided by the root of its size. So frequent suffixes count for more than
        rare ones, but not as much more as they are frequent.
        """
        return read_only(self.values.reshape(len(self.rows), -1) / self.column_sizes)

    def __repr__(self) -> str:
        n_columns = self.values.shape[1] * self.values.shape[2]
        return (
            f"ConditionalBlocks({len(self.contexts)} contexts, {len(self.rows)} rows, "
            f"{n_columns} columns)"
        )


def is_frequent(probabilities: FloatArray) -> BoolArray:
    """Return which symbols are not rare, given that the word stays within the alphabet.

    ``probabilities`` has one row per context, with the end as the last column. The end is left out.

    >>> is_frequent(np.array([[0.5, 0.0005, 0.4995]]))
    array([[ True, False]])
    """
    leak = leak_of(probabilities)
    within = probabilities / np.where(leak > 0, 1 - leak, 1.0)[:, None]
    return np.asarray(within[:, :-1] > RARE_PROBABILITY)


def rare_matter(probabilities: FloatArray, visits: FloatArray) -> bool:
    """Return whether there are many symbols, and the rare ones are frequent together.

    ``probabilities`` are as in `is_frequent`, ``visits`` say how often each row is met.

    >>> rare_matter(np.full((1, 5001), 1 / 5001), np.ones(1))
    True
    """
    if probabilities.shape[1] <= MAX_FEW_SYMBOLS:
        return False
    rare = np.where(is_frequent(probabilities), 0, probabilities[:, :-1]).sum(axis=1)
    return bool(visits @ rare > MIN_RARE_SHARE * visits.sum())
