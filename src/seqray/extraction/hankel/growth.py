"""Bases that grow: for a box that only gives numbers to words, and cannot be sampled.

A box of that kind does not say which words matter. But once a small block is filled, it shows the
way to a larger one. Words in it that weigh much are cut in two, and give prefixes and suffixes: for
a distribution that is nearly as if the box itself had been sampled. Prefixes whose rows tell
something new, and suffixes whose columns do (pivoted QR), come first, and so do those that are a
symbol longer, if they tell something new in turn. What the box does rarely is found that way, too.
And so is what an automaton of the small block gets most wrong: its counterexamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from seqray.automata.sampling import uniform_words
from seqray.automata.span import pivoted_rows
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Word, Words
from seqray.extraction.basis import Basis, basis_from, piece_lengths
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.random import Seed, random_generator

FIRST, SMALL = 50, 75
"""Prefixes and suffixes of the first, uniform basis, about and at most."""

BATCH, PATIENCE = 512, 30
"""Words drawn at once, and how often, before uniform ones fill up what is missing."""

CANDIDATES = 3
"""How many times as many prefixes and suffixes are looked at as are taken."""

WAYS, RARE = 16, 1e-6
"""Ways to go on that are looked at, to draw one, and which share of a weight is next to none."""

LONG_WAYS = 4
"""The same for words that are made much longer."""

WRONG = 10
"""Of how many prefixes one comes from a counterexample."""

TELLING, SURE = 200, 1e-9
"""The most prefixes that are taken for what their rows tell, and how much that is at least."""


def sizes_up_to(n_prefixes: int, n_suffixes: int) -> list[tuple[int, int]]:
    """Return the sizes of the bases that lead to one of a given size, each about twice the last.

    >>> sizes_up_to(800, 200)
    [(50, 50), (100, 100), (200, 200), (400, 200), (800, 200)]
    """
    sizes = [(n_prefixes, n_suffixes)]
    while max(sizes[-1]) > SMALL:
        half = max(sizes[-1]) / 2
        sizes.append((min(n_prefixes, round(half)), min(n_suffixes, round(half))))
    return sizes[::-1]


def heavy_words(blocks: HankelBlocks, *, seed: Seed) -> Iterator[Words]:
    """Yield batches of words that blocks hold: one that weighs twice as much comes twice as often.

    That holds among all words in one batch, and among those of the same length in the next, where
    every length comes as often: the heaviest may all be short. There is no end of them, unless all
    words of the blocks weigh 0: then there is none.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [word == "aa" for word in words], "ab")
    >>> basis = seqray.uniform_basis(box.alphabet, 7, 7, seed=np.random.default_rng(0))
    >>> next(heavy_words(seqray.fill(box, basis), seed=np.random.default_rng(0)))[:2]
    Words(2 words over 2 symbols: aa, aa)
    """
    rng = random_generator(seed)
    lengths = np.add.outer(blocks.tree.depth, blocks.basis.suffixes.lengths)
    sizes = np.abs(blocks.values)
    sizes = sizes / (sizes.max() or 1.0)
    by_length = np.bincount(lengths.ravel(), sizes.ravel())
    scales = [np.ones(len(by_length)), np.where(by_length > 0, by_length, 1)]
    probabilities = [(sizes / scale[lengths]).sum(axis=1) for scale in scales]
    while sizes.any():
        for scale, probability in zip(scales, probabilities, strict=True):
            rows = rng.choice(len(sizes), BATCH, p=probability / probability.sum())
            columns = _one_a_row(sizes[rows] / scale[lengths[rows]], rng)
            columns = np.minimum(columns, sizes.shape[1] - 1)
            every = np.arange(BATCH)
            yield blocks.tree.words(rows).joined(every, blocks.basis.suffixes, columns)


def grown_basis(
    blocks: HankelBlocks,
    ask: Callable[[Words], FloatArray],
    n_prefixes: int,
    n_suffixes: int,
    *,
    seed: Seed,
    max_length: int,
    wrong: Words | None = None,
    limit: int | None = None,
) -> Basis:
    """Find a larger basis with the help of the blocks of a smaller one.

    Parameters
    ----------
    blocks
        What is known.
    ask
        Returns the weights of words: candidates are asked about.
    n_prefixes, n_suffixes
        How many of each.
    seed
        Random seed, or a random generator.
    max_length
        The longest prefix or suffix to take.
    wrong
        Words to learn from besides, such as `counterexamples`: each is cut in two.
    limit
        The length of the longest word that the box can read: a prefix, a symbol and a suffix
        together are never longer. None: it reads any word.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab")
    >>> small = seqray.uniform_basis(box.alphabet, 7, 7, seed=np.random.default_rng(0))
    >>> blocks = seqray.fill(box, small)
    >>> grown_basis(blocks, box.weights, 20, 20, seed=np.random.default_rng(0), max_length=9)
    Basis(20 prefixes, 20 suffixes, grown)
    """
    rng = random_generator(seed)
    alphabet, known = blocks.basis.alphabet, blocks.basis
    sizes = (CANDIDATES * n_prefixes, CANDIDATES * n_suffixes)
    heavy = _heavy(blocks, *sizes, rng, max_length, limit)
    begins, ends = _cut(known.prefixes[:0] if wrong is None else wrong, rng)

    longest = [min(max_length, n) for n in piece_lengths(limit)]

    def distinct_prefixes(*groups: Iterable[Word]) -> Words:
        return _distinct(alphabet, groups, longest[0])

    def distinct_suffixes(*groups: Iterable[Word]) -> Words:
        return _distinct(alphabet, groups, longest[1])

    block = blocks.block()
    rows = telling(block)
    fronts = PrefixTree.of(known.prefixes[rows]).words()
    backs = known.suffixes[telling(block[rows].T)]
    others = distinct_prefixes(begins, heavy.prefixes)
    other_ends = distinct_suffixes(ends, heavy.suffixes)
    prefixes, suffixes, n_told = others, other_ends, 0
    left = n_prefixes * n_suffixes * len(alphabet)  # as much as the larger blocks cost
    while True:  # until no longer word tells anything new
        longer = ((*word, symbol) for word in fronts for symbol in alphabet)
        prefixes = distinct_prefixes(prefixes, fronts, longer)
        longer = ((symbol, *word) for word in backs for symbol in alphabet)
        suffixes = distinct_suffixes(suffixes, backs, longer)
        n_some = min(TELLING, n_suffixes)
        some = distinct_suffixes(backs, suffixes[np.sort(rng.permutation(len(suffixes))[:n_some])])
        rows = telling(_block(ask, prefixes, some))
        columns = telling(_block(ask, prefixes[rows], suffixes).T)
        fronts, backs = PrefixTree.of(prefixes[rows]).words(), suffixes[columns]
        if n_told:
            left -= len(prefixes) * len(some) + len(rows) * len(suffixes)
        if left <= 0 or not n_told < len(columns) < TELLING or len(fronts) >= n_prefixes:
            break
        n_told = len(columns)
        prefixes, suffixes = fronts, backs
    return Basis(
        distinct_prefixes([()], fronts, others, prefixes)[:n_prefixes],
        distinct_suffixes([()], backs, other_ends, suffixes)[:n_suffixes],
        "grown",
    )


def typical_words(
    blocks: HankelBlocks,
    ask: Callable[[Words], FloatArray],
    n_words: int,
    *,
    seed: Seed,
    limit: int | None = None,
) -> Words:
    """Draw words like those that weigh much, but longer than those that blocks hold.

    Each is a word of `heavy_words` and one of a few suffixes, the more often the more both weigh
    together; where none of these adds up to more than next to nothing, the word is left out.

    Parameters
    ----------
    blocks
        What is known.
    ask
        Returns the weights of words: some times as many are asked about as are returned.
    n_words
        How many; there are fewer where most weigh nothing.
    seed
        Random seed, or a random generator.
    limit
        The length of the longest word that the box can read. None: it reads any word.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: ["b" not in word for word in words], "ab")
    >>> small = seqray.uniform_basis(box.alphabet, 7, 7, seed=np.random.default_rng(0))
    >>> blocks = seqray.fill(box, small)
    >>> words = typical_words(blocks, box.weights, 30, seed=np.random.default_rng(0))
    >>> {symbol for word in words for symbol in word}
    {'a'}
    """
    rng = random_generator(seed)
    suffixes = blocks.basis.suffixes
    found = [suffixes[:0]]
    batches = islice(heavy_words(blocks, seed=rng), -(-n_words // BATCH))
    for i, batch in enumerate(batches):
        fronts = batch[: n_words - i * BATCH]
        some = suffixes[np.sort(rng.permutation(len(suffixes))[:WAYS])]
        if limit is not None:
            fronts = fronts[np.flatnonzero(fronts.lengths <= limit - some.lengths.max())]
        found.append(_gone_on(ask, fronts, some, rng))
    return Words.concatenate(found)[:n_words]


def long_words(
    words: Words,
    ask: Callable[[Words], FloatArray],
    n_words: int,
    *,
    seed: Seed,
    max_length: int,
) -> Words:
    """Draw words that are several times as long as given ones and still weigh something.

    Words are joined to longer ones as `typical_words` does it, and these again, up to a length.

    Parameters
    ----------
    words
        Words to join.
    ask
        Returns the weights of words: `LONG_WAYS` times as many are asked about as are joined.
    n_words
        How many at most; there are fewer where most joined words weigh nothing.
    seed
        The random generator.
    max_length
        The length of the longest word to return.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: ["b" not in word for word in words], "ab")
    >>> words = box.alphabet.words(["a", "aa", "aaa"])
    >>> found = long_words(words, box.weights, 3, seed=np.random.default_rng(0), max_length=50)
    >>> bool(found.lengths.min() > 3), "b" in {symbol for word in found for symbol in word}
    (True, False)
    """
    rng = random_generator(seed)
    longest = int(words.lengths.max(initial=0))
    found = [words[:0]]
    fronts = words[rng.permutation(len(words))[:n_words]]
    for _ in range(max_length.bit_length()):  # each time about twice as long
        if not len(fronts):
            break
        some = fronts[np.sort(rng.permutation(len(fronts))[:LONG_WAYS])]
        fronts = fronts[np.flatnonzero(fronts.lengths + some.lengths.max() <= max_length)]
        fronts = _gone_on(ask, fronts, some, rng)
        found.append(fronts[np.flatnonzero(fronts.lengths > longest)])
    longer = Words.concatenate(found)
    return longer[np.sort(rng.permutation(len(longer))[:n_words])]


def _gone_on(
    ask: Callable[[Words], FloatArray], fronts: Words, some: Words, rng: np.random.Generator
) -> Words:
    """Join to each word one of a few others, the more often the more both weigh together."""
    sizes = np.abs(_block(ask, fronts, some))
    columns = _one_a_row(sizes, rng)
    goes_on = np.flatnonzero(sizes.sum(axis=1) > RARE * np.abs(ask(fronts)))
    return fronts.joined(goes_on, some, columns[goes_on])


def counterexamples(
    blocks: HankelBlocks,
    ask: Callable[[Words], FloatArray],
    guess: Callable[[Words], FloatArray],
    n_words: int,
    *,
    seed: Seed,
    limit: int | None = None,
) -> Words:
    """Find words that a guess gets most wrong, the worst first.

    Words are looked at that weigh much by the box, that weigh much by the guess, and uniform ones.
    A difference counts beside the root of what a word weighs: neither the heaviest words nor the
    lightest are always the worst then.

    Parameters
    ----------
    blocks
        What is known.
    ask, guess
        Return the weights of words: of the box, and of an automaton.
    n_words
        How many at most.
    seed
        Random seed, or a random generator.
    limit
        The length of the longest word that the box can read. None: it reads any word.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab")
    >>> guess = seqray.black_box(lambda words: [0.5 ** word.count("a") for word in words], "ab")
    >>> small = seqray.uniform_basis(box.alphabet, 7, 7, seed=np.random.default_rng(0))
    >>> blocks = seqray.fill(box, small)
    >>> found = counterexamples(blocks, box.weights, guess.weights, 2, seed=np.random.default_rng(0))
    >>> ["b" in word for word in found]
    [True, True]
    """
    rng = random_generator(seed)
    known = blocks.basis
    words = Words.concatenate(
        [
            typical_words(blocks, ask, 3 * n_words, seed=rng, limit=limit),
            typical_words(blocks, guess, 10 * n_words, seed=rng, limit=limit),
            uniform_words(
                known.alphabet, n_words, seed=rng, max_length=1 + int(known.prefixes.lengths.max())
            ),
        ]
    ).unique()[0]
    is_, said = ask(words), guess(words)
    size = np.abs(is_) + np.abs(said)
    apart = np.divide(np.abs(is_ - said), np.sqrt(size), out=np.zeros_like(size), where=size > 0)
    order = np.argsort(-apart, kind="stable")[:n_words]
    worst: Words = words[order[apart[order] > 0]]
    return worst


def telling(block: FloatArray) -> IntArray:
    """Return which rows tell something that no others do, the first ones most.

    Rows count by the root of what they weigh, so that rare ones come late.

    Examples
    --------
    >>> telling(np.array([[4.0, 0.0], [8.0, 0.0], [8.0, 1.0]]))
    array([2, 1])
    """
    scaled = block / (np.abs(block).max() or 1.0)
    weight = np.abs(scaled).sum(axis=1, keepdims=True)
    rows = np.divide(scaled, np.sqrt(weight), out=np.zeros_like(scaled), where=weight > 0)
    spread = np.sqrt((rows**2).mean(axis=0))
    rows = np.divide(rows, spread, out=np.zeros_like(rows), where=spread > 0)
    order, left = pivoted_rows(rows)
    n = int((left > SURE * max(left[0], 1e-300)).sum())
    return order[: max(1, min(n, TELLING))]


def _heavy(
    blocks: HankelBlocks,
    n_prefixes: int,
    n_suffixes: int,
    rng: np.random.Generator,
    max_length: int,
    limit: int | None,
) -> Basis:
    """Make a basis of halves of heavy words, and of uniform words where these are too few."""
    alphabet = blocks.basis.alphabet
    heavy = islice(heavy_words(blocks, seed=rng), PATIENCE)
    longest = int(min(max_length, blocks.basis.prefixes.lengths.max() + 1))

    def draw() -> tuple[Words, int]:
        words = next(heavy, None)
        if words is None:
            return uniform_words(alphabet, BATCH, seed=rng, max_length=longest), 0
        return words[np.flatnonzero(words.lengths <= max_length)], 0

    sizes = (n_prefixes, n_suffixes)
    return basis_from(alphabet, draw, *sizes, "grown", split="halves", seed=rng, limit=limit)


def _one_a_row(sizes: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a column for each row, as often as its size says; one too many where all are 0."""
    heights = np.cumsum(sizes, axis=1)
    drawn: IntArray = (heights <= rng.random((len(sizes), 1)) * heights[:, -1:]).sum(axis=1)
    return drawn


def _cut(words: Words, rng: np.random.Generator) -> tuple[list[Word], list[Word]]:
    """Cut each word anywhere; return all prefixes of the first parts, and the second parts."""
    cuts = rng.integers(0, words.lengths + 1).tolist()
    pairs = list(zip(words, cuts, strict=True))
    return [word[:n] for word, cut in pairs for n in range(cut + 1)], [w[cut:] for w, cut in pairs]


def _distinct(alphabet: Alphabet, groups: Iterable[Iterable[Word]], max_length: int) -> Words:
    """Put words together, each once, where it comes first."""
    words = dict.fromkeys(tuple(word) for group in groups for word in group)
    return alphabet.words([word for word in words if len(word) <= max_length])


def _block(ask: Callable[[Words], FloatArray], prefixes: Words, suffixes: Words) -> FloatArray:
    return ask(prefixes.followed_by(suffixes)).reshape(len(prefixes), len(suffixes))
