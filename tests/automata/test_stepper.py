from itertools import product

import numpy as np
import pytest

from automata import FIGURE_1, Endless
from seqray import WeightedAutomaton
from seqray.automata.stepper import PredictingStepper, Stepper, collect, predicts
from seqray.automata.tree import PrefixTree


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
