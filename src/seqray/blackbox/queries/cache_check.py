"""Whether cached answers are still those of a box: a sample of them is queried again.

A name, an address or a digest of some file does not prove that a box is the one of before: what
it loads may have changed. So every cached kind is checked wherever it is used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.queries.limits import Meter
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.errors import BlackBoxError

N_CHECKED = 8
"""Words in one sample of cached answers."""

CHECKED_EVERY = 2048
"""Another sample is taken when so many more cached answers have been used."""

BUDGET_SHARE = 16
"""The first sample takes one in so many of a budget, at most."""

CHANGED_SHARE = 1e-4
"""Relative change that counts as a changed answer."""

NOISE_RATIO = 4.0
"""Cached answers further off than so many times the noise are those of another box."""

Query = Callable[[Words], FloatArray]


def mixed_groups(n_words: int) -> list[IntArray]:
    """Return which words to query together, in another order and in groups of 1, 2, 3 and so on.

    >>> sorted(len(group) for group in mixed_groups(16))
    [1, 1, 2, 3, 4, 5]
    """
    order = np.random.default_rng(0).permutation(n_words)
    ends = np.cumsum(np.arange(1, n_words + 1))
    return np.split(order, ends[ends < n_words])


def query_in_groups(query: Query, words: Words) -> FloatArray:
    """Query words in another order, and beside other words, than they stand there."""
    groups = mixed_groups(len(words))
    answers = np.concatenate([query(words[group]) for group in groups])
    result = np.empty_like(answers)
    result[np.concatenate(groups)] = answers
    return result


class CacheCheck:
    """Queries samples of the answers that earlier runs have left again.

    Parameters
    ----------
    who, prune
        Who answers, and the command that deletes what is cached of it.
    query
        Queries the box, whatever is cached.
    meter
        Counts the queries.
    is_proven
        Whether the fingerprint changes when answers do: then answers in use are not checked.

    Attributes
    ----------
    is_noisy
        Whether a check has shown that answers differ each time.
    """

    def __init__(
        self, who: str, prune: str, query: Query, meter: Meter, *, is_proven: bool
    ) -> None:
        self.who, self.prune, self.query, self.meter = who, prune, query, meter
        self.is_proven, self.is_noisy = is_proven, False
        self._n_used = 0

    def begin(self, sample: Callable[[int], tuple[Words, FloatArray]]) -> None:
        """Check some cached answers, before any is used or added.

        They count even where nothing is cached yet, so that a budget means the same later.
        """
        n_words, allowance = N_CHECKED, self.meter.allowance
        if allowance is not None:
            n_words = min(n_words, max(1, allowance // BUDGET_SHARE))
        self.meter.spend(n_words * self.meter.repeat)
        self._check(*sample(n_words))

    def use(self, words: Words, cached: FloatArray, is_new: BoolArray) -> None:
        """Check some of many cached answers; ``is_new``: an earlier run has left them."""
        left = np.flatnonzero(is_new)
        before, self._n_used = self._n_used, self._n_used + len(left)
        n = N_CHECKED * (self._n_used // CHECKED_EVERY - before // CHECKED_EVERY)
        if n and not self.is_proven:
            some = left[np.unique(np.linspace(0, len(left) - 1, n).round().astype(np.int64))]
            self._check(words[some], cached[some])

    def _check(self, words: Words, cached: FloatArray) -> None:
        n_queried = 0

        def query(some: Words) -> FloatArray:
            nonlocal n_queried
            if (n_queried := n_queried + len(some)) > len(words):  # the first time counts already
                self.meter.spend(len(some) * self.meter.repeat)
            return self.query(some)

        self.is_noisy |= check_cached(self.who, self.prune, words, cached, query)


def check_cached(who: str, prune: str, words: Words, cached: FloatArray, query: Query) -> bool:
    """Raise `BlackBoxError` if a box has changed; return whether it answers differently each time.

    Parameters
    ----------
    who, prune
        Who answers, and the command that deletes what is cached of it.
    words, cached
        A sample of what is cached.
    query
        Queries the box.
    """
    if not len(words):
        return False
    now = query(words)
    differ = _differ(now, cached)
    if not differ.any():
        return False
    again = query_in_groups(query, words)  # what depends on its batch is noise, too
    if _differ(now, again).any() and not _beyond_noise(now, again, cached):
        return True
    at = np.argwhere(differ)[0]
    raise BlackBoxError(
        f"{who} has changed: for the word {words.alphabet.show(words[int(at[0])])!r} it answers "
        f"{now[tuple(at)]:g}, and {cached[tuple(at)]:g} is cached: delete what is cached of it "
        f"({prune}), or go without the cache (--store none, store=None in Python)"
    )


def _differ(one: FloatArray, other: FloatArray) -> BoolArray:
    """Which answers differ by more than rounding, where they are small beside others, too."""
    size = np.maximum(np.abs(one), np.abs(other))
    share = 1e-3 if one.ndim > 1 else 1e-2 if (one < 0).any() else 0.0
    least = share * size.max(axis=-1, keepdims=True)
    differ: BoolArray = np.abs(one - other) > CHANGED_SHARE * np.maximum(size, least)
    return differ


def _beyond_noise(now: FloatArray, again: FloatArray, cached: FloatArray) -> bool:
    """Whether cached answers are further off than noise explains, absolute or relative."""
    if len(now) < N_CHECKED:  # too few to decide
        return False
    size = np.maximum(np.maximum(np.abs(now), np.abs(again)), np.abs(cached))
    size = np.where(size > 0, size, 1.0)
    return all(
        np.square((now - cached) / scale).sum()
        > NOISE_RATIO**2 * np.square((now - again) / scale).sum()
        for scale in (size, np.ones_like(size))
    )
