"""Batches of automaton states, and the steps from one to the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import rescale
from seqray.automata.tree import sort_codes
from seqray.util.arrays import BoolArray, FloatArray, IntArray

_MAX_GATHERED_NUMBERS = 2**15  # in the matrices of a step that takes one for each child


class AutomatonStates(NamedTuple):
    """A batch of states: state ``i`` is ``vectors[rows[i]] * exp(log_scale[rows[i]])``.

    ``wide[rows[i]]`` says that its coordinates are, or were, too different for float64. ``age``
    counts the steps since the vectors were last brought into the safe range.
    """

    vectors: FloatArray
    log_scale: FloatArray
    wide: BoolArray
    rows: IntArray
    age: int = 0


def start_states(initial: FloatArray) -> AutomatonStates:
    """Return a batch of one: the state before the first symbol."""
    vectors, log_scale = initial[None, :].copy(), np.zeros(1)
    wide = rescale(vectors, log_scale)
    return AutomatonStates(vectors, log_scale, wide, np.zeros(1, np.int64))


def max_age(transitions: FloatArray) -> int:
    """Return how many steps a vector in the safe range can make without leaving float64's."""
    sizes = np.abs(transitions)
    smallest = sizes.min(where=sizes > 0, initial=1)
    largest = max(1, sizes.sum(axis=1).max(), sizes.sum(axis=2).max())
    return int(np.clip(150 / (1e-9 + np.log10(largest) - np.log10(smallest)), 1, 16))


def step_states(
    transitions: FloatArray,
    states: AutomatonStates,
    parents: IntArray,
    symbols: IntArray,
    oldest: int,
) -> AutomatonStates:
    """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``.

    States older than ``oldest`` steps, see `max_age`, are brought back into the safe range.
    """
    n_states = transitions.shape[1]
    if len(parents) * n_states**2 <= _MAX_GATHERED_NUMBERS:
        # A matrix each: cheaper than a product for every symbol.
        origins = states.rows[parents]
        before = states.vectors[origins, None]
        vectors = np.matmul(before, transitions[symbols])[:, 0]
        return _arrived(vectors, origins, np.arange(len(parents)), states, oldest)
    # Children are stored in the order of their symbols, so that each matrix is used once and
    # its results are written in place; `rows` says where each is.
    order = None if (symbols[1:] >= symbols[:-1]).all() else sort_codes(symbols)
    origins = states.rows[parents if order is None else parents[order]]
    sizes = np.bincount(symbols, minlength=len(transitions))
    vectors = np.empty((len(parents), n_states))
    # One symbol's parents are gathered at a time, into one place that stays in the cache;
    # "clip" only spares the check of indices that are known to be right.
    scratch = np.empty((int(sizes.max()), n_states))
    begin = 0
    for matrix, size in zip(transitions, sizes.tolist(), strict=True):
        if size:
            here, before = slice(begin, begin + size), scratch[:size]
            states.vectors.take(origins[here], axis=0, out=before, mode="clip")
            np.matmul(before, matrix, out=vectors[here])
            begin += size
    rows = np.arange(len(parents))
    if order is not None:
        rows[order] = np.arange(len(parents))
    return _arrived(vectors, origins, rows, states, oldest)


def _arrived(
    vectors: FloatArray, origins: IntArray, rows: IntArray, states: AutomatonStates, oldest: int
) -> AutomatonStates:
    """Return new states, brought back into the safe range if it is time."""
    log_scale, wide = states.log_scale.take(origins), states.wide.take(origins)
    if states.age + 1 < oldest:
        return AutomatonStates(vectors, log_scale, wide, rows, states.age + 1)
    wide |= rescale(vectors, log_scale)
    return AutomatonStates(vectors, log_scale, wide, rows)
