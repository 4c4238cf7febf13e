from itertools import product
from math import gcd

import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.explain.graph import leads, parts, reachable


def closure(edges):
    return np.linalg.matrix_power(np.eye(len(edges)) + edges, len(edges)) > 0


@pytest.mark.parametrize("seed", range(30))
def test_parts_lead_into_each_other_and_have_the_right_period(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    edges = rng.random((n, n)) < 0.25
    ways, found = closure(edges), parts(edges)
    assert sorted(s for part in found for s in part.states) == list(range(n))
    for part in found:
        for i, j in product(range(n), part.states):
            together = ways[i, j] and ways[j, i]
            assert together == (i in part.states)
        outside = [j for j in range(n) if j not in part.states]
        assert part.absorbing == (not edges[np.ix_(part.states, outside)].any())
        # All lengths of ways back up to twice the square of the states give the period.
        power, period = np.eye(n), 0
        for length in range(1, 2 * n * n + 1):
            power = (power @ edges > 0).astype(float)
            if power[part.states[0], part.states[0]]:
                period = gcd(period, length)
        assert part.period == period


def test_small_transitions_do_not_lead():
    wa = WeightedAutomaton("ab", [1, 0], [[[0, 1e-12], [0, 0]], [[-0.5, 0], [0, 0]]], [1, 1])
    assert leads(wa, threshold=1e-9).tolist() == [[True, False], [False, False]]
    assert leads(wa).tolist() == [[True, True], [False, False]]


def test_reachable_follows_every_way():
    edges = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]], bool)
    assert reachable(edges, np.array([False, True, False, False])).tolist() == [True] * 3 + [False]
