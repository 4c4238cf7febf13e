"""Pairs of automata that differ in a known way, or not at all."""

import numpy as np

import seqray
from seqray import WeightedAutomaton


def chain(ends=(0.5, 0.4), to_second=0.3):
    """A deterministic probabilistic automaton of two states: after b, and after anything else."""
    one, two = ends
    return seqray.deterministic_pfa(
        "ab",
        [[0, 1], [0, 1]],
        [[1 - one - to_second, to_second, one], [0.2, 0.8 - two, two]],
    )


def moved(automaton, seed=0):
    """The same function in other coordinates: each state is a mixture of the old ones."""
    n = automaton.n_states
    change = np.eye(n) + 0.3 * np.random.default_rng(seed).normal(size=(n, n)) / n
    return in_coordinates(automaton, change)


def rescaled(automaton, seed=0):
    """The same function, its states in another order and with other scales."""
    rng, n = np.random.default_rng(seed), automaton.n_states
    return in_coordinates(automaton, np.diag(rng.uniform(0.2, 5, n))[rng.permutation(n)])


def in_coordinates(automaton, change):
    inverse = np.linalg.inv(change)
    return WeightedAutomaton(
        automaton.alphabet,
        automaton.initial @ inverse,
        [change @ matrix @ inverse for matrix in automaton.transitions],
        change @ automaton.final,
    )


def changed(automaton, by=0.2):
    """The same automaton, whose heaviest arrow gives some of its weight to the end of the word."""
    transitions, final = automaton.transitions.copy(), automaton.final.copy()
    place = np.unravel_index(transitions.argmax(), transitions.shape)
    transitions[place] -= by
    final[place[1]] += by
    return WeightedAutomaton(automaton.alphabet, automaton.initial, transitions, final)


def rarely(probability):
    """A chain that behaves as the probability says only after twelve times a."""
    n = 12
    steps = np.zeros((2, n, n))
    steps[0, range(n - 1), range(1, n)], steps[1, : n - 1, 0] = 0.25, 0.5
    steps[0, -1, -1], steps[1, -1, -1] = probability, 0.75 - probability
    return WeightedAutomaton("ab", np.eye(n)[0], steps, np.full(n, 0.25))
