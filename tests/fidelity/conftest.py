"""Automata, words and boxes that tests of several modules share."""

import numpy as np
import pytest

from seqray.automata.automaton import WeightedAutomaton


def stochastic_machine(n_states: int, seed: int) -> WeightedAutomaton:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(3 * n_states + 1, 0.5), size=n_states)
    transitions = rows[:, :-1].reshape(n_states, 3, n_states).transpose(1, 0, 2)
    return WeightedAutomaton("abc", rng.dirichlet(np.ones(n_states)), transitions, rows[:, -1])


@pytest.fixture
def stochastic():
    """Makes a stochastic automaton over a, b and c: of n states, by a seed."""
    return stochastic_machine


@pytest.fixture
def box() -> WeightedAutomaton:
    return stochastic_machine(4, seed=0)


@pytest.fixture
def words(box):
    return box.sample(300, seed=np.random.default_rng(1), max_length=30).words
