"""Every operation against brute force over short words, or a closed form."""

import logging
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from automata import contraction
from seqray import WeightedAutomaton
from seqray.automata.algebra import (
    add,
    approximate,
    change_basis,
    distance,
    equivalent,
    gramians,
    inner_product,
    minimise,
    multiply,
    reverse,
    scale,
    singular_values,
)
from seqray.util.errors import ArgumentError, RankError, SymbolError


def random_automaton(seed, n_states, n_symbols, radius=1.0):
    """Mixed signs; radius is about that of Σ Mσ⊗Mσ."""
    rng = np.random.default_rng(seed)
    transitions = rng.normal(size=(n_symbols, n_states, n_states))
    transitions *= np.sqrt(radius / (n_symbols * n_states))
    return WeightedAutomaton(
        range(n_symbols), rng.normal(size=n_states), transitions, rng.normal(size=n_states)
    )


def short_words(automaton, length):
    symbols = automaton.alphabet.symbols
    return [word for n in range(length + 1) for word in product(symbols, repeat=n)]


def random_basis(seed, n):
    rng = np.random.default_rng([seed, 7])
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    return left * np.geomspace(1, 10, n) @ right


@st.composite
def automata(draw, n_symbols=None):
    n_symbols = n_symbols or draw(st.integers(1, 4))
    return random_automaton(draw(st.integers(0, 10**6)), draw(st.integers(1, 6)), n_symbols)


@st.composite
def pairs(draw):
    n_symbols = draw(st.integers(1, 4))
    return draw(automata(n_symbols)), draw(automata(n_symbols))


# Sums, products and the like


@given(pairs(), st.floats(-10, 10))
@settings(max_examples=30)
def test_sum_product_and_multiple_agree_with_the_weights_of_every_short_word(pair, factor):
    a, b = pair
    words = short_words(a, 5)
    left, right = a.weights(words), b.weights(words)
    np.testing.assert_allclose(add(a, b).weights(words), left + right, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(multiply(a, b).weights(words), left * right, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scale(a, factor).weights(words), factor * left, atol=1e-12)


@given(automata())
@settings(max_examples=30)
def test_reverse_gives_a_word_the_weight_of_its_mirror_image(a):
    words = short_words(a, 5)
    mirrored = a.weights([word[::-1] for word in words])
    np.testing.assert_allclose(reverse(a).weights(words), mirrored, rtol=1e-9, atol=1e-12)


@given(automata(), st.integers(0, 10**6))
@settings(max_examples=30)
def test_change_of_basis_keeps_every_weight(a, seed):
    words = short_words(a, 5)
    other = change_basis(a, random_basis(seed, a.n_states))
    np.testing.assert_allclose(other.weights(words), a.weights(words), rtol=1e-9, atol=1e-11)


def test_change_of_basis_refuses_what_cannot_be_inverted():
    a = random_automaton(0, 2, 2)
    with pytest.raises(ArgumentError, match=r"matrix: expected shape \(2, 2\), got \(3, 3\)"):
        change_basis(a, np.eye(3))
    with pytest.raises(ArgumentError, match="singular"):
        change_basis(a, [[1, 2], [2, 4]])
    with pytest.raises(ArgumentError, match="singular"):
        change_basis(a, np.zeros((2, 2)))
    with pytest.raises(ArgumentError, match="finite"):
        change_basis(a, [[1, np.nan], [0, 1]])


def test_an_ill_conditioned_change_of_basis_is_said(caplog):
    with caplog.at_level(logging.WARNING, "seqray"):
        change_basis(random_automaton(0, 2, 2), np.diag([1, 10]))
        assert not caplog.records
        change_basis(random_automaton(0, 2, 2), np.diag([1, 1e-10]))
    assert "condition number 1.0e+10" in caplog.text


def test_a_factor_must_be_a_finite_number():
    with pytest.raises(ArgumentError, match="factor"):
        scale(random_automaton(0, 2, 2), np.inf)
    with pytest.raises(ArgumentError, match="factor"):
        scale(random_automaton(0, 2, 2), [1, 2])


@pytest.mark.parametrize("operation", [add, multiply, distance, inner_product, equivalent])
def test_automata_over_different_alphabets_are_refused(operation):
    with pytest.raises(SymbolError, match="one alphabet"):
        operation(random_automaton(0, 2, 2), random_automaton(0, 2, 3))


# Minimal form


def redundant(a, seed):
    """Make ``a`` larger: states doubled, never reached, never seen, and all mixed up."""
    rng = np.random.default_rng([seed, 3])
    other = random_automaton(seed + 1, 2, len(a.alphabet))
    hidden = WeightedAutomaton(a.alphabet, np.zeros(2), other.transitions, other.final)
    unseen = WeightedAutomaton(a.alphabet, other.initial, other.transitions, np.zeros(2))
    larger = add(add(scale(a, 0.25), scale(a, 0.75)), add(hidden, unseen))
    transitions = larger.transitions.copy()
    n = 2 * a.n_states
    transitions[:, n : n + 2, :n] = rng.normal(size=(len(a.alphabet), 2, n))  # leads in, unreached
    transitions[:, :n, n + 2 :] = rng.normal(size=(len(a.alphabet), n, 2))  # leads out, unseen
    larger = WeightedAutomaton(a.alphabet, larger.initial, transitions, larger.final)
    return change_basis(larger, random_basis(seed, larger.n_states))


def hankel(a, rows, columns):
    return a.weights([u + v for u in rows for v in columns]).reshape(len(rows), len(columns))


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


# Equivalence


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


# Gramians, singular values, approximation


@pytest.mark.parametrize(("n_states", "n_symbols"), [(1, 1), (3, 2), (5, 3)])
def test_gramians_are_the_sums_over_all_words(n_states, n_symbols):
    a = contraction(0, n_states, n_symbols)
    reachability, observability = gramians(a)
    words = short_words(a, 8)
    forward = np.array([a.state_after(word) for word in words])
    mirror = reverse(a)
    backward = np.array([mirror.state_after(word) for word in words])
    np.testing.assert_allclose(reachability, forward.T @ forward, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(observability, backward.T @ backward, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("n_symbols", [1, 3])
def test_the_ways_to_solve_for_gramians_agree(monkeypatch, n_symbols):
    a = random_automaton(0, 30, n_symbols, radius=0.8)
    direct = gramians(a)
    monkeypatch.setattr("seqray.automata.gramians.DIRECT_STATES", 0)
    for one, other in zip(direct, gramians(a), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12 * np.abs(one).max())
        np.testing.assert_array_equal(other, other.T)


@pytest.mark.parametrize(("n_states", "n_symbols"), [(100, 1), (100, 4)])
def test_gramians_of_a_hundred_states_solve_their_equations(n_states, n_symbols):
    a = random_automaton(1, n_states, n_symbols, radius=0.7)
    reachability, observability = gramians(a)
    image = sum(m.T @ reachability @ m for m in a.transitions)
    expected = np.outer(a.initial, a.initial) + image
    np.testing.assert_allclose(reachability, expected, atol=1e-12 * np.abs(expected).max())
    image = sum(m @ observability @ m.T for m in a.transitions)
    expected = np.outer(a.final, a.final) + image
    np.testing.assert_allclose(observability, expected, atol=1e-12 * np.abs(expected).max())


def test_where_iterations_stall_the_system_is_solved_directly(monkeypatch):
    # Two commuting rotations: the eigenvalues of Σ M⊗M lie on a circle, the worst for GMRES.
    rng = np.random.default_rng(0)
    shift = np.roll(np.eye(30), 1, axis=0)
    a = WeightedAutomaton("ab", rng.random(30), 0.7 * np.stack([shift, shift]), rng.random(30))
    direct = gramians(a)
    monkeypatch.setattr("seqray.automata.gramians.DIRECT_STATES", 0)
    monkeypatch.setattr("scipy.sparse.linalg.gmres", lambda matrix, target, **_: (0 * target, 1))
    np.testing.assert_array_equal(gramians(a)[0], direct[0])


@pytest.mark.parametrize("direct", [0, 40])
@pytest.mark.parametrize("loop", [1.0, 1.5, -1.0])
@pytest.mark.parametrize("n_symbols", [1, 2])
def test_gramians_say_when_the_sums_diverge(monkeypatch, direct, loop, n_symbols):
    monkeypatch.setattr("seqray.automata.gramians.DIRECT_STATES", direct)
    transitions = np.zeros((n_symbols, 2, 2))
    transitions[0] = [[loop, 0], [0.5, 0.5]]
    a = WeightedAutomaton(range(n_symbols), [1, 1], transitions, [1, 1])
    for ask in (gramians, singular_values, lambda x: approximate(x, 1)):
        with pytest.raises(ArgumentError, match=r"spectral radius of Σ Mσ⊗Mσ to be below 1"):
            ask(a)


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


# Distances


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


def test_importing_the_algebra_does_not_load_scipy():
    program = "import sys, seqray.automata.algebra; print([m for m in sys.modules if 'scipy' in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
