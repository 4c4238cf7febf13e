from collections import Counter
from itertools import product

import numpy as np
import pytest

from automata import FIGURE_1
from seqray import WeightedAutomaton
from seqray.automata.sampling import sample
from seqray.automata.stepper import PredictingStepper, Stepper, collect, predicts
from seqray.automata.tree import PrefixTree
from seqray.util.errors import ArgumentError


class Endless:
    """A stepper that never stops, and counts what it is asked."""

    alphabet = FIGURE_1.alphabet

    def __init__(self):
        self.n_steps = 0

    def start(self):
        return np.zeros(1)

    def step(self, states, parents, symbols):
        self.n_steps += len(parents)
        return states[parents]

    def state_weights(self, states):
        return states

    def state_next_symbol(self, states):
        return np.tile([1.0, 0.0, 0.0], (len(states), 1))


def test_an_automaton_is_a_stepper_that_predicts():
    assert isinstance(FIGURE_1, Stepper)
    assert isinstance(FIGURE_1, PredictingStepper)
    assert isinstance(Endless(), PredictingStepper)
    assert not isinstance(object(), Stepper)


@pytest.mark.parametrize(
    ("scale", "meaningful"),
    [(1, True), (1.09, True), (0.91, True), (1.11, False), (0.89, False), (3, False), (-1, False)],
)
def test_an_automaton_predicts_where_its_words_weigh_about_one(scale, meaningful):
    wa = WeightedAutomaton("ab", FIGURE_1.initial * scale, FIGURE_1.transitions, FIGURE_1.final)
    assert wa.total == pytest.approx(scale)
    assert isinstance(wa, PredictingStepper)
    assert predicts(wa) is wa.is_distribution is meaningful


@pytest.mark.parametrize("weight", [1, 1.5, -2])
def test_an_automaton_whose_words_have_no_sum_does_not_predict(weight):
    assert predicts(WeightedAutomaton("a", [1], [[[weight]]], [1])) is False


def test_other_boxes_predict_if_they_can_say_what_follows():
    class Weighing:
        alphabet = FIGURE_1.alphabet
        start, step, state_weights = Endless.start, Endless.step, Endless.state_weights

    assert predicts(Endless())
    assert not predicts(Weighing())
    assert not predicts(object())


def test_collected_rows_are_in_the_order_of_the_nodes():
    words = ["".join(w) for n in range(6) for w in product("ab", repeat=n)]
    tree = PrefixTree.of(FIGURE_1.alphabet.words(words))
    weights = collect(FIGURE_1, tree, FIGURE_1.state_weights)
    np.testing.assert_allclose(weights, [FIGURE_1.weight(w) for w in tree.words()], rtol=1e-12)
    rows = collect(FIGURE_1, tree, FIGURE_1.state_next_symbol)
    assert rows.shape == (len(tree), 3)


def test_the_root_alone_is_collected():
    tree = PrefixTree.of(FIGURE_1.alphabet.words([]))
    assert collect(FIGURE_1, tree, FIGURE_1.state_weights).tolist() == [0]


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


def test_negative_chances_count_as_none():
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
