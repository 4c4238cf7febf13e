"""The words that become contexts and suffixes: the first ones, and frequent parts of all."""

from __future__ import annotations

from collections import Counter

import numpy as np

from seqray.automata.tree_batches import Corpus
from seqray.automata.words import Words

MAX_SUFFIX_LENGTH = 12
"""The length of the longest suffix, in symbols."""

MAX_SYMBOLS_AS_SUFFIXES = 33
"""With more symbols than this, only frequent parts of words are suffixes. Each suffix has one
column per symbol, so that all symbols as suffixes would be too many columns."""

MIN_SUFFIXES = 4
"""How many suffixes there are at least with more symbols than that."""


def suffixes_of(words: Words, n_columns: int) -> Words:
    """Return the suffixes of blocks with about ``n_columns`` columns."""
    n_symbols = len(words.alphabet)
    n_parts = n_columns // (n_symbols + 1)
    if n_symbols > MAX_SYMBOLS_AS_SUFFIXES:
        return frequent_parts(words, max(MIN_SUFFIXES, n_parts))
    # Every symbol is a suffix: a rare one may be all that distinguishes two contexts.
    empty = words.alphabet.words([()])
    every = empty[np.zeros(n_symbols, np.int64)].extended(np.arange(n_symbols))
    return Words.concatenate([every, frequent_parts(words, max(1, n_parts))])


def frequent_parts(words: Words, n_parts: int) -> Words:
    """Return the most frequent parts of words, the empty one first, closed under prefixes.

    >>> from seqray.automata.words import Alphabet
    >>> [*frequent_parts(Alphabet("ab").words(["abab", "bab"]), 4)]
    [(), ('b',), ('a',), ('a', 'b')]
    """
    n_symbols = len(words.alphabet)
    left = np.repeat(words.offsets[1:], words.lengths) - np.arange(len(words.codes))
    start, part = np.flatnonzero(left > 0), np.zeros(len(words.codes), np.int64)
    parts, counts = [words.alphabet.words([()])], [np.array([len(words.codes) + 1])]
    for length in range(min(MAX_SUFFIX_LENGTH, int(words.lengths.max(initial=0)))):
        alive = left[start] > length
        start, part = start[alive], part[alive]
        if not len(start):
            break
        keys = part * n_symbols + words.codes[start + length]
        distinct, part, n_met = np.unique(keys, return_inverse=True, return_counts=True)
        parts.append(parts[-1][distinct // n_symbols].extended(distinct % n_symbols))
        counts.append(n_met)
        # What is not among the most frequent now is the beginning of nothing that is.
        met = np.concatenate(counts)
        least = np.partition(met, -n_parts)[-n_parts] if len(met) > n_parts else 0
        often = (n_met >= least)[part]
        start, part = start[often], part[often]
    order = np.argsort(-np.concatenate(counts), kind="stable")[:n_parts]
    return Words.concatenate(parts)[order]


def frequent_endings(words: Words, n_endings: int) -> Words:
    """Return the most frequent endings of words.

    >>> from seqray.automata.words import Alphabet
    >>> [*frequent_endings(Alphabet("ab").words(["aab", "bab", "b"]), 2)]
    [('b',), ('a', 'b')]
    """
    met = Counter(
        word[len(word) - length :]
        for word in words
        for length in range(1, min(len(word), MAX_SUFFIX_LENGTH) + 1)
    )
    return words.alphabet.words([ending for ending, _ in met.most_common(n_endings)])


def first_words(words: Words, n_prefixes: int) -> Words:
    """Return the first words that have ``n_prefixes`` together; the last one is cut for that.

    >>> from seqray.automata.words import Alphabet
    >>> first_words(Alphabet("ab").words(["ab", "abba", "b"]), 4)
    Words(2 words over 2 symbols: ab, abb)
    """
    corpus = Corpus(words)

    def count(n_words: int) -> int:
        return len(corpus.batch(np.arange(n_words)).nodes) if n_words else 1

    low, high = 0, len(corpus)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(middle) <= n_prefixes else (low, middle - 1)
    if low == len(corpus):
        return words
    last = words[low : low + 1]
    n_old = (
        count(low) + int(last.lengths[0]) - count(low + 1)
    )  # how much of it the words before have
    length = n_old + n_prefixes - count(low)
    cut = Words(words.alphabet, last.codes[:length], np.array([0, length]))
    return Words.concatenate([words[:low], cut])
