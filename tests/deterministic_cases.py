"""Deterministic automata for tests: languages, random machines, and what to compare them by."""

import itertools
import re

import numpy as np

import seqray
from seqray.automata.deterministic import breadth_first, deterministic_pfa

TOMITA = {
    1: lambda word: "0" not in word,
    2: lambda word: re.fullmatch("(10)*", word) is not None,
    3: lambda word: re.search("(^|0)1(11)*0(00)*(1|$)", word) is None,
    4: lambda word: "000" not in word,
    5: lambda word: word.count("0") % 2 == 0 and word.count("1") % 2 == 0,
    6: lambda word: (word.count("0") - word.count("1")) % 3 == 0,
    7: lambda word: re.fullmatch("0*1*0*1*", word) is not None,
}
TOMITA_SIZES = {1: 2, 2: 3, 3: 5, 4: 4, 5: 4, 6: 3, 7: 5}


def all_words(symbols, max_length):
    """Return every word up to a length, the short ones first."""
    return [
        "".join(word)
        for n in range(max_length + 1)
        for word in itertools.product(symbols, repeat=n)
    ]


def decider(accepts, alphabet="01"):
    """Return a box that says 1 or 0."""
    return seqray.black_box(lambda words: [float(accepts(word)) for word in words], alphabet)


def random_pdfa(n_states, n_symbols, seed, zeros=0.0):
    """Draw a PDFA whose states can all be reached; ``zeros`` is the share of impossible symbols."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, n_states, (n_states, n_symbols))
    rows = rng.random((n_states, n_symbols + 1)) + 0.05
    rows[:, :-1][rng.random((n_states, n_symbols)) < zeros] = 0
    rows /= rows.sum(axis=1, keepdims=True)
    order = breadth_first(table, 0)
    place = np.zeros(n_states, np.int64)
    place[order] = np.arange(len(order))
    return deterministic_pfa(range(n_symbols), place[table[order]], rows[order])


def same_predictions(a, b, n_words=500, max_length=20):
    """Whether two automata predict the same after all prefixes of words drawn from the first."""
    words = a.sample(n_words, seed=9, max_length=max_length).words
    return np.allclose(a.next_symbol(words), b.next_symbol(words), rtol=0, atol=1e-12)
