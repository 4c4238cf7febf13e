import numpy as np
import pytest

from seqray import ArgumentError, WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.explain.probabilistic_naming import named_probabilistic, used_states


def test_states_that_no_word_passes_are_not_used():
    transitions = np.zeros((1, 3, 3))
    transitions[0, 0, 1] = 0.5  # the third state is never reached
    wa = WeightedAutomaton("a", [1, 0, 0], transitions, [0.5, 1, 1])
    assert used_states(wa).tolist() == [True, True, False]


def test_without_probabilities_no_state_is_kept():
    assert used_states(WeightedAutomaton("a", [1], [[[-0.5]]], [1])) is None
    assert used_states(WeightedAutomaton("a", [1], [[[2]]], [1])) is None


def test_states_are_kept_and_stand_in_the_order_of_their_mass():
    machine = random_machine("pfa", 5, 3, seed=2)
    named = named_probabilistic(machine, used_states(machine), None)
    assert named.automaton.n_states == 5
    assert (np.diff(named.mass) <= 0).all()
    assert named.mass.sum() == pytest.approx(1)
    assert named.loss < 1e-12
    assert len(set(named.prefixes)) == 5


def test_there_has_to_be_a_prefix_for_each_state():
    machine = random_machine("pfa", 3, 2, seed=0)
    few = machine.alphabet.words([[], []])
    with pytest.raises(ArgumentError, match="at least 3 different prefixes, one per state, got 1"):
        named_probabilistic(machine, used_states(machine), few)
