"""Exact distances, against sums over all short words."""

import numpy as np
import pytest

import seqray
from automata import short_words
from classifier_boxes import remainder_automaton
from compared_pairs import chain, moved
from seqray.automata.generators import random_machine
from seqray.explain.difference.exact import MAX_EXACT_STATES, exact_distance


def all_weights(*automata, length=16):
    """Return the weights of all short words; longer ones weigh next to nothing."""
    words = short_words(automata[0], length)
    lengths = np.array([len(word) for word in words])
    return lengths, *(each.weights(words) for each in automata)


@pytest.fixture(scope="module")
def pair():
    return chain((0.7, 0.6), 0.2), chain((0.6, 0.7), 0.3)


def test_the_divergence_is_the_sum_over_all_words(pair):
    lengths, p, q = all_weights(*pair)
    both = (p * np.log2(p / q)).sum(), (q * np.log2(q / p)).sum()
    exact = exact_distance(*pair)
    assert exact.bits_per_word == pytest.approx(both, rel=1e-6)
    prefixes = (p @ (lengths + 1), q @ (lengths + 1))
    assert exact.bits_per_symbol == pytest.approx(np.divide(both, prefixes), rel=1e-6)


def test_the_l2_distance_is_the_sum_over_all_words(pair):
    _, p, q = all_weights(*pair)
    assert exact_distance(*pair).l2 == pytest.approx(np.sqrt(((p - q) ** 2).sum()), rel=1e-6)


def test_what_one_gives_and_the_other_never_does_is_infinitely_far():
    one, other = chain(), chain(to_second=0.0)
    exact = exact_distance(one, other)
    assert exact.bits_per_word[0] == np.inf
    assert exact.bits_per_symbol[0] == np.inf
    assert np.isfinite(exact.bits_per_word[1])


def test_the_same_function_in_other_coordinates_is_equivalent():
    machine = random_machine("pfa", 3, 2, seed=np.random.default_rng(1))
    exact = exact_distance(machine, moved(machine))
    assert exact.is_equivalent
    assert exact.l2 == 0
    assert exact.bits_per_word is None  # after a word both are in several states at once
    assert exact_distance(chain(), chain()).bits_per_word == (0, 0)


def test_machines_that_decide_have_a_shortest_word_that_separates_them():
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    trapped = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 2], [2, 2]], [1, 0, 1])
    exact = exact_distance(even, trapped)
    assert (exact.is_equivalent, exact.separating_word, exact.l2) == (False, ("a", "b"), None)
    assert exact_distance(even, even).is_equivalent


def test_nothing_exact_is_said_of_other_classifiers_or_of_many_states():
    assert exact_distance(remainder_automaton(), remainder_automaton()) is None
    n = MAX_EXACT_STATES
    large = seqray.WeightedAutomaton("a", np.eye(n)[0], [0.5 * np.eye(n)], np.full(n, 0.5))
    assert exact_distance(large, large) is None
