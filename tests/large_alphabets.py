"""Machines over thousands of symbols."""

import numpy as np

from seqray import WeightedAutomaton

N_SYMBOLS = 3000


def zipf_machine(n_symbols: int = N_SYMBOLS, n_states: int = 3) -> WeightedAutomaton:
    """Return a probabilistic automaton whose symbols are as frequent as words of a language."""
    rng = np.random.default_rng(0)
    emission = rng.gamma(0.5, 2, (n_symbols, n_states)) / np.arange(1, n_symbols + 1)[:, None]
    emission *= 0.8 / emission.sum(axis=0)
    moves = rng.dirichlet(np.full(n_states, 0.3), (n_symbols, n_states))
    initial, final = np.full(n_states, 1 / n_states), np.full(n_states, 0.2)
    return WeightedAutomaton(range(n_symbols), initial, emission[:, :, None] * moves, final)
