"""Gramians against sums over short words and the equations they solve."""

import numpy as np
import pytest

from algebra_cases import random_automaton
from automata import contraction, short_words
from seqray import WeightedAutomaton
from seqray.automata.algebra import reverse
from seqray.automata.balanced import approximate, gramians, singular_values
from seqray.util.errors import ArgumentError


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
def test_the_methods_to_solve_for_gramians_agree(monkeypatch, n_symbols):
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
    for operation in (gramians, singular_values, lambda x: approximate(x, 1)):
        with pytest.raises(ArgumentError, match=r"spectral radius of Σ Mσ⊗Mσ to be below 1"):
            operation(a)
