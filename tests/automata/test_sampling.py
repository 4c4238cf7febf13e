"""Words drawn at random."""

from collections import Counter

import numpy as np
import pytest

from automata import FIGURE_1, Endless
from seqray import WeightedAutomaton
from seqray.automata.sampling import sample, uniform_words
from seqray.automata.words import Alphabet
from seqray.util.errors import ArgumentError


def test_words_are_drawn_as_often_as_they_weigh():
    n = 50_000
    words, n_cut = sample(FIGURE_1, n, seed=np.random.default_rng(0))
    assert (len(words), n_cut) == (n, 0)
    seen = Counter("".join(word) for word in words)
    for word in ("a", "b", "ab", "bb", "aab", "bab"):
        probability = FIGURE_1.weight(word)
        assert abs(seen[word] - n * probability) < 5 * np.sqrt(n * probability * (1 - probability))
    assert seen[""] == 0


def test_the_same_seed_draws_the_same_words():
    first, second = (sample(FIGURE_1, 50, seed=np.random.default_rng(3))[0] for _ in range(2))
    other = sample(FIGURE_1, 50, seed=np.random.default_rng(4))[0]
    assert first == second != other


def test_words_that_do_not_end_are_cut_and_reported():
    stepper = Endless()
    words, n_cut = sample(stepper, 100, seed=np.random.default_rng(0), max_length=7)
    assert words.lengths.tolist() == [7] * 100
    assert n_cut == 100
    assert stepper.n_steps == 7  # a hundred equal prefixes are stepped once
    words, n_cut = sample(FIGURE_1, 1000, seed=np.random.default_rng(0), max_length=3)
    assert words.lengths.max() == 3
    assert n_cut == (words.lengths == 3).sum() > 0
    words, n_cut = sample(FIGURE_1, 5, seed=np.random.default_rng(0), max_length=0)
    assert (words.lengths.tolist(), n_cut) == ([0] * 5, 5)


def test_negative_probabilities_count_as_0():
    wa = WeightedAutomaton("ab", [1], [[[0.5]], [[-0.25]]], [0.75])
    words, _ = sample(wa, 1000, seed=np.random.default_rng(0))
    letters = Counter(letter for word in words for letter in word)
    assert letters["b"] == 0
    assert letters["a"] > 500


def test_a_word_ends_where_nothing_can_follow():
    class Dead(Endless):
        def state_next_symbol(self, states):
            return np.zeros((len(states), 3))

    words, n_cut = sample(Dead(), 4, seed=np.random.default_rng(0))
    assert (words.lengths.tolist(), n_cut) == ([0] * 4, 0)


def test_no_words_and_fewer_than_none():
    words, n_cut = sample(FIGURE_1, 0, seed=np.random.default_rng(0))
    assert (len(words), n_cut) == (0, 0)
    with pytest.raises(ArgumentError, match="n_words: expected 0 or more, got -1"):
        sample(FIGURE_1, -1, seed=np.random.default_rng(0))


def test_uniform_words_have_every_length_and_symbol():
    words = uniform_words(Alphabet("ab"), 500, seed=0, max_length=3)
    assert set(words.lengths.tolist()) == {1, 2, 3}
    assert set(words.codes.tolist()) == {0, 1}
    assert words == uniform_words(Alphabet("ab"), 500, seed=0, max_length=3)
