import pytest

from seqray import WeightedAutomaton
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.table import Fidelity
from structured_cases import random_case


@pytest.fixture
def copy():
    return Copy(random_case(3, max_size=4), Fidelity({"kl_per_symbol": 0.5, "ndcg5": 0.9}, 2, 9))


def test_a_copy_has_the_size_of_its_automaton(copy):
    assert copy.n_states == copy.automaton.n_states
    assert copy.cost == copy.automaton.cost_per_symbol
    assert copy.n_bytes == copy.automaton.n_bytes
    assert repr(copy) == f"Copy({copy.automaton!r}, score {copy.fidelity.score:.6g})"


def test_a_dense_automaton_costs_the_square_of_its_states():
    dense = WeightedAutomaton("ab", [1, 0], [[[0.5, 0], [0, 0.5]]] * 2, [0, 0])
    assert Copy(dense, Fidelity({"ndcg5": 1.0}, 1, 1)).cost == 4


@pytest.mark.parametrize(
    ("more_cost", "more_states", "is_within"),
    [
        *[(None, None, True), (0, None, True), (None, 0, True), (0, 0, True), (5, 5, True)],
        *[(-1, None, False), (None, -1, False), (0, -1, False), (-1, 0, False)],
    ],
)
def test_limits_may_be_reached_but_not_exceeded(copy, more_cost, more_states, is_within):
    max_cost = None if more_cost is None else copy.cost + more_cost
    max_states = None if more_states is None else copy.n_states + more_states
    assert copy.is_within(max_cost, max_states) == is_within


def test_nothing_is_within_0(copy):
    assert not copy.is_within(0, None)
    assert not copy.is_within(None, 0)
