"""Automata, words and boxes that tests of several modules share."""

import numpy as np
import pytest

from automata import near
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.generators import random_machine


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


@pytest.fixture(scope="module")
def pair():
    """A machine, another that is near to it, and words of the first."""
    machine = random_machine("pfa", 5, 3, seed=np.random.default_rng(1))
    words = machine.sample(150, seed=np.random.default_rng(2)).words
    return machine, near(machine, 0.5), words
