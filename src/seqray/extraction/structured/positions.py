"""Position classes: runs of positions in a word at which a box predicts differently.

Where all words have the same length, or a motif stands at a fixed place, what comes next depends on
how many symbols were read. Then states know the class of their position.
"""

from __future__ import annotations

import numpy as np

from seqray.util.arrays import FloatArray, IntArray

MAX_POSITIONS = 120
"""No position class ends later, in symbols."""

MAX_POSITION_CLASSES = 12
"""The most position classes."""

MAX_NUMBERS = 2_000_000
"""The most numbers in the table of what follows each position."""


def position_classes(
    positions: IntArray, contexts: IntArray, rows: FloatArray, visits: FloatArray, min_bits: float
) -> IntArray:
    """Return at which positions another class begins; none where the position says little.

    Parameters
    ----------
    positions, contexts, visits
        The position of each prefix, its context, and how often it is visited.
    rows
        What comes next after each, shape ``(n_prefixes, n_outcomes)``.
    min_bits
        How much a further class has to say about what comes next, in bits per symbol.

    Examples
    --------
    Words of three equal symbols each, which then end:

    >>> rows = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    >>> position_classes(np.arange(4), np.zeros(4, int), rows, np.ones(4), 0.01)
    array([3])
    """
    sums = _sums(positions, contexts, rows, visits)
    losses = _segment_losses(sums) / visits.sum()
    best = losses[0].copy()  # the loss of the positions up to each, in as many classes as so far
    begins: list[IntArray] = []
    while len(begins) < MAX_POSITION_CLASSES - 1:
        split = best[:, None] + np.vstack([losses[1:], np.full(losses.shape[1], np.inf)])
        where = split.argmin(axis=0)
        better = split[where, np.arange(len(where))]
        if best[-1] - better[-1] < min_bits:
            break
        best = better
        begins.append(where + 1)
    cuts, end = [], len(best) - 1
    for where in reversed(begins):
        cuts.append(int(where[end]))
        end = cuts[-1] - 1
    return np.array(sorted(cuts), np.int64)


def classes_of(positions: IntArray, begins: IntArray) -> IntArray:
    """Return the class of each position, of classes that begin at some.

    >>> classes_of(np.arange(5), np.array([2, 4]))
    array([0, 0, 1, 1, 2])
    """
    return np.searchsorted(begins, positions, side="right")


def _sums(
    positions: IntArray, contexts: IntArray, rows: FloatArray, visits: FloatArray
) -> FloatArray:
    """Return the visits of each outcome, by position and by context.

    The last position stands for all later ones. Where the table would be too large, the rarest
    contexts and outcomes are summed.
    """
    n_positions = min(int(positions.max()), MAX_POSITIONS) + 1
    positions = np.minimum(positions, n_positions - 1)
    most = max(2, int((MAX_NUMBERS / n_positions) ** 0.5))
    context = _merged(np.bincount(contexts, visits).astype(float), most)[contexts]
    outcome = _merged(visits @ rows, most)
    n_contexts, n_outcomes = int(context.max()) + 1, int(outcome.max()) + 1
    sums = np.zeros((n_positions * n_contexts, n_outcomes))
    for i in range(rows.shape[1]):
        flow = np.bincount(positions * n_contexts + context, visits * rows[:, i], len(sums))
        sums[:, outcome[i]] += flow
    return sums.reshape(n_positions, n_contexts, n_outcomes)


def _merged(masses: FloatArray, most: int) -> IntArray:
    """Return a number for each, the same one for the rarest beyond so many."""
    numbers = np.empty(len(masses), np.int64)
    numbers[np.argsort(-masses, kind="stable")] = np.minimum(np.arange(len(masses)), most - 1)
    return numbers


def _segment_losses(sums: FloatArray) -> FloatArray:
    """Return what is lost where the positions from one to another are taken for one, in bits.

    Shape ``(n_positions, n_positions)``; infinite where the last comes before the first.
    """
    n = len(sums)
    single = np.array([_entropy(each) for each in sums])
    below = np.concatenate([[0.0], np.cumsum(single)])
    losses = np.full((n, n), np.inf)
    for first in range(n):
        summed = np.zeros(sums.shape[1:])
        for last in range(first, n):
            summed += sums[last]
            losses[first, last] = _entropy(summed) - (below[last + 1] - below[first])
    return losses


def _entropy(sums: FloatArray) -> float:
    """Return the entropy of outcomes given contexts, in bits, times the visits."""
    total = sums.sum(axis=1)
    return float(_log_sum(total) - _log_sum(sums))


def _log_sum(numbers: FloatArray) -> float:
    positive = numbers[numbers > 0]
    return float(positive @ np.log2(positive))
