"""Weights of many words at once by a structured automaton.

A forgetful transition keeps the group alone, so the weight of a word is a product: one factor for
each part of the word that ends with a forgetful transition, or with the word. A part begins with
the vector that enters its group, whatever the word was before. So parts are read along the prefix
trees of all of them, one tree for each group, and far more words share a part than a prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seqray.automata.grouping import Grouping
from seqray.automata.scoring import BATCH_WORDS, WordProducts
from seqray.automata.structured_states import StructuredStates, StructuredSteps
from seqray.automata.tree import Level, grow, sort_codes
from seqray.automata.words import Words
from seqray.util.arrays import BoolArray, FloatArray, IntArray

MAX_LOG_PRODUCT = 700
"""A product whose factors have logarithms of at most this sum, in size, neither over- nor
underflows."""


class WordParts(NamedTuple):
    """The parts of words, one after the other.

    Part ``i`` begins at letter ``starts[i]`` in group ``groups[i]``, or with the word, where that
    is the number of groups; ``lengths[i]`` letters are remembered. Then the forgetful symbol
    ``readers[i]`` follows, or the end, which is numbered after the symbols. Word ``w`` begins with
    part ``firsts[w]``.
    """

    starts: IntArray
    lengths: IntArray
    groups: IntArray
    readers: IntArray
    firsts: IntArray


def structured_products(
    steps: StructuredSteps, roots: StructuredStates, readers: FloatArray, words: Words
) -> WordProducts:
    """Return the weights of words as products.

    Parameters
    ----------
    steps
        The steps of the automaton.
    roots
        Its `roots`, the states with which parts of words begin.
    readers
        Its `readers`, what is read at the end of a part.
    words
        The words.
    """
    batches = [words[at : at + BATCH_WORDS] for at in range(0, len(words), BATCH_WORDS)]
    products = [_batch_products(steps, roots, readers, batch) for batch in batches]
    none = WordProducts(np.empty(0), np.empty(0), np.empty(0, bool))
    return WordProducts(*(np.concatenate(each) for each in zip(none, *products, strict=True)))


def _batch_products(
    steps: StructuredSteps, roots: StructuredStates, readers: FloatArray, words: Words
) -> WordProducts:
    """Return the weights of words as products of the weights of their parts."""
    parts = word_parts(steps, words)
    values, log_scale = np.empty(len(parts.starts)), np.empty(len(parts.starts))
    wide = np.empty(len(parts.starts), bool)
    for begin in range(0, len(values), steps.max_states):
        states = roots
        for level in part_levels(words, parts, slice(begin, begin + steps.max_states)):
            if level.symbols[0] >= 0:  # not at the roots
                states = steps.step(states, level.origins, level.symbols)
            rows, ended = states.rows.take(level.ended_at), begin + level.ended
            values[ended] = steps.read_rows(states, rows, readers, parts.readers.take(ended))
            log_scale[ended], wide[ended] = states.log_scale.take(rows), states.wide.take(rows)
    return _product_of_parts(values, log_scale, wide, parts.firsts)


def part_levels(words: Words, parts: WordParts, some: slice) -> Iterator[Level]:
    """Grow the prefix trees of some parts level by level; each group has a root, and the start."""
    starts, lengths, groups = parts.starts[some], parts.lengths[some], parts.groups[some]
    return grow(words, starts, lengths, roots=groups, by="symbol")


def word_parts(steps: StructuredSteps, words: Words) -> WordParts:
    """Cut words after their forgetful transitions.

    Over one symbol that is always forgotten, each letter is a part, and the end:

    >>> from seqray.automata.generators import random_structured
    >>> wa = random_structured("a", 2, seed=0, remembering=0)
    >>> word_parts(StructuredSteps(wa.blocks), wa.alphabet.words(["aa", ""])).readers
    array([0, 0, 1, 1])
    """
    grouping, pairs = steps.grouping, _pairs(steps.grouping, words)
    cuts = np.flatnonzero(steps.matrix_of_pair.take(pairs) < 0)
    n_cuts = np.searchsorted(cuts, words.offsets)  # before each word
    firsts, lasts = n_cuts[:-1] + np.arange(len(words)), n_cuts[1:] + np.arange(len(words))
    inner = np.arange(len(cuts)) + np.repeat(np.arange(len(words)), np.diff(n_cuts))
    n_parts = len(words) + len(cuts)
    starts, ends = np.empty(n_parts, np.int64), np.empty(n_parts, np.int64)
    groups, readers = np.full(n_parts, grouping.n_groups), np.full(n_parts, grouping.n_symbols)
    starts[firsts], ends[lasts] = words.offsets[:-1], words.offsets[1:]
    starts[inner + 1], ends[inner] = cuts + 1, cuts
    groups[inner + 1], readers[inner] = steps.targets.take(pairs.take(cuts)), words.codes.take(cuts)
    return WordParts(starts, ends - starts, groups, readers, firsts)


def _pairs(grouping: Grouping, words: Words) -> IntArray:
    """Return the pair of group and symbol at each letter of the words."""
    targets, n_symbols = grouping.next_group.ravel(), grouping.n_symbols
    pairs = np.empty(len(words.codes), np.int64)
    # Longest words first, so that those still being read are always a leading slice.
    order = sort_codes(words.lengths.max(initial=0) - words.lengths)
    cursor, groups = words.offsets[order], np.full(len(words), grouping.start)
    n_longer = len(words) - np.cumsum(np.bincount(words.lengths, minlength=1))
    for n_active in n_longer[:-1].tolist():
        here = cursor[:n_active]
        read = groups[:n_active] * n_symbols + words.codes.take(here)
        pairs[here] = read
        groups = targets.take(read)
        here += 1
    return pairs


def _product_of_parts(
    values: FloatArray, log_scale: FloatArray, wide: BoolArray, firsts: IntArray
) -> WordProducts:
    """Return products of the parts' values; in logarithms where they leave the range of float64."""
    logs = np.log(np.abs(np.where(values == 0, 1.0, values)))
    scales, any_wide = np.add.reduceat(log_scale, firsts), np.logical_or.reduceat(wide, firsts)
    is_near = np.add.reduceat(np.abs(logs), firsts) < MAX_LOG_PRODUCT
    with np.errstate(over="ignore"):
        products = np.multiply.reduceat(values, firsts)
    if not is_near.all():
        products = np.where(is_near, products, np.multiply.reduceat(np.sign(values), firsts))
        scales += np.where(is_near, 0, np.add.reduceat(logs, firsts))
    return WordProducts(products, scales, any_wide)
