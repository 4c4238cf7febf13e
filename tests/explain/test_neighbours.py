import numpy as np

from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.explain.neighbours import OneEditWords
from seqray.fidelity.reference import Reference

MACHINE = random_machine("pfa", 4, 3, seed=1)
WORD = tuple(MACHINE.alphabet.symbols[i] for i in (0, 1, 2))
COUNTS = WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]], [[1, -1], [0, 1]]], [0, 1])


def test_words_are_shown_whose_answer_is_another():
    edited = OneEditWords.of(MACHINE, WORD, 5, None)
    weight = MACHINE.weight(WORD)
    neighbours = edited.neighbours(None)
    assert neighbours
    assert WORD not in {each.word for each in neighbours}
    for each in neighbours:
        assert each.weight != weight
        assert abs(len(each.word) - len(WORD)) <= 1
        assert np.isnan(each.box_weight)


def test_the_box_is_queried_for_the_word_and_what_is_shown():
    edited = OneEditWords.of(MACHINE, WORD, 4, None)
    queries = edited.queries()
    assert queries[0] == WORD
    assert {each.word for each in edited.neighbours(None)} <= set(queries)
    reference = Reference.query(MACHINE, queries)
    for each in edited.neighbours(reference):
        np.testing.assert_allclose(each.box_weight, each.weight, rtol=1e-9)


def test_an_automaton_that_does_not_predict_shows_heavier_and_lighter_words():
    neighbours = OneEditWords.of(COUNTS, ("a", "b"), 4, None).neighbours(None)
    weights = [each.weight for each in neighbours]
    assert min(weights) < COUNTS.weight("ab") < max(weights)
    assert all(np.isnan(each.distance) for each in neighbours)


def test_no_word_is_longer_than_allowed():
    neighbours = OneEditWords.of(COUNTS, ("a", "b"), 8, 2).neighbours(None)
    assert all(len(each.word) <= 2 for each in neighbours)
