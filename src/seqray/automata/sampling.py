"""Words drawn at random: from what a stepper predicts, or uniformly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.stepper import PredictingStepper
from seqray.automata.tree import distinct_keys, sort_codes
from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError
from seqray.util.random import Seed, random_generator

MAX_NUMBERS_AT_ONCE = 2**20
"""Probabilities that are searched for drawn symbols at once."""


class Sample(NamedTuple):
    """Words drawn at random, and how many of them were cut because they had not ended."""

    words: Words
    n_cut: int


def sample(
    stepper: PredictingStepper, n_words: int, *, seed: Seed = 0, max_length: int = 1000
) -> Sample:
    """Draw words symbol by symbol; see `seqray.sample`, which also opens automata.

    Equal prefixes are stepped once.
    """
    rng = random_generator(seed)
    if not all(hasattr(stepper, name) for name in ("start", "step", "state_next_symbol")):
        raise ArgumentError(
            f"stepper: expected something that predicts next symbols, got {stepper!r}"
        )
    for name, number in (("n_words", n_words), ("max_length", max_length)):
        if number < 0:
            raise ArgumentError(f"{name}: expected 0 or more, got {number}")
    n_symbols = len(stepper.alphabet)
    alive: IntArray = np.arange(n_words)
    node: IntArray = np.zeros(n_words, np.int64)
    states = stepper.start()
    drawn: list[tuple[IntArray, IntArray]] = []
    while len(alive) and len(drawn) < max_length:
        sums = np.clip(stepper.state_next_symbol(states), 0, None)
        np.cumsum(sums, axis=1, out=sums)
        n_nodes = len(sums)
        symbol = _places(sums, node, rng.random(len(alive)) * sums[node, -1])
        goes_on = symbol < n_symbols
        alive, node, symbol = alive[goes_on], node[goes_on], symbol[goes_on]
        drawn.append((alive, symbol))
        if not len(alive):
            break
        keys, node = distinct_keys(node * n_symbols + symbol, n_nodes * n_symbols)
        states = stepper.step(states, keys // n_symbols, keys % n_symbols)
    owners = np.concatenate([owner for owner, _ in drawn] or [alive[:0]])
    letters = np.concatenate([symbol for _, symbol in drawn] or [alive[:0]])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_words))])
    words = Words(stepper.alphabet, letters[sort_codes(owners)], offsets)
    return Sample(words, len(alive))


def _places(sums: FloatArray, rows: IntArray, values: FloatArray) -> IntArray:
    """Return where values stand among the rising sums of some rows, a few rows at a time."""
    size = max(1, MAX_NUMBERS_AT_ONCE // sums.shape[1])
    places = np.empty(len(rows), np.int64)
    for begin in range(0, len(rows), size):
        here = slice(begin, begin + size)
        places[here] = (sums[rows[here]] <= values[here, None]).sum(axis=1)
    return places


def uniform_words(
    alphabet: Alphabet,
    n_words: int,
    *,
    seed: Seed,
    max_length: int,
    min_length: int = 1,
) -> Words:
    """Draw words of uniform length from ``min_length`` to ``max_length`` and uniform symbols.

    Examples
    --------
    >>> uniform_words(Alphabet("ab"), 3, seed=np.random.default_rng(0), max_length=4)
    Words(3 words over 2 symbols: aaaa, aab, bbb)
    """
    rng = random_generator(seed)
    whole_number("max_length", max_length, 1)
    lengths = rng.integers(min_length, max_length + 1, n_words)
    codes = rng.integers(0, len(alphabet), int(lengths.sum()), dtype=np.int32)
    return Words(alphabet, codes, np.concatenate([[0], np.cumsum(lengths)]))
