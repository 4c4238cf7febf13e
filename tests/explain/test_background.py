from itertools import product

import numpy as np
import pytest

from automata import FIGURE_1
from seqray import Alphabet, WeightedAutomaton
from seqray.automata.generators import random_automaton, random_machine
from seqray.explain.background import Background, expected_counts, expected_visits
from seqray.util.errors import ArgumentError


def all_words(alphabet, length):
    return alphabet.words([word for n in range(length + 1) for word in product(alphabet, repeat=n)])


def test_an_automaton_expects_what_the_sum_over_words_says():
    machine = WeightedAutomaton(
        "ab", [0.5, 0.5], [[[0.1, 0], [0.05, 0.05]], [[0, 0.1], [0.2, 0]]], [0.8, 0.7]
    )
    words = all_words(machine.alphabet, 12)
    counts = np.array([[word.count(s) for s in "ab"] for word in words])
    np.testing.assert_allclose(expected_counts(machine), machine.weights(words) @ counts, 1e-6)
    np.testing.assert_allclose(expected_visits(FIGURE_1) @ FIGURE_1.final, 1)


def test_frequencies_and_bigrams_of_an_automaton_are_those_of_its_words():
    machine = random_machine("pfa", 4, 3, seed=np.random.default_rng(2))
    words = machine.sample(50_000, seed=np.random.default_rng(0)).words
    for make in (Background.frequencies, Background.bigrams):
        exact, counted = make(machine), make(words)
        np.testing.assert_allclose(exact.initial, counted.initial, atol=0.01)
        if make is Background.bigrams:
            np.testing.assert_allclose(exact.transitions, counted.transitions, atol=0.02)


def test_states_that_never_stop_count_nothing():
    # The second state reads b for ever.
    wa = WeightedAutomaton("ab", [1, 0], [[[0.5, 0], [0, 0]], [[0, 0.25], [0, 1]]], [0.25, 0])
    np.testing.assert_allclose(expected_visits(wa) @ wa.prefix_final, 1)
    np.testing.assert_allclose(expected_counts(wa), [0.5, 0], atol=1e-12)


@pytest.mark.parametrize("make", [Background.frequencies, Background.bigrams])
def test_an_automaton_that_does_not_sum_expects_every_symbol_alike(make):
    wa = random_automaton(3, 4, seed=np.random.default_rng(0))
    assert not wa.is_distribution
    background = make(wa)
    assert background.initial.tolist() == [0.25] * 4
    assert background.transitions is None or (background.transitions == 0.25).all()


def test_no_chance_is_0():
    wa = WeightedAutomaton("abc", [1], [[[0.5]], [[0]], [[0]]], [0.5])
    for make in (Background.frequencies, Background.bigrams):
        for source in (wa, wa.alphabet.words(["a", "", "aa"])):
            background = make(source)
            assert background.initial.min() > 0
            if background.transitions is not None:
                assert background.transitions.min() > 0
                np.testing.assert_allclose(background.transitions.sum(axis=1), 1)


def test_bigrams_do_not_reach_from_word_to_word():
    background = Background.bigrams(Alphabet("ab").words(["aa", "", "bb", "b"]))
    np.testing.assert_allclose(background.initial, [1.5 / 4, 2.5 / 4])
    np.testing.assert_allclose(background.transitions, [[0.75, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize(
    ("probabilities", "problem"),
    [([0.5, 0.6], "sums from 1.1"), ([1.5, -0.5], "a smallest one of -0.5"), ([1], "shape")],
)
def test_what_is_no_distribution_is_refused(probabilities, problem):
    with pytest.raises(ArgumentError, match=problem):
        Background.independent("ab", probabilities)


def test_many_symbols_are_shown_in_part():
    assert repr(Background.uniform(range(9))).endswith("2 0.111, 3 0.111, …)")
    assert Background.uniform("ab").is_independent
