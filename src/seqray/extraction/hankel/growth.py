"""Bases that grow, for a box that only gives weights to words and cannot be sampled.

Such a box does not say which words matter. But filled blocks of a small basis lead to a larger one:

- Words that weigh much are cut in two, and give prefixes and suffixes. For a distribution that is
  nearly as if the box itself had been sampled.
- Prefixes whose rows are linearly independent of the others (pivoted QR), and suffixes whose
  columns are, come first; so do those that are one symbol longer, if they are independent in turn.
  That reaches rare behaviour, too.
- So do words that an automaton of the small blocks gets most wrong: its counterexamples.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from seqray.automata.sampling import uniform_words
from seqray.automata.span import pivoted_rows
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Word, Words
from seqray.extraction.basis import Basis, basis_from, piece_lengths
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.heavy_words import WeightsOf, block_of, heavy_words, typical_words
from seqray.extraction.settings import HANKEL
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.random import Seed, random_generator


def sizes_up_to(
    n_prefixes: int, n_suffixes: int, max_first: int = HANKEL.max_first_size
) -> list[tuple[int, int]]:
    """Return the sizes of the bases that lead to one of a given size, each about twice the last.

    The first has at most ``max_first`` prefixes and suffixes.

    >>> sizes_up_to(800, 200)
    [(50, 50), (100, 100), (200, 200), (400, 200), (800, 200)]
    """
    sizes = [(n_prefixes, n_suffixes)]
    while max(sizes[-1]) > max_first:
        half = max(sizes[-1]) / 2
        sizes.append((min(n_prefixes, round(half)), min(n_suffixes, round(half))))
    return sizes[::-1]


def grown_basis(
    blocks: HankelBlocks,
    weights_of: WeightsOf,
    n_prefixes: int,
    n_suffixes: int,
    *,
    seed: Seed,
    max_length: int,
    extra_words: Words | None = None,
    limit: int | None = None,
) -> Basis:
    """Return a larger basis, made with the help of the blocks of a smaller one.

    Parameters
    ----------
    blocks
        The filled blocks of the smaller basis.
    weights_of
        Returns the weights of words; it is called on candidates.
    n_prefixes, n_suffixes
        How many of each.
    seed
        Random seed, a number or a generator.
    max_length
        The longest prefix or suffix to take.
    extra_words
        More words to learn from, such as `counterexamples`: each is cut in two.
    limit
        The length of the longest word that the box can read: a prefix, a symbol and a suffix
        together are never longer. None: it reads any word.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab")
    >>> small = seqray.uniform_basis(box.alphabet, 7, 7, seed=0)
    >>> blocks = seqray.fill(box, small)
    >>> grown_basis(blocks, box.weights, 20, 20, seed=0, max_length=9)
    Basis(20 prefixes, 20 suffixes, grown)
    """
    rng = random_generator(seed)
    alphabet, known = blocks.basis.alphabet, blocks.basis
    sizes = [HANKEL.candidates_per_prefix * n for n in (n_prefixes, n_suffixes)]
    heavy = _heavy_basis(blocks, (sizes[0], sizes[1]), rng, max_length, limit)
    begins, ends = _cut(known.prefixes[:0] if extra_words is None else extra_words, rng)
    longest = [min(max_length, n) for n in piece_lengths(limit)]

    def distinct_prefixes(*groups: Iterable[Word]) -> Words:
        return _distinct(alphabet, groups, longest[0])

    def distinct_suffixes(*groups: Iterable[Word]) -> Words:
        return _distinct(alphabet, groups, longest[1])

    rows = independent_rows(_sketch(blocks))
    fronts = PrefixTree.of(known.prefixes[rows]).words()
    backs = known.suffixes[independent_rows(blocks.values[blocks.rows[0, rows]].T)]
    others = distinct_prefixes(begins, heavy.prefixes)
    other_ends = distinct_suffixes(ends, heavy.suffixes)
    prefixes, suffixes, n_independent = others, other_ends, 0
    left = n_prefixes * n_suffixes * len(alphabet)  # as much as the larger blocks cost
    while True:  # until no longer word is independent of the others
        longer = ((*word, symbol) for word in fronts for symbol in alphabet)
        prefixes = distinct_prefixes(prefixes, fronts, longer)
        longer = ((symbol, *word) for word in backs for symbol in alphabet)
        suffixes = distinct_suffixes(suffixes, backs, longer)
        n_some = min(HANKEL.max_independent_rows, n_suffixes)
        some = distinct_suffixes(backs, suffixes[np.sort(rng.permutation(len(suffixes))[:n_some])])
        rows = independent_rows(block_of(weights_of, prefixes, some))
        columns = independent_rows(block_of(weights_of, prefixes[rows], suffixes).T)
        fronts, backs = PrefixTree.of(prefixes[rows]).words(), suffixes[columns]
        if n_independent:
            left -= len(prefixes) * len(some) + len(rows) * len(suffixes)
        if (
            left <= 0
            or not n_independent < len(columns) < HANKEL.max_independent_rows
            or len(fronts) >= n_prefixes
        ):
            break
        n_independent = len(columns)
        prefixes, suffixes = fronts, backs
    return Basis(
        distinct_prefixes([()], fronts, others, prefixes)[:n_prefixes],
        distinct_suffixes([()], backs, other_ends, suffixes)[:n_suffixes],
        "grown",
    )


def counterexamples(
    blocks: HankelBlocks,
    weights_of: WeightsOf,
    guess: WeightsOf,
    n_words: int,
    *,
    seed: Seed,
    limit: int | None = None,
) -> Words:
    """Return words that a guess gets most wrong, the worst first.

    Candidates are words that weigh much by the box, words that weigh much by the guess, and uniform
    ones. A difference is divided by the root of what the word weighs, so that neither the heaviest
    words nor the lightest are always the worst.

    Parameters
    ----------
    blocks
        Filled blocks.
    weights_of, guess
        Return the weights of words: of the box, and of an automaton.
    n_words
        How many at most.
    seed
        Random seed, a number or a generator.
    limit
        The length of the longest word that the box can read. None: it reads any word.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab")
    >>> guess = seqray.black_box(lambda words: [0.5 ** word.count("a") for word in words], "ab")
    >>> small = seqray.uniform_basis(box.alphabet, 7, 7, seed=0)
    >>> blocks = seqray.fill(box, small)
    >>> worst = counterexamples(blocks, box.weights, guess.weights, 2, seed=0)
    >>> ["b" in word for word in worst]
    [True, True]
    """
    rng = random_generator(seed)
    known = blocks.basis
    words = Words.concatenate(
        [
            typical_words(blocks, weights_of, 3 * n_words, seed=rng, limit=limit),
            typical_words(blocks, guess, 10 * n_words, seed=rng, limit=limit),
            uniform_words(
                known.alphabet, n_words, seed=rng, max_length=1 + int(known.prefixes.lengths.max())
            ),
        ]
    ).unique()[0]
    weights, guessed = weights_of(words), guess(words)
    size = np.abs(weights) + np.abs(guessed)
    error = np.abs(weights - guessed)
    error = np.divide(error, np.sqrt(size), out=np.zeros_like(size), where=size > 0)
    order = np.argsort(-error, kind="stable")[:n_words]
    worst: Words = words[order[error[order] > 0]]
    return worst


def independent_rows(block: FloatArray) -> IntArray:
    """Return which rows are linearly independent of the others, the largest first.

    Rows count by the root of what they weigh, so that rare ones come late.

    Examples
    --------
    >>> independent_rows(np.array([[4.0, 0.0], [8.0, 0.0], [8.0, 1.0]]))
    array([2, 1])
    """
    scaled = block / (np.abs(block).max() or 1.0)
    weight = np.abs(scaled).sum(axis=1, keepdims=True)
    rows = np.divide(scaled, np.sqrt(weight), out=np.zeros_like(scaled), where=weight > 0)
    spread = np.sqrt((rows**2).mean(axis=0))
    rows = np.divide(rows, spread, out=np.zeros_like(rows), where=spread > 0)
    order, left = pivoted_rows(rows)
    n = int((left > HANKEL.rank_tolerance * max(left[0], 1e-300)).sum())
    return order[: max(1, min(n, HANKEL.max_independent_rows))]


def _sketch(blocks: HankelBlocks) -> FloatArray:
    """Return the block H, or random sums of its columns: rows are independent in both, or neither.

    Columns that have other sizes count the same, as they do in `independent_rows`.
    """
    if not blocks.is_on_disk:
        return blocks.block()
    n_columns = blocks.values.shape[1]
    n_sums = min(n_columns, 2 * HANKEL.max_independent_rows)
    squares, sketch = np.zeros(n_columns), np.empty((len(blocks.rows[0]), n_sums))
    for _, part in blocks.chunks(blocks.rows[0]):
        scaled = part / (blocks.largest or 1.0)
        weight = np.abs(scaled).sum(axis=1)
        squares += np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0) @ scaled**2
    scale = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
    signs = np.random.default_rng(0).standard_normal((n_columns, n_sums)) * scale[:, None]
    for some, part in blocks.chunks(blocks.rows[0]):
        np.matmul(part, signs, out=sketch[some])
    return sketch


def _heavy_basis(
    blocks: HankelBlocks,
    sizes: tuple[int, int],
    rng: np.random.Generator,
    max_length: int,
    limit: int | None,
) -> Basis:
    """Return a basis of halves of heavy words, and of uniform words where these are too few."""
    alphabet = blocks.basis.alphabet
    heavy = islice(heavy_words(blocks, seed=rng), HANKEL.max_heavy_batches)
    longest = int(min(max_length, blocks.basis.prefixes.lengths.max() + 1))

    def draw() -> tuple[Words, int]:
        words = next(heavy, None)
        if words is None:
            return uniform_words(alphabet, HANKEL.batch_size, seed=rng, max_length=longest), 0
        return words[np.flatnonzero(words.lengths <= max_length)], 0

    return basis_from(alphabet, draw, *sizes, "grown", split="halves", seed=rng, limit=limit)


def _cut(words: Words, rng: np.random.Generator) -> tuple[list[Word], list[Word]]:
    """Cut each word anywhere; return all prefixes of the first parts, and the second parts."""
    cuts = rng.integers(0, words.lengths + 1).tolist()
    pairs = list(zip(words, cuts, strict=True))
    return [word[:n] for word, cut in pairs for n in range(cut + 1)], [w[cut:] for w, cut in pairs]


def _distinct(alphabet: Alphabet, groups: Iterable[Iterable[Word]], max_length: int) -> Words:
    """Return the words of all groups, each once, where it comes first."""
    words = dict.fromkeys(tuple(word) for group in groups for word in group)
    return alphabet.words([word for word in words if len(word) <= max_length])
