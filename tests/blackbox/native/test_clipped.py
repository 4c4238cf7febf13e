import numpy as np

from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.blackbox.native.clipped import clipped

ODD = WeightedAutomaton("ab", [1], [[[0.6]], [[-0.1]]], [0.5])


def test_a_true_distribution_stays_as_it_is():
    machine = random_machine("pfa", 4, 3, seed=0)
    words = machine.sample(50, seed=1).words
    words = getattr(words, "words", words)
    np.testing.assert_allclose(clipped(machine).weights(words), machine.weights(words), rtol=1e-9)


def test_negative_weights_count_as_impossible_and_the_rest_sums_to_one():
    box = clipped(ODD)
    rows = box.next_symbol(["", "a", "aa"])
    assert (rows[:, 1] == 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert box.weights(["b", "ab"]).tolist() == [0, 0]


def test_all_words_together_weigh_one():
    box = clipped(ODD)
    total = box.weights(["a" * n for n in range(200)]).sum()
    np.testing.assert_allclose(total, 1)


def test_it_says_what_it_is():
    assert repr(clipped(ODD)) == "ClippedAutomaton(1 states, 2 symbols)"
