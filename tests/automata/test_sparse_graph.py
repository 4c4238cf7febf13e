"""Automata from graphs: the same weights, and structured where the graph is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FIGURE_1, short_words
from seqray import FileError, StructuredAutomaton, deterministic_pfa
from seqray.automata import sparse_graph
from seqray.automata.generators import random_structured
from seqray.automata.sparse_graph import automaton_of_graph, finest_groups
from seqray.automata.words import Alphabet


def of_graph(wa, order=None, **options):
    """Return an automaton of the graph of another one, its states in another order."""
    order = np.arange(wa.n_states) if order is None else order
    place = np.argsort(order)
    codes, origins, targets, weights = moves = wa.listed()
    moves = type(moves)(codes, place[origins], place[targets], weights)
    leak = None if wa.elsewhere is None else wa.elsewhere[order]
    vectors = wa.initial[order], moves, wa.final[order], leak
    return automaton_of_graph(wa.alphabet, *vectors, **options)


@given(st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=25)
def test_groups_are_found_and_numbers_kept(seed, remembering):
    wa = random_structured("ab", 3, seed=seed, remembering=remembering)
    again = of_graph(wa)
    assert isinstance(again, StructuredAutomaton)
    assert np.array_equal(again.transitions, wa.transitions)
    assert np.array_equal(again.initial, wa.initial)
    assert np.array_equal(again.final, wa.final)
    assert len(again.group_sizes) >= len(wa.group_sizes)


def test_a_deterministic_automaton_stays_one_and_keeps_what_leaks():
    wa = deterministic_pfa("ab", [[1, 0], [0, 1]], [[0.5, 0.25, 0.2], [0, 0.5, 0.5]])
    again = of_graph(wa)
    assert isinstance(again, StructuredAutomaton)
    assert len(again.remembering) == 0
    assert again.allclose(wa, rtol=0, atol=0)
    assert again.elsewhere.tolist() == wa.elsewhere.tolist()


def test_states_whose_groups_are_no_neighbours_stay_where_they_are():
    wa = random_structured("ab", 3, seed=1)
    order = np.random.default_rng(0).permutation(wa.n_states)
    again = of_graph(wa, order)
    assert not isinstance(again, StructuredAutomaton)
    assert np.array_equal(again.transitions, wa.transitions[:, order][:, :, order])


def test_they_are_moved_where_dense_matrices_are_too_large(monkeypatch):
    wa = random_structured("ab", 3, seed=1)
    monkeypatch.setattr(sparse_graph, "MAX_NUMBERS", wa.transitions.size - 1)
    again = of_graph(wa, np.random.default_rng(0).permutation(wa.n_states), prefers_dense=True)
    assert isinstance(again, StructuredAutomaton)
    words = short_words(wa, 3)
    assert again.weights(words) == pytest.approx(wa.weights(words), rel=1e-14)
    monkeypatch.setattr(sparse_graph, "MAX_NUMBERS", 10)
    with pytest.raises(FileError, match="more than the limit"):
        of_graph(wa)


def test_what_is_one_group_is_dense_and_so_is_what_shall_be():
    assert repr(of_graph(FIGURE_1)) == repr(FIGURE_1)
    assert of_graph(FIGURE_1).allclose(FIGURE_1, rtol=0, atol=0)
    wa = random_structured("ab", 3, seed=1)
    assert not isinstance(of_graph(wa, prefers_dense=True), StructuredAutomaton)


@given(st.integers(1, 8), st.integers(0, 12), st.integers(0, 10**6))
@settings(max_examples=50)
def test_one_symbol_leads_from_one_group_to_one_group(n_states, n_moves, seed):
    rng = np.random.default_rng(seed)
    codes, origins, targets = (rng.integers(0, n, n_moves) for n in (2, n_states, n_states))
    moves = sparse_graph.Transitions(codes, origins, targets, np.ones(n_moves))
    begins = np.flatnonzero(rng.integers(0, 2, n_states))
    groups = finest_groups(n_states, begins, moves)
    assert len(set(groups[begins].tolist())) <= 1
    onward = {}
    for code, origin, target, _ in moves.edges():
        assert onward.setdefault((groups[origin], code), groups[target]) == groups[target]
    wa = automaton_of_graph(Alphabet("ab"), np.ones(n_states), moves, np.ones(n_states))
    assert wa.n_states == n_states
