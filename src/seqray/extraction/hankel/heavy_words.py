"""Words that weigh much, drawn with the help of filled Hankel blocks.

A box that only gives weights to words does not say which words matter. Filled blocks show some:
those that weigh much. Continued by suffixes, they lead to longer words that weigh much, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np

from seqray.automata.words import Words
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.settings import HANKEL
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.random import Seed, random_generator

WeightsOf: TypeAlias = Callable[[Words], FloatArray]
"""A function that returns the weights of words: a box, or an automaton."""


def heavy_words(blocks: HankelBlocks, *, seed: Seed) -> Iterator[Words]:
    """Yield batches of words that blocks hold: one that weighs twice as much comes twice as often.

    That holds among all words in one batch, and among those of the same length in the next, where
    every length comes as often: the heaviest may all be short. The batches never end, unless all
    words of the blocks weigh 0: then there is none.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [word == "aa" for word in words], "ab")
    >>> basis = seqray.uniform_basis(box.alphabet, 7, 7, seed=0)
    >>> next(heavy_words(seqray.fill(box, basis), seed=0))[:2]
    Words(2 words over 2 symbols: aa, aa)
    """
    rng = random_generator(seed)
    if not blocks.largest:
        return
    depth, suffixes = blocks.tree.depth, blocks.basis.suffixes
    every_row = np.arange(len(depth))

    def sizes_of(nodes: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the lengths and sizes of the words of some rows, a few rows at a time."""
        for some, part in blocks.chunks(nodes):
            yield np.add.outer(depth[nodes[some]], suffixes.lengths), np.abs(part) / blocks.largest

    by_length = np.zeros(int(depth.max() + suffixes.lengths.max()) + 1)
    for lengths, sizes in sizes_of(every_row):
        by_length += np.bincount(lengths.ravel(), sizes.ravel(), minlength=len(by_length))
    scales = [np.ones(len(by_length)), np.where(by_length > 0, by_length, 1)]
    rows_of_scales = [
        [(sizes / scale[lengths]).sum(axis=1) for scale in scales]
        for lengths, sizes in sizes_of(every_row)
    ]
    probabilities = [np.concatenate(parts) for parts in zip(*rows_of_scales, strict=True)]
    every = np.arange(HANKEL.batch_size)
    while True:
        for scale, probability in zip(scales, probabilities, strict=True):
            rows = rng.choice(len(depth), len(every), p=probability / probability.sum())
            columns = [
                _one_per_row(sizes / scale[lengths], rng) for lengths, sizes in sizes_of(rows)
            ]
            drawn = np.minimum(np.concatenate(columns), len(suffixes) - 1)
            yield blocks.tree.words(rows).joined(every, suffixes, drawn)


def typical_words(
    blocks: HankelBlocks,
    weights_of: WeightsOf,
    n_words: int,
    *,
    seed: Seed,
    limit: int | None = None,
) -> Words:
    """Draw words like those that weigh much, but longer than those that blocks hold.

    Each is a word of `heavy_words` and one of a few suffixes; pairs that weigh more together come
    more often. A word whose continuations weigh next to nothing is left out.

    Parameters
    ----------
    blocks
        Filled blocks.
    weights_of
        Returns the weights of words; it is called on `HankelSettings.n_continuations` times as
        many words as are returned.
    n_words
        How many; there are fewer where most weigh nothing.
    seed
        Random seed, a number or a generator.
    limit
        The length of the longest word that the box can read. None: it reads any word.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: ["b" not in word for word in words], "ab")
    >>> small = seqray.uniform_basis(box.alphabet, 7, 7, seed=0)
    >>> blocks = seqray.fill(box, small)
    >>> words = typical_words(blocks, box.weights, 30, seed=0)
    >>> {symbol for word in words for symbol in word}
    {'a'}
    """
    rng = random_generator(seed)
    suffixes, size = blocks.basis.suffixes, HANKEL.batch_size
    drawn = [suffixes[:0]]
    batches = islice(heavy_words(blocks, seed=rng), -(-n_words // size))
    for i, batch in enumerate(batches):
        fronts = batch[: n_words - i * size]
        some = suffixes[np.sort(rng.permutation(len(suffixes))[: HANKEL.n_continuations])]
        if limit is not None:
            fronts = fronts[np.flatnonzero(fronts.lengths <= limit - some.lengths.max())]
        drawn.append(_continued(weights_of, fronts, some, rng))
    return Words.concatenate(drawn)[:n_words]


def long_words(
    words: Words, weights_of: WeightsOf, n_words: int, *, seed: Seed, max_length: int
) -> Words:
    """Draw words that are several times as long as given ones and still weigh something.

    Words are joined to longer ones as `typical_words` does it, and these again, up to a length.

    Parameters
    ----------
    words
        Words to join.
    weights_of
        Returns the weights of words; it is called on `HankelSettings.n_long_continuations` times
        as many words as are joined.
    n_words
        How many at most; there are fewer where most joined words weigh nothing.
    seed
        Random seed, a number or a generator.
    max_length
        The length of the longest word to return.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: ["b" not in word for word in words], "ab")
    >>> words = box.alphabet.words(["a", "aa", "aaa"])
    >>> longer = long_words(words, box.weights, 3, seed=0, max_length=50)
    >>> bool(longer.lengths.min() > 3), "b" in {symbol for word in longer for symbol in word}
    (True, False)
    """
    rng = random_generator(seed)
    longest = int(words.lengths.max(initial=0))
    drawn = [words[:0]]
    fronts = words[rng.permutation(len(words))[:n_words]]
    for _ in range(max_length.bit_length()):  # each time about twice as long
        if not len(fronts):
            break
        some = fronts[np.sort(rng.permutation(len(fronts))[: HANKEL.n_long_continuations])]
        fronts = fronts[np.flatnonzero(fronts.lengths + some.lengths.max() <= max_length)]
        fronts = _continued(weights_of, fronts, some, rng)
        drawn.append(fronts[np.flatnonzero(fronts.lengths > longest)])
    longer = Words.concatenate(drawn)
    return longer[np.sort(rng.permutation(len(longer))[:n_words])]


def block_of(weights_of: WeightsOf, prefixes: Words, suffixes: Words) -> FloatArray:
    """Return the weights of every prefix followed by every suffix, one row per prefix."""
    return weights_of(prefixes.followed_by(suffixes)).reshape(len(prefixes), len(suffixes))


def _continued(
    weights_of: WeightsOf, fronts: Words, some: Words, rng: np.random.Generator
) -> Words:
    """Join to each word one of a few others; pairs that weigh more together come more often."""
    sizes = np.abs(block_of(weights_of, fronts, some))
    columns = _one_per_row(sizes, rng)
    floor = HANKEL.min_relative_weight * np.abs(weights_of(fronts))
    goes_on = np.flatnonzero(sizes.sum(axis=1) > floor)
    return fronts.joined(goes_on, some, columns[goes_on])


def _one_per_row(sizes: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a column for each row, as often as its size says; one too many where all are 0."""
    heights = np.cumsum(sizes, axis=1)
    drawn: IntArray = (heights <= rng.random((len(sizes), 1)) * heights[:, -1:]).sum(axis=1)
    return drawn
