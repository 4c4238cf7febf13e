"""The answers of one side: the cheapest method that a box allows, and only usable numbers."""

import numpy as np
import pytest

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.tree import PrefixTree
from seqray.blackbox.native.function import black_box
from seqray.fidelity.answers import Answers, StateReader, checked, read_answers
from seqray.util.errors import BlackBoxError


class Stepping:
    """A stepper that hides how an automaton reads weights and next symbols at once."""

    def __init__(self, inner):
        self.alphabet, self.start, self.step = inner.alphabet, inner.start, inner.step
        self.state_weights, self.state_next_symbol = inner.state_weights, inner.state_next_symbol


@pytest.fixture
def tree(words):
    return PrefixTree.of(words)


def test_every_kind_of_box_gives_the_same_answers(box, words, tree):
    assert isinstance(box, StateReader)
    assert not isinstance(Stepping(box), StateReader)
    expected = box.next_symbol(tree.words()).T
    for each in (box, Stepping(box)):
        answers = read_answers(each, tree, with_next=True)
        np.testing.assert_allclose(answers.weights, box.weights(words), rtol=1e-12)
        np.testing.assert_allclose(answers.next_symbol, expected, rtol=1e-12)


def test_next_symbols_are_left_out_where_they_are_not_wanted_or_not_there(box, words, tree):
    only_weights = black_box(box.weights, "abc")
    for each, with_next in ((box, False), (only_weights, True)):
        answers = read_answers(each, tree, with_next=with_next)
        assert answers.next_symbol is None
        np.testing.assert_allclose(answers.weights, box.weights(words), rtol=1e-12)


def test_each_distinct_word_is_queried_once(box):
    queried = []

    def weights(batch):
        queried.extend(batch)
        return box.weights(batch)

    tree = PrefixTree.of(box.alphabet.words(["a", "b", "a"]))
    answers = read_answers(black_box(weights, "abc"), tree, with_next=True)
    assert sorted(queried) == ["a", "b"]
    assert answers.weights[0] == answers.weights[2]


def test_an_automaton_that_overflows_is_cut_and_another_box_refused():
    wild = WeightedAutomaton("a", [1.0], [[[1e200]]], [1.0])
    tree = PrefixTree.of(wild.alphabet.words(["aaa"]))
    assert np.isfinite(read_answers(wild, tree, with_next=False).weights).all()
    with pytest.raises(BlackBoxError, match="returned inf for the word 'aaa'"):
        read_answers(Stepping(wild), tree, with_next=False)


def test_answers_that_are_no_numbers_are_named(tree):
    weights = np.zeros(len(tree.node_of_word))
    assert checked(Answers(weights, None), tree, "the box").next_symbol is None
    broken = np.full((4, len(tree)), 0.25)
    broken[1, 0] = np.nan
    with pytest.raises(BlackBoxError, match="the box returned nan for the word 'λ'"):
        checked(Answers(weights, broken), tree, "the box")
