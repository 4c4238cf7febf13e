import itertools

import numpy as np

from growing import blocks_of, rare_machine
from seqray import black_box
from seqray.extraction.hankel.heavy_words import heavy_words, long_words, typical_words
from told import rng


def test_heavy_words_come_as_often_as_they_weigh_and_then_every_length_alike():
    box = black_box(lambda words: [(0.1 if "b" in w else 0.5) ** len(w) for w in words], "ab")
    blocks = blocks_of(box, 15, 15)
    rows = blocks.tree.words()
    words = rows.followed_by(blocks.basis.suffixes)
    weights = np.abs(blocks.values).ravel()
    drawn = list(itertools.islice(heavy_words(blocks, seed=rng()), 80))
    plain, even = drawn[::2], drawn[1::2]
    for batches, probabilities in (
        (plain, weights),
        (even, weights / np.bincount(words.lengths, weights)[words.lengths]),
    ):
        drawn = [word for batch in batches for word in batch]
        for wanted in ([], ["a"], ["a"] * 4, ["b", "a"]):
            which = np.array([list(word) == wanted for word in words])
            share = probabilities[which].sum() / probabilities.sum()
            found = np.mean([list(word) == wanted for word in drawn])
            assert abs(found - share) < 5 * np.sqrt(share / len(drawn)) + 1e-3


def test_where_all_words_weigh_nothing_there_are_no_heavy_words():
    blocks = blocks_of(black_box(lambda words: [0] * len(words), "ab"))
    assert not list(heavy_words(blocks, seed=rng()))
    assert not len(typical_words(blocks, lambda words: np.zeros(len(words)), 9, seed=rng()))


def test_typical_words_weigh_something_and_are_longer_than_known_ones():
    machine = rare_machine()
    blocks = blocks_of(machine)
    words = typical_words(blocks, machine.weights, 300, seed=rng())
    assert len(words) == 300
    assert (machine.weights(words) > 0).all()
    known = blocks.tree.words().followed_by(blocks.basis.suffixes)
    longest = known.lengths[blocks.values.ravel() > 0].max()
    assert words.lengths.max() > longest


def test_long_words_weigh_something_and_are_longer_than_given_ones():
    machine = rare_machine()
    words = typical_words(blocks_of(machine), machine.weights, 100, seed=rng())
    longer = long_words(words, machine.weights, 50, seed=rng(), max_length=80)
    assert 0 < len(longer) <= 50
    assert words.lengths.max() < longer.lengths.min()
    assert longer.lengths.max() <= 80
    assert (machine.weights(longer) > 0).all()
    assert not len(long_words(words[:0], machine.weights, 5, seed=rng(), max_length=80))
