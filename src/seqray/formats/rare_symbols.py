"""Rare symbols as one symbol, which also stands for symbols that were never seen."""

from __future__ import annotations

import re
from itertools import count

import numpy as np

from seqray.automata.words import Alphabet, Symbol, Words
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError

RARE = "(rare)"
"""The symbol for rare symbols; (rare 2) where a symbol is called so already, and so on."""


def group_rare(words: Words, rare: int) -> tuple[Words, dict[Symbol, int]]:
    """Replace the symbols that occur less often than ``rare`` times by one.

    Parameters
    ----------
    words
        The words.
    rare
        Symbols that occur this often, or more often, stay.

    Returns
    -------
    words
        Over the symbols that stay, and last ``"(rare)"``, or ``"(rare 2)"`` where a symbol is
        called so. The words as they are if no symbol is rare.
    counts
        How often each symbol that was replaced occurs.

    Examples
    --------
    >>> group_rare(Alphabet("abc").words(["aab", "ca"]), 2)
    (Words(2 words over 2 symbols: a a (rare), (rare) a), {'b': 1, 'c': 1})
    """
    rare = whole_number("rare", rare, 0)
    counts = np.bincount(words.codes, minlength=len(words.alphabet))
    is_rare = counts < rare
    if not is_rare.any():
        return words, {}
    symbols = words.alphabet.symbols
    stay = [symbols[i] for i in np.flatnonzero(~is_rare)]
    if not stay:
        raise ArgumentError(
            f"rare: every symbol occurs less often than {rare} times, the most frequent one "
            f"{counts.max()} times: expected a smaller number"
        )
    names = (RARE if i == 1 else f"(rare {i})" for i in count(1))
    name = next(name for name in names if name not in words.alphabet)
    codes = np.where(is_rare, len(stay), np.cumsum(~is_rare) - 1)[words.codes]
    grouped = {symbols[i]: int(counts[i]) for i in np.flatnonzero(is_rare)}
    return Words(Alphabet([*stay, name]), codes.astype(np.int32), words.offsets), grouped


def rare_symbol(alphabet: Alphabet) -> str | None:
    """Return the symbol of an alphabet that stands for rare ones, None if there is none.

    >>> rare_symbol(Alphabet(["a", "(rare)"])), rare_symbol(Alphabet("ab"))
    ('(rare)', None)
    """
    last = alphabet.symbols[-1]  # where `group_rare` puts it
    is_rare = isinstance(last, str) and re.fullmatch(r"\(rare( \d+)?\)", last)
    return str(last) if is_rare else None
