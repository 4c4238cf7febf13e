import numpy as np
import pytest

import seqray
from seqray import Alphabet, BlackBoxError, WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.automata.tree import PrefixTree
from seqray.fidelity.answers import read_answers

MACHINE = random_machine("pfa", 3, 2, seed=0)
WORDS = MACHINE.alphabet.words([[], [0, 1], [0], [0, 1]])
TREE = PrefixTree.of(WORDS)


def test_an_automaton_gives_weights_and_next_symbols():
    answers = read_answers(MACHINE, TREE, with_next=True)
    np.testing.assert_allclose(answers.weights, MACHINE.weights(WORDS))
    np.testing.assert_allclose(answers.next_symbol.T, MACHINE.next_symbol(TREE.words()))


def test_next_symbols_are_left_out_where_they_are_not_needed():
    answers = read_answers(MACHINE, TREE, with_next=False)
    assert answers.next_symbol is None
    np.testing.assert_allclose(answers.weights, MACHINE.weights(WORDS))


def test_a_function_is_queried_for_each_distinct_word_once():
    queried = []

    def lengths(words):
        queried.extend(words)
        return [len(word) for word in words]

    box = seqray.black_box(lengths, Alphabet([0, 1]))
    answers = read_answers(box, TREE, with_next=True)
    assert answers.weights.tolist() == [0, 2, 1, 2]
    assert answers.next_symbol is None
    assert len(queried) == 3


def test_weights_of_an_automaton_that_overflow_are_cut():
    huge = WeightedAutomaton("a", [1e300], [[[1e10]]], [1])
    tree = PrefixTree.of(huge.alphabet.words(["a" * 9]))
    assert read_answers(huge, tree, with_next=False).weights.tolist() == [np.finfo(float).max]


def test_a_box_that_answers_nonsense_is_named_with_the_word():
    class Odd:
        alphabet = Alphabet("ab")

        def weights(self, words):
            return np.full(len(words), np.nan)

    tree = PrefixTree.of(Alphabet("ab").words(["ab"]))
    with pytest.raises(BlackBoxError, match="the Odd returned nan for the word 'ab'"):
        read_answers(Odd(), tree, with_next=False)
