"""Random automata and brute force that the tests of the algebra share."""

import numpy as np
from hypothesis import strategies as st

from seqray import WeightedAutomaton
from seqray.automata.algebra import add, change_basis, scale


def random_automaton(seed, n_states, n_symbols, radius=1.0):
    """Mixed signs; radius is about that of Σ Mσ⊗Mσ."""
    rng = np.random.default_rng(seed)
    transitions = rng.normal(size=(n_symbols, n_states, n_states))
    transitions *= np.sqrt(radius / (n_symbols * n_states))
    return WeightedAutomaton(
        range(n_symbols), rng.normal(size=n_states), transitions, rng.normal(size=n_states)
    )


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


def hankel(a, rows, columns):
    return a.weights([u + v for u in rows for v in columns]).reshape(len(rows), len(columns))


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
