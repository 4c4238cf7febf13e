import math
from fractions import Fraction

import numpy as np
import pytest

import seqray
from seqray.automata.generators import random_automaton
from seqray.automata.scaling import precise_log_weight


def mixture(p: float) -> seqray.WeightedAutomaton:
    """Half one coin, half the other."""
    heads, tails = np.diag([0.99 * p, 0.99 * (1 - p)]), np.diag([0.99 * (1 - p), 0.99 * p])
    return seqray.WeightedAutomaton("ab", [0.5, 0.5], [heads, tails], [0.01, 0.01])


@pytest.mark.parametrize("p", [0.9, 0.6])
@pytest.mark.parametrize("n", [100, 330, 5000])
@pytest.mark.parametrize("after", ["", "ab"])
def test_a_model_that_was_far_behind_and_came_back_counts(p, n, after):
    word = "a" * n + "b" * n + after * n
    sign, log = mixture(p).log_weights([word, "ab"])
    exact = len(word) * math.log(0.99) + math.log(0.01) + len(word) / 2 * math.log(p * (1 - p))
    assert sign.tolist() == [1, 1]
    assert log[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_slow_way_agrees_with_fractions_and_with_the_fast_one(seed):
    rng = np.random.default_rng(seed)
    wa = random_automaton(3, 2, seed=rng)
    codes = rng.integers(0, 2, 12)
    state = [Fraction(x) for x in wa.initial.tolist()]
    for code in codes:
        matrix = wa.transitions[code].tolist()
        state = [sum(state[i] * Fraction(matrix[i][j]) for i in range(3)) for j in range(3)]
    exact = float(sum(x * Fraction(y) for x, y in zip(state, wa.final.tolist(), strict=True)))
    sign, log = precise_log_weight(wa.initial, wa.transitions[codes], wa.final)
    assert sign * math.exp(log) == pytest.approx(exact, rel=1e-12)
    fast_sign, fast_log = wa.log_weights([codes.tolist()])
    assert (fast_sign[0], fast_log[0]) == (sign, pytest.approx(log, rel=1e-9))


def test_a_weight_of_zero_has_no_logarithm():
    wa = seqray.WeightedAutomaton("a", [1, 0], [[[0, 1], [0, 0]]], [0, 1])
    assert precise_log_weight(wa.initial, wa.transitions[[0, 0]], wa.final) == (0.0, -math.inf)


def test_a_huge_beginning_and_a_tiny_end_meet_in_the_middle():
    wa = seqray.WeightedAutomaton("a", [1e250], [[[1e10]]], [1e-300])
    assert wa.log_weights(["a" * 14])[1][0] == pytest.approx(90 * math.log(10), rel=1e-12)
