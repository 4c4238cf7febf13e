"""Every operation against brute force over short words, or a closed form."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra_cases import automata, pairs, random_automaton, random_basis
from automata import short_words
from seqray.automata.algebra import add, change_basis, multiply, reverse, scale
from seqray.automata.balanced import distance, inner_product
from seqray.automata.minimal import equivalent
from seqray.util.errors import ArgumentError, SymbolError


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


def test_importing_the_algebra_does_not_load_scipy():
    program = "import sys, seqray.automata.algebra; print([m for m in sys.modules if 'scipy' in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
