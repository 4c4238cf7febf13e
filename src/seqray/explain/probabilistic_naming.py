"""Names for the states of a probabilistic automaton, which keeps its states."""

from __future__ import annotations

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.prediction_states import states_after
from seqray.automata.words import Words
from seqray.explain.graph import leads, reachable
from seqray.explain.loss import weight_loss
from seqray.explain.named_automaton import NamedAutomaton, rescaled
from seqray.explain.probable import grown_prefixes, has_negative, sums
from seqray.util.arrays import BoolArray, FloatArray, IntArray, read_only
from seqray.util.errors import ArgumentError

N_CANDIDATES = 600
"""How many prefixes are candidates for names, at least."""

SHARE_PER_SYMBOL = 0.03
"""How much share a state's name may lose to be one symbol shorter."""

SHARE_PER_DECADE = 0.05
"""How much share a state's name may lose to be ten times as frequent."""

LEAST_FREQUENCY = 1e-12
"""Prefixes of a smaller frequency, relative to the most frequent one, count as if they had this."""


def used_states(a: WeightedAutomaton) -> BoolArray | None:
    """Return the states that words pass through; None where weights are negative or do not sum."""
    if has_negative(a) or not sums(a):
        return None
    return reachable(leads(a), a.initial > 0) & (a.prefix_final > 0)


def named_probabilistic(
    a: WeightedAutomaton, used: BoolArray, given: Words | None
) -> NamedAutomaton:
    """Keep the states: scale, order and name them."""
    trimmed = _chosen(a, used)
    scaled = rescaled(trimmed, a.prefix_final[used])
    visits = np.linalg.solve(
        np.eye(scaled.n_states) - scaled.transitions.sum(axis=0).T, scaled.initial
    )
    visits = np.maximum(visits, 0)
    order = np.argsort(-visits, kind="stable")
    ordered = _chosen(scaled, order)
    mass = visits[order] / visits.sum()
    words = grown_prefixes(ordered, max(N_CANDIDATES, 4 * len(order))) if given is None else given
    prefixes, shares = _nearest(ordered, words)
    return NamedAutomaton(
        ordered, prefixes, read_only(shares), read_only(mass), weight_loss(a, ordered)
    )


def _chosen(a: WeightedAutomaton, states: BoolArray | IntArray) -> WeightedAutomaton:
    """Return the automaton of some states, in their order."""
    elsewhere = None if a.elsewhere is None else a.elsewhere[states]
    transitions = a.transitions[:, states][:, :, states]
    return WeightedAutomaton(a.alphabet, a.initial[states], transitions, a.final[states], elsewhere)


def _nearest(a: WeightedAutomaton, words: Words) -> tuple[Words, FloatArray]:
    """Give each state a frequent prefix of its own, after which it has a large share; both."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - heavy, and only needed here

    words = words.unique()[0]
    states = states_after(a, words)
    total = states.sum(axis=1)
    shares = np.divide(states, total[:, None], out=np.zeros_like(states), where=total[:, None] > 0)
    if len(words) < a.n_states:
        raise ArgumentError(
            f"candidates: expected at least {a.n_states} different prefixes, one per state, got "
            f"{len(words)}"
        )
    often = shares.T * a.prefix_weights(words)
    most = often.max(axis=1, keepdims=True)
    often = np.divide(often, most, where=most > 0, out=np.ones_like(often))
    worth = shares.T - SHARE_PER_SYMBOL * words.lengths
    worth += SHARE_PER_DECADE * np.log10(np.maximum(often, LEAST_FREQUENCY))
    chosen = linear_sum_assignment(-worth)[1]
    return words[chosen], shares[chosen, np.arange(a.n_states)]
