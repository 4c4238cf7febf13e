"""What boxes that predict say, for tests; some of the boxes are odd."""

import numpy as np

from seqray import WeightedAutomaton
from seqray.fidelity.reference import Reference


def rng(seed=0):
    return np.random.default_rng(seed)


def known_of(box, n_words=60, seed=0, max_length=30):
    return Reference.draw(box, n_words, seed=rng(seed), max_length=max_length)


ODD = {
    "one symbol": WeightedAutomaton("a", [1], [[[0.5]]], [0.5]),
    "never ends": WeightedAutomaton(
        "ab", [1, 0], [[[0, 0.7], [0, 0.1]], [[0.3, 0], [0.9, 0]]], [0, 0]
    ),
    "nearly never ends": WeightedAutomaton(
        "ab", [1, 0], [[[0, 0.7], [0, 0.1]], [[0.3 - 1e-14, 0], [0.9, 0]]], [1e-14, 0]
    ),
    "only the empty word": WeightedAutomaton("ab", [1], np.zeros((2, 1, 1)), [1]),
    "a symbol that never comes": WeightedAutomaton("abc", [1], [[[0.5]], [[0.25]], [[0]]], [0.25]),
    "one word": WeightedAutomaton(
        "ab", [1, 0, 0], [[[0, 1, 0]] + [[0] * 3] * 2, [[0] * 3, [0, 0, 1], [0] * 3]], [0, 0, 1]
    ),
}


class Predicts:
    """An automaton that is no distribution by its own reckoning, asked for next symbols."""

    def __init__(self, automaton, rows):
        self.alphabet, self.inner, self.rows = automaton.alphabet, automaton, rows

    def start(self):
        return self.inner.initial[None]

    def step(self, states, parents, symbols):
        states = np.einsum("ki,kij->kj", states[parents], self.inner.transitions[symbols])
        return states / np.maximum(states.sum(axis=1, keepdims=True), 1e-300)

    def state_weights(self, states):
        return states @ self.inner.final

    def state_next_symbol(self, states):
        read = np.column_stack([states @ self.inner.transitions.sum(axis=2).T, self.rows(states)])
        return read / read.sum(axis=1, keepdims=True)

    def weights(self, words):
        return self.inner.weights(words)


def odd_box(name):
    automaton = ODD[name]
    return Predicts(automaton, lambda states: states @ automaton.final)
