"""The smallest automaton of a function, and equivalence, against Hankel ranks and short words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra_cases import automata, hankel, random_automaton, random_basis, redundant
from automata import short_words
from seqray import WeightedAutomaton
from seqray.automata.algebra import add, change_basis, scale
from seqray.automata.balanced import approximate, singular_values
from seqray.automata.minimal import equivalent, minimise


def hankel_rank(a):
    words = short_words(a, 6 if len(a.alphabet) == 1 else 3 if len(a.alphabet) < 4 else 2)
    sizes = np.linalg.svd(hankel(a, words, words), compute_uv=False)
    return int((sizes > 1e-9 * sizes[0]).sum())


@given(automata(), st.integers(0, 10**6))
@settings(max_examples=40)
def test_minimise_keeps_the_weights_and_leaves_as_many_states_as_the_hankel_rank(a, seed):
    larger = redundant(a, seed)
    assert larger.n_states == 2 * a.n_states + 4
    smallest = minimise(larger)
    words = short_words(a, 5)
    np.testing.assert_allclose(smallest.weights(words), a.weights(words), rtol=1e-6, atol=1e-8)
    assert smallest.n_states == minimise(a).n_states == hankel_rank(a)
    assert equivalent(smallest, a)


def test_minimise_finds_a_rank_below_the_number_of_states():
    rng = np.random.default_rng(5)
    core = random_automaton(1, 3, 2)
    larger = redundant(core, 5)
    assert larger.n_states == 10
    assert minimise(larger).n_states == 3
    assert minimise(change_basis(larger, rng.normal(size=(10, 10)))).n_states == 3


@pytest.mark.parametrize("n_states", [1, 4])
@pytest.mark.parametrize("zero", ["initial", "final", "cancelling", "dead ends"])
def test_the_zero_function_becomes_one_state_without_weights(n_states, zero):
    a = random_automaton(2, n_states, 2)
    if zero == "initial":
        a = WeightedAutomaton(a.alphabet, np.zeros(n_states), a.transitions, a.final)
    elif zero == "final":
        a = WeightedAutomaton(a.alphabet, a.initial, a.transitions, np.zeros(n_states))
    elif zero == "cancelling":
        a = add(a, scale(a, -1))
    else:
        none = np.zeros_like(a.transitions)
        final = a.final - (a.final @ a.initial) / (a.initial @ a.initial) * a.initial
        a = WeightedAutomaton(a.alphabet, a.initial, none, final)
    smallest = minimise(a)
    assert smallest.n_states == 1
    assert not smallest.initial.any()
    assert not smallest.transitions.any()
    assert not smallest.final.any()
    np.testing.assert_array_equal(singular_values(a), [0])
    assert approximate(a, 3).n_states == 1


def test_minimise_keeps_states_that_are_reached_by_rare_symbols_only():
    rare = 1e-12
    a = WeightedAutomaton(
        "ab", [1, 0, 0], [np.diag([0.5, 0.25, 0]), rare * np.eye(3, k=1)], [0, 1, 1]
    )
    smallest = minimise(a)
    words = ["b", "ba", "baa", "bb", "abab"]
    assert smallest.n_states == 3
    np.testing.assert_allclose(smallest.weights(words), a.weights(words), rtol=1e-9)
    np.testing.assert_allclose(smallest.weights(["", "a", "bba"]), 0, atol=1e-15)


def test_minimise_is_exact_on_a_long_chain():
    n = 30
    chain = 0.9 * np.eye(n) + 0.1 * np.eye(n, k=1)
    a = WeightedAutomaton("a", np.eye(n)[0], [chain], np.eye(n)[-1])
    smallest = minimise(add(a, a))
    words = ["a" * length for length in (n - 2, n - 1, n, 2 * n, 10 * n)]
    assert smallest.n_states == n
    np.testing.assert_allclose(smallest.weights(words), 2 * a.weights(words), rtol=1e-9)


def test_minimise_is_exact_where_no_sum_converges():
    a = random_automaton(3, 4, 3, radius=25.0)
    smallest = minimise(redundant(a, 3))
    words = short_words(a, 4)
    assert smallest.n_states == 4
    np.testing.assert_allclose(smallest.weights(words), a.weights(words), rtol=1e-7, atol=1e-7)


@given(automata(), st.integers(0, 10**6))
@settings(max_examples=40)
def test_automata_are_equivalent_under_change_of_basis_and_not_after_a_nudge(a, seed):
    rng = np.random.default_rng(seed)
    other = change_basis(a, random_basis(seed, a.n_states))
    assert equivalent(a, other)
    assert equivalent(other, a)
    assert equivalent(add(a, a), scale(other, 2))
    code = rng.integers(len(a.alphabet))
    transitions = other.transitions.copy()
    transitions[code] += 1e-4 * rng.choice([-1, 1], size=transitions[code].shape)
    nudged = WeightedAutomaton(a.alphabet, other.initial, transitions, other.final)
    assert not equivalent(a, nudged)


def test_equivalence_does_not_need_a_finite_norm():
    a = random_automaton(4, 5, 2, radius=100.0)
    assert equivalent(a, change_basis(a, random_basis(4, 5)))
    assert not equivalent(a, scale(a, 1 + 1e-4))


def test_equivalence_does_not_depend_on_the_scale_of_states():
    a = random_automaton(4, 5, 2)
    assert equivalent(a, change_basis(a, 1e9 * np.eye(5)))
    assert not equivalent(scale(a, 1e-12), scale(a, 2e-12))


def test_only_zero_is_equivalent_to_zero():
    a = random_automaton(4, 3, 2)
    assert equivalent(scale(a, 0), add(a, scale(a, -1)))
    assert equivalent(scale(a, 0), scale(a, 0))
    assert not equivalent(a, scale(a, 0))


def test_a_difference_in_one_long_word_is_found():
    n = 12
    a = WeightedAutomaton("a", np.eye(n)[0], [0.1 * np.eye(n, k=1)], np.eye(n)[-1])
    assert a.weight("a" * (n - 1)) == pytest.approx(1e-11)
    assert not equivalent(a, scale(a, 0))
    assert not equivalent(a, scale(a, 1.001))
