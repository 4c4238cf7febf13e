"""Words on which automata are compared with the box, to choose a rank and to stop early.

A box that predicts next symbols is sampled. A box that only gives weights to words does not say
which words matter. Half of its words are *typical*: like those that weigh much. The others show
what typical words cannot: words that may weigh 0 or have the other sign (uniform words, and typical
words with one edit), and words several times as long as those that automata are made of.
"""

from __future__ import annotations

import logging
import math
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from seqray.automata.sampling import uniform_words
from seqray.automata.stepper import predicts
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queries.noise import Noise
from seqray.blackbox.queries.oracle import QueryMode
from seqray.extraction.basis import Basis
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.heavy_words import heavy_words, long_words, typical_words
from seqray.extraction.hankel.sizes import ends_where_learnt
from seqray.extraction.job import N_HELD_OUT, Job, draw_within
from seqray.extraction.settings import HANKEL
from seqray.fidelity.objective import Objective
from seqray.fidelity.reference import Reference
from seqray.fidelity.word_metrics import sizes_by_length
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.errors import Stopped

logger = logging.getLogger(__name__)

NOISE_MARGIN = 10.0
"""Weights up to this many times as large as the noise of an answer do not count in full."""

MAX_SAME_DIFFERENCE = 0.01
"""Up to this relative difference two answers count as the same."""

MIN_SAME_SHARE = 0.99
"""A warning is logged if at least this share of the answers is the same."""

MIN_DIGITS = 8
"""With fewer decimal digits in the largest weight, rounding shows in automata."""

MIN_NEW_WORDS = 100
"""Fewer new words than this are too few to compare on: known ones join them."""


class ValidationWords(NamedTuple):
    """Words to compare on, and which of them are typical of the weights of their length."""

    words: Words
    typical: BoolArray

    def query(self, box: BlackBox) -> Reference:
        """Return the answers of the box on these words.

        Of a box that leaks, weights alone count: automata of Hankel blocks do not know what goes
        elsewhere.
        """
        reference = Reference.query(box, self.words)
        if reference.leaks:
            reference = replace(reference, next_symbol=None)
        return _with_negligible(reference, self.typical)

    def first(self, n_words: int) -> ValidationWords:
        """Return the first of them; they are shuffled, so that these are a mixture, too."""
        return ValidationWords(self.words[:n_words], self.typical[:n_words])


def _with_negligible(reference: Reference, typical: BoolArray) -> Reference:
    """Set for each word how large a difference is negligible.

    A word that is not typical counts by what is usual: the median size of typical words, of its own
    length or of all lengths, whichever is larger. So it matters whether an automaton takes it for a
    typical word, and not how small a weight it gives to a word that weighs next to nothing.
    """
    weights, lengths = reference.weights, reference.words.lengths
    if not weights[typical].any():
        typical = np.ones(len(weights), bool)
    known, at = weights[typical], lengths[typical]
    middle = float(np.median(np.abs(known[known != 0]))) if known.any() else 0.0
    usual = np.maximum(middle, sizes_by_length(known, at, lengths, 0.5))
    return replace(
        reference, negligible=np.where(typical, sizes_by_length(known, at, lengths), usual)
    )


def above_noise(reference: Reference, noise: Noise) -> Reference:
    """Return the answers of a noisy box, with noise that does not count as a difference."""
    if reference.negligible is None or noise.level == 0:
        return reference
    floor = NOISE_MARGIN * noise.of(reference.weights)
    return replace(reference, negligible=np.maximum(reference.negligible, floor))


def warn_of_equal_weights(weights: FloatArray) -> None:
    """Log a warning if nearly all words to compare on weigh the same: a score says little then."""
    middle = float(np.median(weights))
    n_same = int(np.sum(np.abs(weights - middle) <= MAX_SAME_DIFFERENCE * abs(middle)))
    if n_same >= MIN_SAME_SHARE * len(weights):
        logger.warning(
            "the box gave the same answer, %.4g, to %s of the %s words that ranks are compared on: "
            "a constant automaton looks right on them, so the fidelity score says little. Compare "
            "on words of your own with other answers (seqray evaluate), or give such words as the "
            "basis",
            *(middle, f"{n_same:,}", f"{len(weights):,}"),
        )


def warn_of_lost_digits(largest: float) -> None:
    """Log a warning if the largest weight is so small that float64 holds few digits of it."""
    if largest == 0:
        return
    n_digits = int(np.log10(largest) - np.log10(np.finfo(float).smallest_subnormal))
    if n_digits < MIN_DIGITS:
        logger.warning(
            "the largest answer of the box is %.3g: float64 holds about %d digits of it, expected "
            "at least %d: let the box multiply its answers by a constant, such as 1e300",
            *(largest, n_digits, MIN_DIGITS),
        )


def validation_words(
    job: Job, basis: Basis, known: HankelBlocks | None, rng: np.random.Generator
) -> ValidationWords:
    """Draw words to choose the rank on.

    Parameters
    ----------
    job
        What to extract, and within which limits.
    basis
        Typical words that its blocks hold are left out, unless there are hardly any others, or
        the objective is the squared error.
    known
        Blocks that are filled already; None: there are none.
    rng
        The random generator, which is drawn from in place.
    """
    reader = job.oracle.reader
    if predicts(reader):
        by_weights = job.request.objective is Objective.WEIGHTS
        n_drawn = min(_n_drawn(job, basis), N_HELD_OUT if by_weights else sys.maxsize)
        words = draw_within(reader, n_drawn, job.longest, rng, job.meter).words
        if not by_weights:  # the words that weigh most are in blocks, and decide squared errors
            words = _new(words, basis, known, rng)[:N_HELD_OUT]
        return ValidationWords(words, np.ones(len(words), bool))
    typical = _new(_typical(job, basis, known, rng), basis, known, rng)[: N_HELD_OUT // 2]
    others = _others(job, typical, rng, joins=known is not None)
    order = rng.permutation(len(typical) + len(others))
    return ValidationWords(Words.concatenate([typical, others])[order], order < len(typical))


def known_words(blocks: HankelBlocks, n_words: int = N_HELD_OUT) -> Reference:
    """Return words of filled blocks, without queries: half the heaviest, half any of the others."""
    heavy = _heaviest_cells(blocks, n_words // 2)
    n_others = math.prod(blocks.values.shape) - len(heavy)
    n_rest = min(n_words - len(heavy), n_others)
    rest = np.random.default_rng(0).choice(n_others, n_rest, replace=False)
    rest += np.searchsorted(np.sort(heavy) - np.arange(len(heavy)), rest, side="right")
    cells = np.concatenate([heavy, rest])
    rows, columns = np.unravel_index(cells, blocks.values.shape)
    words = blocks.tree.words(rows).joined(np.arange(len(rows)), blocks.basis.suffixes, columns)
    typical = np.arange(len(cells)) < len(heavy)
    known = Reference(PrefixTree.of(words), blocks.values[rows, columns], None, None)
    return _with_negligible(known, typical)


def _heaviest_cells(blocks: HankelBlocks, n_cells: int) -> IntArray:
    """Return the cells with the largest absolute values, the largest first, then by number."""
    cells, sizes = np.empty(0, np.int64), np.empty(0)
    for some, part in blocks.chunks():
        flat = np.abs(part).ravel()
        n_rest = max(0, len(flat) - n_cells)
        least = np.partition(flat, n_rest)[n_rest]
        above, equal = np.flatnonzero(flat > least), np.flatnonzero(flat == least)
        largest = np.concatenate([above, equal[: n_cells - len(above)]])
        cells = np.concatenate([cells, some.start * part.shape[1] + largest])
        sizes = np.concatenate([sizes, flat[largest]])
    return cells[np.lexsort([cells, -sizes])[:n_cells]]


def _n_drawn(job: Job, basis: Basis) -> int:
    """Return how many words to draw at first: a quarter of the budget at most."""
    if job.meter.allowance is None:
        return 4 * N_HELD_OUT
    length = 1 + basis.prefixes.lengths.mean() + basis.suffixes.lengths.mean()
    return min(4 * N_HELD_OUT, max(20, int(job.meter.allowance / 4 / length)))


def _typical(job: Job, basis: Basis, known: HankelBlocks | None, rng: np.random.Generator) -> Words:
    """Draw words like those that weigh much; uniform ones if no blocks are filled."""
    if known is not None:
        n_words, n_each = 2 * N_HELD_OUT, HANKEL.n_continuations + HANKEL.n_long_continuations
        if job.meter.allowance is not None:  # an eighth of it, with the words made of them
            n_words = min(n_words, job.meter.allowance // (8 * n_each))
        if job.request.target is not None or ends_where_learnt(job):
            # no more than were queried to learn from
            n_words = min(n_words, max(256, known.n_questions // HANKEL.n_continuations))
        try:
            weights_of = job.oracle.weights
            words = typical_words(known, weights_of, n_words, seed=rng, limit=job.limit)
        except Stopped:
            words = basis.suffixes[:0]
        words = words[np.flatnonzero(words.lengths <= job.longest)]
        if len(words):
            return words
    in_blocks = int(basis.prefixes.lengths.max() + basis.suffixes.lengths.max())
    longest = job.request.max_length or in_blocks
    return uniform_words(
        job.oracle.alphabet, _n_drawn(job, basis), seed=rng, max_length=max(1, longest)
    )


def _new(words: Words, basis: Basis, known: HankelBlocks | None, rng: np.random.Generator) -> Words:
    """Leave out words that the blocks of a basis hold, unless there are hardly any others."""
    new = words[np.flatnonzero(~_in_blocks(words, basis))]
    if len(new) >= min(MIN_NEW_WORDS, len(words) // 10) > 0:
        return new
    if known is not None:  # those that weigh much are known, nearly all
        return Words.concatenate([*islice(heavy_words(known, seed=rng), 2), words])
    return words


def _in_blocks(words: Words, basis: Basis) -> BoolArray:
    """Return which words are a prefix, or a prefix and a symbol, followed by a suffix."""
    suffixes = set(basis.suffixes)
    rows = set(basis.prefixes)
    rows |= {(*prefix, symbol) for prefix in basis.prefixes for symbol in basis.alphabet}
    return np.array(
        [any(w[:n] in rows and w[n:] in suffixes for n in range(len(w) + 1)) for w in words]
    )


def _others(job: Job, typical: Words, rng: np.random.Generator, *, joins: bool) -> Words:
    """Draw about as many words as are typical: uniform, nearly typical and long ones.

    Joining typical words to long ones takes queries: without ``joins``, long words are uniform.
    """
    alphabet, n_each = typical.alphabet, -(-len(typical) // 4)
    longest = max(1, int(typical.lengths.max()))
    groups = [
        uniform_words(alphabet, n_each, seed=rng, max_length=min(longest, job.longest)),
        _edited(typical, n_each, rng, job.longest),
    ]
    max_length = _max_length(job, n_each)
    if max_length > longest:
        between = {"min_length": longest + 1, "max_length": max_length}
        n_uniform = n_each if joins else 2 * n_each
        groups.append(uniform_words(alphabet, n_uniform, seed=rng, **between))
    if max_length > longest and joins:
        with suppress(Stopped):  # the budget allows no more
            weights_of = job.oracle.weights
            groups.append(long_words(typical, weights_of, n_each, seed=rng, max_length=max_length))
    return Words.concatenate(groups)


def _max_length(job: Job, n_words: int) -> int:
    """Return how long a word may be: a budget of steps allows shorter ones."""
    if job.meter.allowance is None or job.oracle.mode is not QueryMode.STATES:
        return job.longest
    return min(job.longest, job.meter.allowance // (16 * HANKEL.n_long_continuations * n_words))


def _edited(words: Words, n_words: int, rng: np.random.Generator, max_length: int) -> Words:
    """Replace, remove or insert one symbol of each of some words."""
    alphabet = words.alphabet
    drawn = words[rng.integers(0, len(words), n_words)]
    symbols = rng.integers(0, len(alphabet), n_words)
    cuts = rng.integers(0, np.maximum(1, drawn.lengths))
    kinds = rng.integers(0, 3, n_words)
    edited = []
    for word, at, code, kind in zip(drawn, cuts, symbols, kinds, strict=True):
        put = () if kind == 0 else (alphabet.symbols[code],)
        edited.append((*word[:at], *put, *word[at + (kind < 2) :]))
    return alphabet.words([word for word in edited if len(word) <= max_length])
