from dataclasses import replace

import numpy as np
import pytest

from seqray import StructuredAutomaton
from seqray.automata.ranks import MIN_ENDING
from seqray.automata.words import Alphabet
from seqray.extraction.structured.build import to_automaton
from structured_fits import random_layout, random_numbers, random_words, slow_predictions

ALPHABET = Alphabet(range(2))
CASES = [(0, 1, False, 0.6), (1, 2, True, 0.5), (2, 3, False, 1.0), (3, 3, True, 0.0)]


def built(seed, n_classes, leaks, remembered):
    layout = random_layout(seed, n_classes=n_classes, leaks=leaks, remembered=remembered)
    logarithms = random_numbers(layout, seed)
    return layout, logarithms, to_automaton(ALPHABET, layout, logarithms)


@pytest.mark.parametrize("case", CASES)
def test_the_automaton_predicts_what_the_fit_does(case):
    layout, logarithms, automaton = built(*case)
    for word in random_words(20, seed=9, max_length=9):
        slow = slow_predictions(layout, logarithms, list(word))[:, : layout.n_symbols + 1]
        prefixes = [word[:n] for n in range(len(word) + 1)]
        np.testing.assert_allclose(automaton.next_symbol(prefixes), slow, rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_what_the_automaton_says_are_probabilities(case):
    layout, _, automaton = built(*case)
    assert isinstance(automaton, StructuredAutomaton)
    assert automaton.is_probabilistic
    assert (automaton.elsewhere is not None) == case[2] == (layout.n_outcomes == 4)
    np.testing.assert_array_equal(automaton.prefix_final, 1)
    leaks = 0 if automaton.elsewhere is None else automaton.elsewhere
    step_sum = automaton.step_sum
    rest = np.linalg.solve(np.eye(len(step_sum)) - step_sum, automaton.final + leaks)
    assert automaton.initial @ rest == pytest.approx(1)  # the weights of all words


def test_the_weights_of_words_sum_to_1():
    automaton = built(*CASES[0])[2]
    assert automaton.total == pytest.approx(1)
    assert automaton.is_distribution


def test_a_group_is_a_context_where_there_are_no_positions():
    layout, _, automaton = built(*CASES[0])
    reached = {layout.contexts.start}
    while True:
        more = reached | set(layout.contexts.next_context[list(reached)].ravel().tolist())
        if more == reached:
            break
        reached = more
    assert automaton.grouping.n_groups == len(reached)
    assert sorted(automaton.group_sizes) == sorted(layout.sizes[list(reached)])
    assert "pair_matrices" not in automaton.arrays


def test_groups_at_several_positions_of_a_class_share_matrices():
    layout = replace(random_layout(2, n_classes=2, remembered=1.0), position_begins=np.array([4]))
    logarithms = random_numbers(layout)
    automaton = to_automaton(ALPHABET, layout, logarithms)
    remembering = automaton.remembering
    assert len(np.unique(remembering.numbers)) < len(remembering)
    assert len(remembering.values) < remembering.shapes.prod(axis=1).sum()
    assert "pair_matrices" in automaton.arrays
    again = StructuredAutomaton.from_arrays(ALPHABET, automaton.arrays)
    words = random_words(20, seed=9)
    np.testing.assert_array_equal(again.weights(words), automaton.weights(words))
    for word in words:
        slow = slow_predictions(layout, logarithms, list(word))[-1]
        np.testing.assert_allclose(automaton.next_symbol([word])[0], slow, rtol=1e-9)


def test_every_state_ends_with_some_probability():
    layout = random_layout()
    logarithms = random_numbers(layout)
    logarithms.emission[:, layout.n_symbols] = -100
    automaton = to_automaton(ALPHABET, layout, logarithms)
    np.testing.assert_allclose(automaton.final, MIN_ENDING, rtol=1e-6)
    assert automaton.is_probabilistic
