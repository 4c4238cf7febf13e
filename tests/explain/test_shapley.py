from itertools import pairwise, product
from math import factorial

import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.automata.generators import random_automaton, random_machine
from seqray.explain.background import Background
from seqray.explain.shapley import shapley_values
from seqray.util.errors import SymbolError


def subsets(n):
    return np.array(list(product([False, True], repeat=n)), bool).reshape(2**n, n)


def expected(wa, word, background):
    """v(S) of every subset of positions, by reading the chain with and without what is known."""
    known = subsets(len(word))
    k = len(wa.alphabet)
    chain = background.transitions
    if chain is None:
        chain = np.tile(background.initial, (k, 1))
    # What is expected, and the probability of what is known, by the symbol at the position reached.
    vectors = np.tile(wa.initial, (len(known), 1, 1))
    probabilities = np.ones((len(known), 1))
    follows = background.initial[None, :]
    for at, code in enumerate(word):
        allowed = np.where(known[:, at, None], np.arange(k) == code, True)
        vectors = np.einsum("sir,ij,jrq->sjq", vectors, follows, wa.transitions)
        vectors *= allowed[:, :, None]
        probabilities = (probabilities @ follows) * allowed
        follows = chain
    return (vectors @ wa.final).sum(axis=1) / probabilities.sum(axis=1)


def by_enumeration(wa, word, background, known):
    """v(S) of one subset, from the weights of all words of that length."""
    total = probability = 0.0
    for other in product(range(len(wa.alphabet)), repeat=len(word)):
        if any(other[i] != word[i] for i in np.flatnonzero(known)):
            continue
        p = background.initial[other[0]] if other else 1.0
        for one, two in pairwise(other):
            rows = background.transitions
            p *= background.initial[two] if rows is None else rows[one, two]
        total, probability = total + p * wa.weight(other), probability + p
    return total / probability


def by_definition(values, n):
    """Shapley values from v of all subsets, as Shapley (1953) defined them."""
    known = subsets(n)
    sizes = known.sum(axis=1)
    number = known @ (2 ** np.arange(n - 1, -1, -1))
    by_number = np.empty(2**n)
    by_number[number] = values
    found = np.zeros(n)
    for i in range(n):
        without = ~known[:, i]
        s = sizes[without]
        factor = [factorial(k) * factorial(n - k - 1) / factorial(n) for k in s]
        gain = by_number[number[without] + 2 ** (n - 1 - i)] - by_number[number[without]]
        found[i] = np.dot(factor, gain)
    return found


def random_background(alphabet, kind, rng):
    k = len(alphabet)
    first = rng.dirichlet(np.ones(k))
    if kind == "independent":
        return Background.independent(alphabet, first)
    return Background.markov(alphabet, first, rng.dirichlet(np.ones(k), size=k))


@pytest.mark.parametrize("kind", ["independent", "markov"])
@pytest.mark.parametrize("seed", range(100))
def test_values_are_those_of_the_definition(seed, kind):
    rng = np.random.default_rng(seed)
    n, n_states, n_symbols = seed % 11, 1 + seed % 7, 1 + seed % 4
    wa = random_automaton(n_states, n_symbols, seed=rng)
    word = rng.integers(n_symbols, size=n).tolist()
    background = random_background(wa.alphabet, kind, rng)
    values = expected(wa, word, background)
    found = shapley_values(wa, word, background=background)
    scale = np.abs(values).max()
    np.testing.assert_allclose(found.values, by_definition(values, n), rtol=0, atol=1e-10 * scale)
    assert found.weight == pytest.approx(wa.weight(word), abs=1e-12 * scale)
    assert found.expected == pytest.approx(values[0], abs=1e-12 * scale)
    assert found.values.sum() == pytest.approx(found.weight - found.expected, abs=1e-10 * scale)


@pytest.mark.parametrize("kind", ["independent", "markov"])
def test_the_oracle_is_the_mean_over_all_words(kind):
    rng = np.random.default_rng(5)
    wa = random_automaton(3, 3, seed=rng)
    word = [0, 2, 2, 1]
    background = random_background(wa.alphabet, kind, rng)
    one_by_one = [by_enumeration(wa, word, background, known) for known in subsets(4)]
    np.testing.assert_allclose(expected(wa, word, background), one_by_one, atol=1e-13)


def test_a_chain_without_memory_is_independent():
    rng = np.random.default_rng(3)
    wa = random_machine("pfa", 4, 3, seed=rng)
    probabilities = rng.dirichlet(np.ones(3))
    alike = Background.markov(wa.alphabet, probabilities, np.tile(probabilities, (3, 1)))
    word = rng.integers(3, size=30).tolist()
    one = shapley_values(wa, word, background=Background.independent(wa.alphabet, probabilities))
    other = shapley_values(wa, word, background=alike)
    np.testing.assert_allclose(one.relative, other.relative, atol=1e-12)


@pytest.mark.parametrize("kind", ["independent", "markov"])
def test_long_words_do_not_underflow(kind):
    # Each symbol divides the weight by about 1e30.
    wa = WeightedAutomaton("ab", [1, 1], np.array([np.eye(2), [[1, 1], [0, 1]]]) * 1e-30, [1, -1])
    word = "ab" * 25
    background = random_background(wa.alphabet, kind, np.random.default_rng(0))
    found = shapley_values(wa, word, background=background)
    assert found.weight == 0  # too small for float64
    unit = WeightedAutomaton("ab", wa.initial, wa.transitions * 1e30, wa.final)
    same = shapley_values(unit, word, background=background)
    np.testing.assert_allclose(found.relative, same.relative, rtol=1e-9, atol=1e-12)
    assert found.mantissas.sum() == pytest.approx(found.ends[1] - found.ends[0])


@pytest.mark.parametrize("kind", ["independent", "markov"])
def test_a_function_that_is_0_has_values_0(kind):
    wa = WeightedAutomaton("ab", [0], [[[1]], [[1]]], [0])
    background = random_background(wa.alphabet, kind, np.random.default_rng(0))
    found = shapley_values(wa, "abba", background=background)
    assert found.values.tolist() == found.relative.tolist() == [0, 0, 0, 0]


def test_the_default_background_is_what_the_automaton_expects():
    wa = random_machine("pfa", 3, 3, seed=np.random.default_rng(1))
    word = [0, 1, 2]
    default = shapley_values(wa, word)
    chosen = shapley_values(wa, word, background=Background.frequencies(wa))
    assert default.values.tolist() == chosen.values.tolist()


def test_another_alphabet_is_refused():
    wa = random_automaton(2, 3, seed=np.random.default_rng(1))
    with pytest.raises(SymbolError, match="background: expected one over"):
        shapley_values(wa, [0], background=Background.uniform("ab"))


def test_a_long_word_is_shown_in_part():
    wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    text = repr(shapley_values(wa, "abababababab"))
    assert text.count("a ") == 4
    assert text.endswith(", …)")
