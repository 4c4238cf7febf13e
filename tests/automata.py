"""Automata that several tests share."""

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
