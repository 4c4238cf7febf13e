import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.explain.probabilistic_naming import named_probabilistic, used_states
from seqray.util.errors import ArgumentError

DEAD_END = WeightedAutomaton(
    "ab",
    [1, 0, 0],
    [[[0.2, 0.3, 0], [0.1, 0.2, 0], [0, 0, 0]], [[0.1, 0.1, 0], [0.2, 0.1, 0], [0, 0, 0]]],
    [0.3, 0.4, 1],
)


def test_states_that_no_word_reaches_are_not_used():
    assert used_states(DEAD_END).tolist() == [True, True, False]


@pytest.mark.parametrize("weight", [-0.1, 3.0])
def test_negative_or_growing_weights_have_no_used_states(weight):
    assert used_states(WeightedAutomaton("a", [1], [[[weight]]], [1])) is None


def test_states_are_kept_and_the_most_visited_comes_first():
    named = named_probabilistic(DEAD_END, used_states(DEAD_END), None)
    assert named.automaton.n_states == 2
    assert named.loss < 1e-12
    assert named.mass.tolist() == sorted(named.mass.tolist(), reverse=True)
    assert named.mass.sum() == pytest.approx(1)
    np.testing.assert_allclose(named.automaton.prefix_final, 1)


def test_a_state_is_named_after_a_frequent_prefix_rather_than_a_short_rare_one():
    rare = 1e-6
    leads_a = [[0, 0.9 - rare, 0], [0, 0, 0.9], [0, 0, 0.5]]
    leads_b = [[0, 0, rare], [0, 0, 0], [0, 0, 0]]
    wa = WeightedAutomaton("ab", [1, 0, 0], [leads_a, leads_b], [0.1, 0.1, 0.5])
    named = named_probabilistic(wa, used_states(wa), None)
    assert sorted("".join(prefix) for prefix in named.prefixes) == ["", "a", "aa"]
    assert named.shares.tolist() == [1, 1, 1]


def test_every_state_needs_a_prefix_of_its_own():
    with pytest.raises(ArgumentError, match="one per state, got 1"):
        named_probabilistic(DEAD_END, used_states(DEAD_END), DEAD_END.alphabet.words([()]))
