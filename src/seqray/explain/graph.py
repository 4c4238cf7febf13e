"""The transition graph of an automaton: strongly connected parts, and their periods."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.util.arrays import BoolArray, IntArray


class Part(NamedTuple):
    """States that all lead to each other, or one state on its own.

    ``period`` is the largest number that divides the length of every path from a state back to
    itself; 0 where there is none. ``absorbing`` means that no path leads out: only the end.
    """

    states: tuple[int, ...]
    period: int
    absorbing: bool


def leads(automaton: WeightedAutomaton, *, threshold: float = 0.0) -> BoolArray:
    """Whether a transition leads from each state (row) to each, ``(n_states, n_states)``.

    >>> leads(WeightedAutomaton("a", [1, 0], [[[0, 1], [0, 0]]], [0, 1]))
    array([[False,  True],
           [False, False]])
    """
    return np.asarray((np.abs(automaton.transitions) > threshold).any(axis=0))


def reachable(edges: BoolArray, start: BoolArray) -> BoolArray:
    """Which states can be reached from some, shape ``(n_states,)``.

    >>> reachable(np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]], bool), np.array([1, 0, 0], bool))
    array([ True,  True, False])
    """
    reached = start
    while True:
        further = reached | (reached @ edges)
        if (further == reached).all():
            return reached
        reached = further


def parts(edges: BoolArray) -> tuple[Part, ...]:
    """Return the strongly connected parts of a graph, ``(n_states, n_states)``.

    Examples
    --------
    The first state leads to two that take turns for ever:

    >>> parts(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]], bool))
    (Part(states=(0,), period=1, absorbing=False), Part(states=(1, 2), period=2, absorbing=True))
    """
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - heavy, needed here only

    n_parts, which = connected_components(edges, connection="strong")
    components = []
    for number in range(n_parts):
        states = np.flatnonzero(which == number)
        outside = edges[states][:, which != number].any()
        components.append(Part(tuple(states.tolist()), _period(edges, states), not outside))
    return tuple(sorted(components))


def _period(edges: BoolArray, states: IntArray) -> int:
    """Return the greatest common divisor of all cycles: by levels, as Denardo (1977) does."""
    inner = edges[np.ix_(states, states)]
    level = np.full(len(states), -1)
    level[0], front, period = 0, [0], 0
    while front:
        fresh = []
        for state in front:
            for target in np.flatnonzero(inner[state]).tolist():
                if level[target] < 0:
                    level[target] = level[state] + 1
                    fresh.append(target)
                else:
                    period = gcd(period, int(abs(level[state] + 1 - level[target])))
        front = fresh
    return period
