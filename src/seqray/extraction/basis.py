"""Bases: which prefixes and suffixes to query.

Words are drawn, from the uniform distribution, from the box itself or from a data set; every prefix
of a drawn word goes to the prefixes, every suffix to the suffixes, until there are enough of both
(section 3.2 of the paper). Long words fill a basis with the prefixes of very few words. To cover
more words, a word may first be cut in two at random: its front gives prefixes, its back suffixes.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from seqray.automata.sampling import sample, uniform_words
from seqray.automata.stepper import PredictingStepper
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.protocol import allowed_length
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError, BasisError
from seqray.util.random import Seed, random_generator

logger = logging.getLogger(__name__)

WORDS_CUT_WARNING = (
    "%d of the sampled words had not ended and were cut at %d symbols: "
    "--max-length (max_length) allows longer ones"
)
"""The warning about words that were cut."""

SPLITS = ("whole", "halves")
"""What a drawn word gives: all its prefixes and suffixes, or those of its two parts."""

BATCH_SIZE = 256
"""How many words are drawn at once."""

MAX_IDLE_BATCHES = 40
"""After this many batches in a row without a new prefix or suffix, a basis stays smaller."""


@dataclass(frozen=True, eq=False)
class Basis:
    """A set of prefixes, closed under taking prefixes, and a set of suffixes.

    Parameters
    ----------
    prefixes
        Distinct words; with a word, all its prefixes, so the empty word too.
    suffixes
        Distinct words, the empty word among them.
    source
        Where they come from, in words.
    n_cut
        How many of the words drawn for it had not ended at the maximum length.

    Examples
    --------
    >>> a = Alphabet("ab")
    >>> Basis(a.words(["", "a", "ab"]), a.words(["", "b"]))
    Basis(3 prefixes, 2 suffixes, given)
    """

    prefixes: Words
    suffixes: Words
    source: str = "given"
    n_cut: int = 0

    def __post_init__(self) -> None:
        self.prefixes.alphabet.words(self.suffixes)
        show = self.prefixes.alphabet.show
        for name, words in (("prefixes", self.prefixes), ("suffixes", self.suffixes)):
            if not len(words):
                raise BasisError(f"{name}: expected at least the empty word, got no word")
            distinct, which = words.unique()
            if len(distinct) < len(words):
                counts = np.bincount(which)
                twice = int(counts.argmax())
                raise BasisError(
                    f"{name}: {show(distinct[twice])!r} stands there {counts[twice]} times: "
                    "give each word once"
                )
            if words.lengths.min() > 0:
                raise BasisError(f"{name}: the empty word is missing: add it")
        tree = PrefixTree.of(self.prefixes)
        if len(tree) > len(self.prefixes):
            missing = np.setdiff1d(np.arange(len(tree)), tree.node_of_word)[:1]
            raise BasisError(
                f"prefixes: not closed, {show(tree.words(missing)[0])!r} is a prefix of one of "
                "them and is missing: add every prefix of every word"
            )

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.prefixes.alphabet

    def share(self, share: float) -> Basis:
        """Return a smaller basis: a share of the prefixes and of the suffixes, the first ones.

        >>> a = Alphabet("ab")
        >>> Basis(a.words(["", "a", "b", "ab"]), a.words(["", "b"])).share(0.5)
        Basis(2 prefixes, 1 suffixes, given)
        """
        n_prefixes, n_suffixes = (
            max(1, math.ceil(share * len(words))) for words in (self.prefixes, self.suffixes)
        )
        # A prefix comes as late as the last of its own prefixes, so that any first ones are closed.
        tree = PrefixTree.of(self.prefixes)
        turn = np.empty(len(tree), np.int64)
        turn[tree.node_of_word] = np.arange(len(tree))
        for begin, end in pairwise(tree.levels[1:].tolist()):
            turn[begin:end] = np.maximum(turn[begin:end], turn[tree.parent[begin:end]])
        nodes = np.lexsort((tree.depth, turn))[:n_prefixes]
        suffixes = self.suffixes[np.argsort(self.suffixes.lengths > 0, kind="stable")]
        return Basis(tree.words(nodes), suffixes[:n_suffixes], self.source, self.n_cut)

    def __repr__(self) -> str:
        return f"Basis({len(self.prefixes)} prefixes, {len(self.suffixes)} suffixes, {self.source})"


def piece_lengths(limit: int | None) -> tuple[int, int]:
    """Return how long prefixes and suffixes may be for a box that reads words of a limited length.

    A prefix, a symbol and a suffix together must fit.

    >>> piece_lengths(1), piece_lengths(10)
    ((0, 0), (4, 5))
    """
    if limit is None:
        return sys.maxsize, sys.maxsize
    if limit < 1:
        raise ArgumentError(
            "the box reads only the empty word (its max_length is 0): expected one that reads "
            "words of at least one symbol"
        )
    return (limit - 1) // 2, limit // 2


def uniform_basis(
    alphabet: Alphabet,
    n_prefixes: int,
    n_suffixes: int,
    *,
    seed: Seed,
    max_length: int | None = None,
    limit: int | None = None,
) -> Basis:
    """Draw words of uniform length up to ``max_length`` and uniform symbols: the paper's basis.

    Parameters
    ----------
    alphabet
        The symbols.
    n_prefixes, n_suffixes
        How many of each.
    seed
        Random seed, a number or a generator.
    max_length
        The longest word; by default one more than the length that has enough words on its own.
        With longer ones fidelity falls and cost rises: most of them weigh next to nothing.
    limit
        The length of the longest word that the box can read: a prefix, a symbol and a suffix
        together are never longer. None: it reads any word.

    Examples
    --------
    >>> uniform_basis(Alphabet("ab"), 20, 10, seed=0)
    Basis(20 prefixes, 10 suffixes, uniform up to length 6)
    """
    rng = random_generator(seed)
    if max_length is None:
        wanted = (
            whole_number("n_prefixes", n_prefixes, 1),
            whole_number("n_suffixes", n_suffixes, 1),
        )
        max_length = _uniform_length(len(alphabet), max(wanted))
    whole_number("max_length", max_length, 1)
    longest = max_length if limit is None else max(1, min(max_length, limit))

    def draw() -> tuple[Words, int]:
        return uniform_words(alphabet, BATCH_SIZE, seed=rng, max_length=longest), 0

    source = f"uniform up to length {longest}"
    sizes = (n_prefixes, n_suffixes)
    return basis_from(alphabet, draw, *sizes, source, split="whole", seed=rng, limit=limit)


def sampled_basis(
    box: PredictingStepper,
    n_prefixes: int,
    n_suffixes: int,
    *,
    seed: Seed,
    max_length: int | None = None,
    split: str = "halves",
    limit: int | None = None,
) -> Basis:
    """Draw words from the box itself, symbol by symbol.

    A word that has not ended at ``max_length`` is cut there; `Basis.n_cut` says how often. By
    default that is 100, or the box's own limit where that is less. ``split`` is ``"whole"``, the
    paper's, or ``"halves"``, which covers more words: see `SPLITS`.
    ``limit`` as in `uniform_basis`.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> sampled_basis(wa, 20, 10, seed=0)
    Basis(20 prefixes, 10 suffixes, sampled from the box)
    """
    rng = random_generator(seed)
    longest = whole_number("max_length", allowed_length(box, max_length, 100), 1)

    def draw() -> tuple[Words, int]:
        return sample(box, BATCH_SIZE, seed=rng, max_length=longest)

    sizes, source = (n_prefixes, n_suffixes), "sampled from the box"
    basis = basis_from(box.alphabet, draw, *sizes, source, split=split, seed=rng, limit=limit)
    if basis.n_cut:
        logger.warning(WORDS_CUT_WARNING, basis.n_cut, longest)
    return basis


def data_basis(
    words: Words,
    n_prefixes: int,
    n_suffixes: int,
    *,
    seed: Seed,
    split: str = "halves",
    limit: int | None = None,
) -> Basis:
    """Take the words of a data set in random order; ``split`` and ``limit`` as in `sampled_basis`.

    Examples
    --------
    >>> words = Alphabet("ab").words(["ab", "b", "bb"])
    >>> data_basis(words, 4, 3, seed=0, split="whole")
    Basis(4 prefixes, 3 suffixes, from a data set)
    """
    rng = random_generator(seed)
    batches = np.array_split(
        rng.permutation(len(words)), max(1, math.ceil(len(words) / BATCH_SIZE))
    )
    shuffled = iter([words[batch] for batch in batches])

    def draw() -> tuple[Words, int]:
        return next(shuffled, words[:0]), 0

    source = "from a data set"
    sizes = (n_prefixes, n_suffixes)
    return basis_from(words.alphabet, draw, *sizes, source, split=split, seed=rng, limit=limit)


def _uniform_length(n_symbols: int, n_words: int) -> int:
    if n_symbols == 1:
        return min(n_words, 100)
    return 1 + math.ceil(math.log(max(2, n_words)) / math.log(n_symbols))


Codes: TypeAlias = tuple[int, ...]


def basis_from(
    alphabet: Alphabet,
    draw: Callable[[], tuple[Words, int]],
    n_prefixes: int,
    n_suffixes: int,
    source: str,
    *,
    split: str,
    seed: Seed,
    limit: int | None = None,
) -> Basis:
    """Draw words until there are enough prefixes and suffixes, or nothing new comes.

    Parameters
    ----------
    alphabet
        The symbols.
    draw
        Returns some words, and how many of them were cut.
    n_prefixes, n_suffixes
        How many of each.
    source
        Where the words come from, in words.
    split
        What is taken of each, see `SPLITS`.
    seed
        Random seed, a number or a generator.
    limit
        The length of the longest word that the box can read, see `piece_lengths`.
    """
    rng = random_generator(seed)
    n_prefixes = whole_number("n_prefixes", n_prefixes, 1)
    n_suffixes = whole_number("n_suffixes", n_suffixes, 1)
    if split not in SPLITS:
        raise ArgumentError(f"split: expected one of {', '.join(SPLITS)}, got {split!r}")
    longest_prefix, longest_suffix = piece_lengths(limit)
    prefixes: dict[Codes, None] = {(): None}
    suffixes: dict[Codes, None] = {(): None}
    n_cut = idle = 0
    while (len(prefixes) < n_prefixes or len(suffixes) < n_suffixes) and idle < MAX_IDLE_BATCHES:
        before = len(prefixes) + len(suffixes)
        words, cut = draw()
        n_cut += cut
        for front, back in _parts(words, split, rng):
            last, first = min(len(front), longest_prefix), max(0, len(back) - longest_suffix)
            _add(prefixes, n_prefixes, (front[:n] for n in range(1, last + 1)))
            _add(suffixes, n_suffixes, (back[n:] for n in range(len(back) - 1, first - 1, -1)))
        idle = idle + 1 if before == len(prefixes) + len(suffixes) else 0
    for name, pieces, wanted in (
        ("prefixes", prefixes, n_prefixes),
        ("suffixes", suffixes, n_suffixes),
    ):
        if len(pieces) < wanted:
            logger.warning("wanted %d %s, got only %d (%s)", wanted, name, len(pieces), source)
    return Basis(_words(alphabet, prefixes), _words(alphabet, suffixes), source, n_cut)


def _parts(words: Words, split: str, rng: np.random.Generator) -> Iterator[tuple[Codes, Codes]]:
    """Yield the part of each word that gives prefixes, and the part that gives suffixes."""
    cuts = rng.integers(0, words.lengths + 1).tolist() if split == "halves" else None
    offsets = words.offsets.tolist()
    for i in range(len(words)):
        word = tuple(words.codes[offsets[i] : offsets[i + 1]].tolist())
        yield (word, word) if cuts is None else (word[: cuts[i]], word[cuts[i] :])


def _add(known: dict[Codes, None], wanted: int, pieces: Iterable[Codes]) -> None:
    """Add pieces up to a number, shortest first so that the set stays closed."""
    for piece in pieces:
        if len(known) >= wanted:
            return
        known.setdefault(piece)


def _words(alphabet: Alphabet, coded: Iterable[Codes]) -> Words:
    plain: list[Word] = [alphabet.decode(codes) for codes in coded]
    return alphabet.words(plain)
