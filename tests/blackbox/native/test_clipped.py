"""Automata that are nearly distributions, clipped to one."""

import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.automata.stepper import predicts
from seqray.blackbox.native.clipped import clipped

NEARLY = WeightedAutomaton("ab", [1], [[[0.6]], [[-0.1]]], [0.5])


def test_a_negative_next_symbol_becomes_impossible():
    box = clipped(NEARLY)
    np.testing.assert_allclose(box.next_symbol(["", "a"]), [[0.6 / 1.1, 0, 0.5 / 1.1]] * 2)
    assert box.weights(["b", "ab"]).tolist() == [0, 0]


def test_a_weight_is_the_product_of_its_next_symbols():
    box = clipped(NEARLY)
    np.testing.assert_allclose(box.weights(["", "aa"]), [0.5 / 1.1, 0.6**2 * 0.5 / 1.1**3])


def test_a_distribution_stays_as_it_is():
    coin = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    np.testing.assert_allclose(clipped(coin).weights(["", "aa"]), coin.weights(["", "aa"]))


def test_it_is_a_box_that_predicts():
    assert predicts(clipped(NEARLY))
    assert repr(clipped(NEARLY)) == "ClippedAutomaton(1 states, 2 symbols)"


@pytest.mark.parametrize("words", [[""], ["a"], ["ba", "ab"]])
def test_no_weight_is_below_zero(words):
    assert (clipped(NEARLY).weights(words) >= 0).all()
