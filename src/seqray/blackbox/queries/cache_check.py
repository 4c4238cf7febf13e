"""Whether cached answers are still those of a box: a sample of them is queried again.

A name, an address or a digest of some file does not prove that a box is the one of before: what
it loads may have changed. So every cached kind is checked wherever it is used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seqray.automata.words import Words
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.errors import BlackBoxError

N_CHECKED = 8
"""Words in one sample of cached answers."""

CHECKED_EVERY = 2048
"""Another sample is taken when so many more cached answers have been used."""

CHANGED = 1e-4
"""Relative change that counts as a changed answer."""

BEYOND_NOISE = 4.0
"""How many times as far as two new answers a cached one is from them, if noise is no excuse."""

Ask = Callable[[Words], FloatArray]


def mixed_groups(n_words: int) -> list[IntArray]:
    """Return which words to query together, in another order and in groups of 1, 2, 3 and so on.

    >>> sorted(len(group) for group in mixed_groups(16))
    [1, 1, 2, 3, 4, 5]
    """
    order = np.random.default_rng(0).permutation(n_words)
    ends = np.cumsum(np.arange(1, n_words + 1))
    return np.split(order, ends[ends < n_words])


def ask_in_groups(ask: Ask, words: Words) -> FloatArray:
    """Query words in another order, and beside other words, than they stand there."""
    groups = mixed_groups(len(words))
    answers = np.concatenate([ask(words[group]) for group in groups])
    result = np.empty_like(answers)
    result[np.concatenate(groups)] = answers
    return result


def check_cached(who: str, prune: str, words: Words, cached: FloatArray, ask: Ask) -> bool:
    """Raise `BlackBoxError` if a box has changed; return whether it answers differently each time.

    Parameters
    ----------
    who, prune
        Who answers, and the command that deletes what is cached of it.
    words, cached
        A sample of what is cached.
    ask
        Queries the box.
    """
    if not len(words):
        return False
    now = ask(words)
    apart = _differ(now, cached)
    if not apart.any():
        return False
    again = ask_in_groups(ask, words)  # what depends on its batch is noise, too
    if _differ(now, again).any() and not _beyond_noise(now, again, cached):
        return True
    at = np.argwhere(apart)[0]
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
    apart: BoolArray = np.abs(one - other) > CHANGED * np.maximum(size, least)
    return apart


def _beyond_noise(now: FloatArray, again: FloatArray, cached: FloatArray) -> bool:
    """Whether cached answers are further off than noise explains, absolute or relative."""
    if len(now) < N_CHECKED:  # too few to tell
        return False
    size = np.maximum(np.maximum(np.abs(now), np.abs(again)), np.abs(cached))
    size = np.where(size > 0, size, 1.0)
    return all(
        np.square((now - cached) / scale).sum()
        > BEYOND_NOISE**2 * np.square((now - again) / scale).sum()
        for scale in (size, np.ones_like(size))
    )
