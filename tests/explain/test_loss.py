import numpy as np
import pytest

from seqray import Alphabet, WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.explain.loss import checked_words, weight_loss


def test_other_coordinates_lose_nothing():
    machine = random_machine("pfa", 4, 2, seed=0)
    change = np.diag([1.0, 2.0, 4.0, 8.0])
    other = WeightedAutomaton(
        machine.alphabet,
        machine.initial @ change,
        np.linalg.inv(change) @ machine.transitions @ change,
        np.linalg.inv(change) @ machine.final,
    )
    assert weight_loss(machine, machine) == 0
    assert weight_loss(machine, other) < 1e-12


def test_the_loss_is_relative_to_the_largest_weight():
    small = WeightedAutomaton("a", [1], [[[0.5]]], [1e-9])
    assert weight_loss(small, WeightedAutomaton("a", [1], [[[0.5]]], [1.5e-9])) == pytest.approx(
        0.5
    )


def test_an_automaton_without_weight_loses_what_the_other_adds():
    nothing = WeightedAutomaton("a", [0], [[[0.5]]], [1])
    assert weight_loss(nothing, nothing) == 0
    assert weight_loss(nothing, WeightedAutomaton("a", [3], [[[0.5]]], [1])) == 3


def test_weights_beyond_the_range_are_left_out():
    huge = WeightedAutomaton("a", [1e300], [[[1e10]]], [1])
    assert weight_loss(huge, huge) == 0


@pytest.mark.parametrize("n_symbols", [1, 2, 5, 30])
def test_words_of_every_length_are_checked_and_they_are_the_same_each_time(n_symbols):
    words = checked_words(Alphabet(range(n_symbols)))
    assert set(words.lengths) == set(range(9))
    assert len(words) <= 20_000
    assert words == checked_words(Alphabet(range(n_symbols)))
