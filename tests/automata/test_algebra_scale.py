"""Results scale with the weights, however far these are from 1."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from automata import contraction
from seqray import WeightedAutomaton
from seqray.automata.algebra import add, scale
from seqray.automata.balanced import approximate, distance, gramians, inner_product, singular_values
from seqray.automata.minimal import equivalent, minimise
from seqray.util.errors import ArgumentError

FAR = (1e-150, 1.0, 1e150)


def redundant(a):
    """Twice the states, half the weight each."""
    return add(scale(a, 0.25), scale(a, 0.75))


def rescaled(a, initial=1.0, final=1.0, transitions=1.0):
    return WeightedAutomaton(
        a.alphabet, a.initial * initial, a.transitions * transitions, a.final * final
    )


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), *[st.sampled_from(FAR)] * 2)
@settings(max_examples=60)
@example(0, 2, 2, 1e150, 1e150)
@example(0, 2, 2, 1e-150, 1e-150)
def test_neither_size_nor_equivalence_depends_on_the_scale(
    seed, n_states, n_symbols, initial, final
):
    a, b = contraction(seed, n_states, n_symbols), contraction(seed + 1, 2, n_symbols)
    far, other = rescaled(a, initial, final), rescaled(b, initial, final)
    smallest = minimise(rescaled(redundant(a), initial, final))
    assert smallest.n_states == minimise(far).n_states == minimise(a).n_states
    assert equivalent(smallest, far)
    assert equivalent(far, rescaled(a, initial * 8, final / 8))
    assert equivalent(far, other) == equivalent(a, b)
    assert not equivalent(far, rescaled(far, 1.001))
    assert equivalent(far, a) == (initial * final == 1)


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(FAR), st.sampled_from(FAR))
@settings(max_examples=40)
def test_relative_distances_do_not_depend_on_the_scale(seed, n_symbols, initial, final):
    a, b = contraction(seed, 3, n_symbols, 0.8), contraction(seed + 1, 2, n_symbols, 0.8)
    far, other = rescaled(a, initial, final), rescaled(b, initial, final)
    factor = initial * final
    assert distance(far, other) == pytest.approx(factor * distance(a, b), rel=1e-9, abs=0)
    np.testing.assert_allclose(singular_values(far), factor * singular_values(a), rtol=1e-9)
    small = approximate(far, 2)
    expected = distance(a, approximate(a, 2))
    size = distance(a, scale(a, 0))
    assert distance(far, small) / factor == pytest.approx(expected, rel=1e-6, abs=1e-9 * size)
    product = inner_product(far, b)
    assert product == pytest.approx(factor * inner_product(a, b), rel=1e-9, abs=1e-12 * factor)


def test_functions_too_small_to_square_are_told_apart():
    f = contraction(0, 2, 2)
    one, two = scale(f, 1e-200), scale(f, 2e-200)
    assert not equivalent(one, two)
    assert distance(one, two) == pytest.approx(1e-200 * distance(f, scale(f, 0)), rel=1e-9, abs=0)
    assert distance(one, f) == pytest.approx(distance(f, scale(f, 0)))
    assert minimise(one).n_states == 2
    words = [word for n in range(4) for word in product(range(2), repeat=n)]
    np.testing.assert_allclose(minimise(one).weights(words) / 1e-200, f.weights(words), atol=1e-12)


def test_transitions_too_large_to_square_keep_their_states():
    f = contraction(0, 2, 2)
    large = rescaled(f, transitions=1e160)
    single = WeightedAutomaton(f.alphabet, [1], large.transitions[:, :1, :1], [f.weight(())])
    assert minimise(large).n_states == 2
    assert minimise(redundant(large)).n_states == 2
    assert equivalent(large, minimise(large))
    assert not equivalent(large, single)
    assert distance(large, single) == np.inf
    assert distance(large, large) == 0
    with pytest.raises(ArgumentError, match=r"transitions: expected numbers up to 1e\+150"):
        gramians(large)
    with pytest.raises(ArgumentError, match="do not sum"):
        singular_values(large)
    with pytest.raises(ArgumentError, match="do not sum"):
        singular_values(rescaled(f, transitions=1e300))


@pytest.mark.parametrize("link", [1e-300, 1e-170, 1e160, 1e300])
def test_a_link_too_small_or_large_to_square_counts(link):
    # b…bab…b weighs link / 2ⁿ for n letters b, so the squares sum to (4/3)² link².
    a = WeightedAutomaton("ab", [1, 0], [link * np.eye(2, k=1), 0.5 * np.eye(2)], [0, 1])
    assert minimise(a).n_states == 2
    assert not equivalent(a, scale(a, 1.001))
    assert distance(a, scale(a, 0)) == pytest.approx(4 / 3 * link, rel=1e-12, abs=0)
    assert distance(approximate(a, 2), a) <= 1e-12 * link
    np.testing.assert_allclose(singular_values(a), [8 / 27**0.5 * link] * 2)


def test_what_is_left_may_be_far_smaller_than_what_is_never_reached():
    f = contraction(0, 2, 2)
    hidden = WeightedAutomaton(f.alphabet, [0, 0], f.transitions, [1e100, 1])
    a = add(scale(f, 1e-100), hidden)
    assert minimise(a).n_states == 2
    assert not equivalent(a, scale(f, 0))
    assert equivalent(a, scale(f, 1e-100))


def test_what_is_left_may_be_far_smaller_than_what_cancels():
    transitions = [[[0, 0, 0], [1, 0, 0], [1, 0, 0]]]
    a = WeightedAutomaton("a", [1e-200, 1, -1], transitions, [1, 0, 0])
    smallest = minimise(a)
    assert smallest.n_states == 1
    np.testing.assert_allclose(smallest.weights(["", "a"]) / 1e-200, [1, 0], atol=1e-9)
    assert distance(a, scale(a, 0)) == pytest.approx(1e-200, rel=1e-9, abs=0)


def test_a_factor_is_shared_where_the_initial_weights_would_leave_float64():
    f = contraction(0, 2, 2)
    tiny = scale(scale(f, 1e-200), -1e-200)
    assert tiny.initial.any()
    assert distance(tiny, scale(f, 0)) == 0
    assert not equivalent(tiny, scale(tiny, 2))
    assert equivalent(scale(scale(tiny, -1e200), 1e200), f)
    with pytest.raises(
        ArgumentError, match=r"factor: 1e\+200 times weights of about 1e\+200 is bey"
    ):
        scale(scale(f, 1e200), 1e200)
    assert not scale(rescaled(f, 1e305, 1e305), 0).initial.any()
    assert equivalent(scale(rescaled(f, 1e305, 1e305), 0.5), rescaled(f, 1e305, 5e304))


def test_results_beyond_float64_are_infinite_or_zero():
    f = contraction(0, 2, 2)
    large, small = scale(f, 1e200), scale(f, 1e-200)
    assert inner_product(large, large) == np.inf
    assert inner_product(large, scale(large, -1)) == -np.inf
    assert inner_product(small, small) == 0
    assert inner_product(small, large) == pytest.approx(inner_product(f, f))
    assert np.isinf(gramians(large)[0]).all()
    assert not gramians(small)[0].any()
    huge = rescaled(f, 1e200, 1e200)
    assert distance(huge, scale(f, 0)) == np.inf
    assert np.isinf(singular_values(huge)).all()
    edge = np.finfo(float).max
    full = WeightedAutomaton("a", [1, 1], [np.full((2, 2), edge)], [1, 1])
    with pytest.raises(ArgumentError, match="beyond the largest float64"):
        minimise(full)
