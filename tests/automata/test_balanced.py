"""Singular values, approximation and distances, against brute force or a closed form."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from algebra_cases import hankel, random_automaton, random_basis, redundant
from automata import contraction, short_words
from seqray import WeightedAutomaton
from seqray.automata.algebra import add, change_basis, scale
from seqray.automata.balanced import approximate, distance, gramians, inner_product, singular_values
from seqray.automata.minimal import minimise
from seqray.util.errors import ArgumentError, RankError


@pytest.mark.parametrize(("n_states", "n_symbols", "length"), [(4, 1, 30), (3, 2, 7), (5, 3, 5)])
def test_singular_values_are_those_of_a_large_hankel_matrix(n_states, n_symbols, length):
    a = contraction(3, n_states, n_symbols)
    words = short_words(a, length)
    brute = np.linalg.svd(hankel(a, words, words), compute_uv=False)[:n_states]
    found = singular_values(redundant(a, 3) if n_states == 3 else a)
    np.testing.assert_allclose(found, brute, atol=1e-6 * brute[0])
    if n_symbols == 1:  # nothing is cut here: the small ones must be right as well
        np.testing.assert_allclose(found, brute, rtol=1e-6, atol=1e-14)


def test_singular_values_are_read_only_and_fall():
    found = singular_values(random_automaton(0, 6, 2, radius=0.5))
    assert (np.diff(found) <= 0).all()
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_the_balanced_form_has_the_singular_values_as_both_gramians():
    a = random_automaton(0, 6, 2, radius=0.5)
    for gramian in gramians(approximate(a, 6)):
        np.testing.assert_allclose(gramian, np.diag(singular_values(a)), atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=25)
@example(1, 6, 1)  # directions so faint that rounding errors lead out of the reachable space
def test_approximation_at_full_rank_is_exact(seed, n_states, n_symbols):
    a = contraction(seed, n_states, n_symbols, size=0.8)
    larger = redundant(a, seed)
    full = approximate(larger, larger.n_states)
    words = short_words(a, 5)
    assert full.n_states <= n_states
    np.testing.assert_allclose(full.weights(words), a.weights(words), rtol=1e-6, atol=1e-8)
    assert distance(full, a) <= 1e-8 * (1 + distance(a, scale(a, 0)))


def test_an_approximation_loses_about_what_its_singular_values_say():
    a = random_automaton(8, 8, 2, radius=0.6)
    values = singular_values(a)
    errors = [distance(a, approximate(a, n)) for n in range(1, 9)]
    assert errors[-1] < 1e-9 * values[0]
    for n in range(1, 8):
        assert errors[n - 1] <= values[n:].sum()  # no theorem known to us, but so it is
    assert errors[5] < errors[1] < values[0]


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 3))
@settings(max_examples=25)
def test_the_squares_of_an_approximation_sum_to_no_more(seed, n_states, n_symbols):
    a = contraction(seed, n_states, n_symbols, size=0.9)
    zero = scale(a, 0)
    assert distance(approximate(a, n_states - 1), zero) <= distance(a, zero) * (1 + 1e-9)


def test_an_approximation_has_at_least_one_state():
    with pytest.raises(RankError, match="expected 1 or more, got 0"):
        approximate(random_automaton(0, 2, 2, radius=0.5), 0)


@pytest.mark.parametrize(("n_symbols", "length"), [(1, 25), (2, 9), (3, 6)])
def test_distance_and_inner_product_are_the_sums_over_all_words(n_symbols, length):
    a, b = contraction(1, 3, n_symbols), contraction(2, 4, n_symbols)
    words = short_words(a, length)
    left, right = a.weights(words), b.weights(words)
    assert distance(a, b) == pytest.approx(np.linalg.norm(left - right), rel=1e-6)
    assert inner_product(a, b) == pytest.approx(left @ right, rel=1e-6, abs=1e-7)
    assert inner_product(a, a) == pytest.approx(distance(a, scale(a, 0)) ** 2)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=40)
def test_equal_automata_are_at_no_distance(seed, n_states, n_symbols):
    a = contraction(seed, n_states, n_symbols, size=0.9)
    size = distance(a, scale(a, 0))
    assert distance(a, a) <= 1e-12 * size
    assert 0 <= distance(a, change_basis(a, random_basis(seed, n_states))) <= 1e-9 * size
    assert distance(a, minimise(redundant(a, seed))) <= 1e-9 * size


@pytest.mark.parametrize("nudge", [1e-2, 1e-5, 1e-8])
def test_small_distances_keep_their_digits(nudge):
    a = contraction(1, 4, 2)
    transitions = a.transitions.copy()
    transitions[0, 1, 2] += nudge
    b = WeightedAutomaton(a.alphabet, a.initial, transitions, a.final)
    words = short_words(a, 9)
    brute = np.linalg.norm(a.weights(words) - b.weights(words))
    assert distance(a, b) == pytest.approx(brute, rel=1e-5)


def test_distance_between_a_hundred_states_and_fifty_is_found():
    a = random_automaton(1, 100, 4, radius=0.7)
    b = approximate(a, 50)
    size = distance(a, scale(a, 0))
    by_parts = size**2 - 2 * inner_product(a, b) + inner_product(b, b)
    assert distance(a, b) == pytest.approx(np.sqrt(by_parts), rel=1e-6)


def test_distance_is_infinite_where_the_sum_diverges():
    one = WeightedAutomaton("a", [1], [[[1.0]]], [1])
    growing = WeightedAutomaton("a", [1], [[[2.0]]], [1])
    assert distance(one, growing) == np.inf
    assert distance(one, scale(one, 2)) == np.inf
    assert distance(growing, growing) == 0
    with pytest.raises(ArgumentError, match="do not sum"):
        inner_product(one, one)


def test_distance_is_finite_where_what_diverges_cancels_or_is_never_seen():
    a = contraction(1, 3, 2)
    growing = random_automaton(1, 2, 2, radius=10.0)
    words = short_words(a, 9)
    size = np.linalg.norm(a.weights(words))
    assert distance(add(a, growing), growing) == pytest.approx(size, rel=1e-5)
    unseen = add(a, WeightedAutomaton(a.alphabet, [1], 2 * np.ones((2, 1, 1)), [0]))
    assert distance(unseen, scale(a, 0)) == pytest.approx(size, rel=1e-5)
    mixed = change_basis(growing, random_basis(0, 2))
    assert distance(growing, mixed) == 0
