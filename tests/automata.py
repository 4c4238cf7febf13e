"""Automata, and a stepper, that several tests share."""

from itertools import product

import numpy as np

from seqray import WeightedAutomaton

FIGURE_1 = WeightedAutomaton(
    "ab", [1, 0], [[[1 / 2, 1 / 6], [0, 1 / 4]], [[0, 1 / 3], [1 / 4, 1 / 4]]], [0, 1 / 4]
)
"""Figure 1 of Ayache, Eyraud and Goudian (2018)."""


def contraction(seed, n_states, n_symbols, size=0.3):
    """Weights that shrink by ``size`` a letter, all words of one length together."""
    rng = np.random.default_rng(seed)
    transitions = rng.normal(size=(n_symbols, n_states, n_states))
    transitions *= size / np.linalg.norm(transitions)
    return WeightedAutomaton(
        range(n_symbols), rng.normal(size=n_states), transitions, rng.normal(size=n_states)
    )


def random_automaton(seed, n_states=3, n_symbols=2, size=0.5):
    """Return an automaton with weights of any sign."""
    rng = np.random.default_rng(seed)
    return WeightedAutomaton(
        range(n_symbols),
        rng.normal(size=n_states),
        size * rng.normal(size=(n_symbols, n_states, n_states)) / n_states,
        rng.normal(size=n_states),
    )


def markov_chain(ends, seed=0):
    """Return a chain with a state before the first symbol and one after each symbol.

    ``ends`` are the probabilities that a word ends, state by state.
    """
    n_states, ends = len(ends), np.array(ends)
    rows = np.random.default_rng(seed).dirichlet(np.full(n_states - 1, 0.4), n_states)
    transitions = np.zeros((n_states - 1, n_states, n_states))
    for symbol in range(n_states - 1):
        transitions[symbol, :, symbol + 1] = (1 - ends) * rows[:, symbol]
    return WeightedAutomaton("abcdefgh"[: n_states - 1], np.eye(n_states)[0], transitions, ends)


def short_words(automaton, length):
    """Return all words of at most this length."""
    symbols = automaton.alphabet.symbols
    return [word for n in range(length + 1) for word in product(symbols, repeat=n)]


class Endless:
    """A stepper that never stops, and counts its steps."""

    alphabet = FIGURE_1.alphabet

    def __init__(self):
        self.n_steps = 0

    def start(self):
        return np.zeros(1)

    def step(self, states, parents, symbols):
        self.n_steps += len(parents)
        return states[parents]

    def state_weights(self, states):
        return states

    def state_next_symbol(self, states):
        return np.tile([1.0, 0.0, 0.0], (len(states), 1))


def near(machine, size=0.02):
    """The same machine, a little off."""
    rng = np.random.default_rng(3)
    moved = machine.transitions * rng.uniform(1 - size, 1 + size, machine.transitions.shape)
    return WeightedAutomaton(machine.alphabet, machine.initial, moved, machine.final)
