"""The basis of a classifier's blocks: short words, and parts of words that were decided wrongly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

from seqray.automata.words import Alphabet, Word
from seqray.extraction.basis import Basis
from seqray.extraction.hankel.sizes import Size

SIZES: tuple[Size, ...] = ((12, 12), (24, 20), (48, 32), (80, 48), (120, 64))
"""How many prefixes and suffixes each round has at most."""

MAX_WORDS = 50_000
"""About how many words the last round queries at most, unless the caller says how much to query."""

MIN_PIECES = 4
"""The fewest prefixes, and suffixes, of a round."""


def round_sizes(
    n_symbols: int, n_prefixes: int | None = None, n_suffixes: int | None = None
) -> list[Size]:
    """Return how many prefixes and suffixes each round has.

    Parameters
    ----------
    n_symbols
        The size of the alphabet: with many symbols there are fewer of both.
    n_prefixes, n_suffixes
        How many of each the last round has; None: `SIZES` says it.

    Examples
    --------
    >>> round_sizes(4)[-1], round_sizes(40)[-1], round_sizes(4, n_prefixes=60)[-1]
    ((120, 64), (47, 25), (60, 64))
    """
    wanted = n_prefixes or SIZES[-1][0], n_suffixes or SIZES[-1][1]
    share = 1.0
    if n_prefixes is None and n_suffixes is None:
        share = min(1.0, math.sqrt(MAX_WORDS / block_words(wanted, n_symbols)))
    sizes = []
    for rows, columns in SIZES:
        scaled = (
            int(share * rows * wanted[0] / SIZES[-1][0]),
            int(share * columns * wanted[1] / SIZES[-1][1]),
        )
        least = min(MIN_PIECES, wanted[0]), min(MIN_PIECES, wanted[1])
        sizes.append((max(least[0], scaled[0]), max(least[1], scaled[1])))
    return sizes


def block_words(size: Size, n_symbols: int) -> int:
    """Return how many words the blocks of a basis have at most.

    >>> block_words((120, 64), 4)
    38400
    """
    return size[0] * size[1] * (1 + n_symbols)


def grown_class_basis(
    alphabet: Alphabet,
    size: Size,
    before: Basis | None,
    sources: Iterable[Word],
    max_piece: int,
) -> Basis:
    """Return a basis of the last one, of parts of words, and of short words.

    Parameters
    ----------
    alphabet
        The symbols.
    size
        How many prefixes and suffixes there are at most.
    before
        The basis of the round before; None: there was none, and half of the basis are short words.
    sources
        Words whose prefixes and suffixes are taken, the most useful first: counterexamples.
    max_piece
        The longest prefix, and the longest suffix.

    Examples
    --------
    >>> grown_class_basis(Alphabet("ab"), (4, 3), None, ["bbb"], 9)
    Basis(4 prefixes, 3 suffixes, grown)
    """
    prefixes: dict[Word, None] = {}
    suffixes: dict[Word, None] = {}
    if before is not None:
        prefixes = dict.fromkeys(before.prefixes)
        suffixes = dict.fromkeys(before.suffixes)
    else:
        _fill_up(prefixes, (size[0] + 1) // 2, alphabet, max_piece)
        _fill_up(suffixes, (size[1] + 1) // 2, alphabet, max_piece)
    for word in map(tuple, sources):
        for n in range(min(len(word), max_piece) + 1):
            if len(prefixes) < size[0]:  # shorter ones came before: the set stays closed
                prefixes.setdefault(word[:n])
            if len(suffixes) < size[1]:
                suffixes.setdefault(word[len(word) - n :])
    _fill_up(prefixes, size[0], alphabet, max_piece)
    _fill_up(suffixes, size[1], alphabet, max_piece)
    return Basis(alphabet.words([*prefixes]), alphabet.words([*suffixes]), "grown")


def _fill_up(words: dict[Word, None], n_words: int, alphabet: Alphabet, max_piece: int) -> None:
    """Add short words until there are so many, or no others."""
    for word in _short_words(alphabet, max_piece):
        if len(words) >= n_words:
            return
        words.setdefault(word)


def _short_words(alphabet: Alphabet, max_length: int) -> Iterator[Word]:
    """Yield all words, shorter ones first."""
    for length in range(max_length + 1):
        yield from itertools.product(alphabet.symbols, repeat=length)


def longest_piece(limit: int | None) -> int:
    """Return the length of the longest prefix, and suffix, for a box that reads so many symbols.

    >>> longest_piece(None), longest_piece(9)
    (1000, 4)
    """
    return 1000 if limit is None else max(0, (limit - 1) // 2)
