from collections import Counter

import numpy as np
import pytest

from seqray import Alphabet, ArgumentError, WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.automata.sampling import sample, uniform_words

COIN = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])


def test_words_come_as_often_as_they_weigh():
    words, n_cut = sample(COIN, 20_000, seed=0)
    counts = Counter(words)
    for word in [(), ("a",), ("a", "b"), ("a", "a", "a")]:
        assert counts[word] / 20_000 == pytest.approx(COIN.weight(word), abs=0.01)
    assert n_cut == 0


def test_a_seed_gives_the_same_words():
    machine = random_machine("pfa", 3, 2, seed=1)
    first, second = (sample(machine, 50, seed=2).words for _ in range(2))
    assert first == second
    assert first != sample(machine, 50, seed=3).words


def test_words_that_do_not_end_are_cut_and_counted():
    endless = WeightedAutomaton("a", [1], [[[1 - 1e-9]]], [1e-9])
    words, n_cut = sample(endless, 4, seed=0, max_length=7)
    assert (words.lengths == 7).all()
    assert n_cut == 4


@pytest.mark.parametrize("options", [{"n_words": -1}, {"n_words": 1, "max_length": -1}])
def test_negative_sizes_are_refused(options):
    with pytest.raises(ArgumentError, match="expected 0 or more, got -1"):
        sample(COIN, seed=0, **options)


def test_only_what_predicts_can_be_sampled():
    with pytest.raises(ArgumentError, match="predicts"):
        sample(object(), 1, seed=0)


def test_uniform_words_have_all_lengths_and_symbols():
    words = uniform_words(Alphabet("ab"), 2000, seed=0, max_length=4, min_length=2)
    lengths = np.bincount(words.lengths)
    assert lengths[:2].sum() == 0
    assert (abs(lengths[2:] / 2000 - 1 / 3) < 0.05).all()
    assert abs(np.mean(words.codes) - 0.5) < 0.05
