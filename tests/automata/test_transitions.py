"""Transitions as a graph."""

import numpy as np
import pytest

from automata import FIGURE_1
from seqray import Alphabet, ArgumentError
from seqray.automata.transitions import EdgeBlock, graph_arrays, listed


def test_transitions_are_listed_by_symbol_origin_and_target():
    moves = FIGURE_1.listed()
    codes, origins, targets = np.nonzero(FIGURE_1.transitions)
    assert moves.codes.tolist() == codes.tolist()
    assert moves.origins.tolist() == origins.tolist()
    assert moves.targets.tolist() == targets.tolist()
    assert moves.weights.tolist() == FIGURE_1.transitions[codes, origins, targets].tolist()


def test_small_weights_can_be_left_out():
    assert [weight for *_, weight in FIGURE_1.listed(0.3).edges()] == [1 / 2, 1 / 3]


def test_no_block_has_no_transitions():
    assert [len(each) for each in listed([])] == [0, 0, 0, 0]


def test_chosen_transitions_come_in_order():
    block = EdgeBlock(0, 2, 5, np.array([[1.0, 2.0]]))
    assert [*listed([block]).chosen(np.array([1, 0])).edges()] == [(0, 2, 6, 2.0), (0, 2, 5, 1.0)]


def test_a_graph_has_its_arrays():
    start, matrices, stop = graph_arrays(Alphabet("a"), 2, {0: 1}, [(0, "a", 1, 0.5)], {1: 2})
    assert (start.tolist(), stop.tolist()) == ([1, 0], [0, 2])
    assert matrices.tolist() == [[[0, 0.5], [0, 0]]]


def test_a_state_that_does_not_exist_is_refused():
    with pytest.raises(ArgumentError, match="edges: state 2 is outside 2 states"):
        graph_arrays(Alphabet("a"), 2, {}, [(0, "a", 2, 0.5)], {})
