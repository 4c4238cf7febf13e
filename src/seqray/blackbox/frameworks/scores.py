"""The checks on a network's scores, before they become probabilities or values."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from seqray.blackbox.card import Card
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError, BlackBoxError

MAX_SUM_EXCESS = 0.02
"""How far above 1 probabilities may sum: those of 16 bits are rounded."""

SOFTMAX_SUM_TOLERANCE = 1e-4
"""How far from 1 a row may sum that counts as a softmax's."""

logger = logging.getLogger(__name__)


def checked_scores(
    scores: Any, card: Card, n: int, who: str, place: Callable[[int], str]
) -> FloatArray:
    """Return a network's scores as float64, ``(n, n_outputs)``; raise an error for wrong ones.

    Parameters
    ----------
    scores
        The network's outputs, ``(n, n_outputs)`` or ``(n,)``.
    card
        What the scores should be.
    n
        How many answers were expected.
    who
        The network's name in error messages.
    place
        Returns what row ``i`` belongs to: ``for the word 'ab'``.
    """
    array = np.asarray(scores)
    if array.dtype.kind not in "iufb":
        raise BlackBoxError(f"{who} answered {array.dtype}: expected real numbers")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or len(array) != n:
        raise BlackBoxError(
            f"{who} got {n} queries and answered shape {np.shape(scores)}: expected a row "
            f"of scores for each, ({n}, number of outputs)"
        )
    if array.shape[1] <= max(card.outputs):
        raise ArgumentError(
            f"{who} has {array.shape[1]} outputs and its card speaks of output "
            f"{max(card.outputs)}, counted from 0: alphabet and model disagree; see the card's "
            "columns, end and column"
        )
    array = array.astype(np.float64)
    for is_bad, expected in _faults(array, card):
        if is_bad.any():
            row = int(is_bad.argmax())
            shown = np.array2string(array[row], precision=4, threshold=8)
            raise BlackBoxError(f"{who} answered {shown} {place(row)}: expected {expected}")
    if card.scores == "logits" and array.shape[1] > 1 and _sums_to_one(array):
        _warn_of_probabilities(who)
    n_symbols = len(card.alphabet)
    if card.answers == "next" and card.end is None and array.shape[1] > n_symbols + 1:
        _warn_of_end(who, array.shape[1], n_symbols)
    return array


def _sums_to_one(scores: FloatArray) -> bool:
    return bool(
        (scores >= 0).all() and (np.abs(scores.sum(axis=1) - 1) < SOFTMAX_SUM_TOLERANCE).all()
    )


@functools.cache  # once for each network
def _warn_of_probabilities(who: str) -> None:
    logger.warning(
        "%s answers rows that sum to 1, as a softmax does, and its card takes them for logits: if "
        'they are probabilities, say "scores": "probabilities" in the card',
        who,
    )


@functools.cache  # once for each network
def _warn_of_end(who: str, n_outputs: int, n_symbols: int) -> None:
    logger.warning(
        "%s has %d outputs, and its card has %d symbols and does not say which output is the "
        'end: output %d, counted from 0, is taken for it. Say "end": %d in the card if that is '
        "right, and otherwise which it is",
        *(who, n_outputs, n_symbols, n_symbols, n_symbols),
    )


def _faults(scores: FloatArray, card: Card) -> list[tuple[Any, str]]:
    """Return which rows cannot be used, and the expected form, for each kind of fault."""
    if card.answers == "value" and card.scores in ("values", "probabilities"):
        value = scores[:, card.column]
        faults: list[tuple[Any, str]] = [
            (~np.isfinite(value), f"a finite number as output {card.column}")
        ]
        if card.scores == "probabilities":
            outside = (value < 0) | (value > 1 + MAX_SUM_EXCESS)
            faults.append((outside, f"a probability as output {card.column}"))
        return faults
    faults = [((np.isnan(scores) | (scores == np.inf)).any(axis=1), "numbers, none nan or inf")]
    if card.scores == "probabilities":
        faults.append(((scores < 0).any(axis=1), "probabilities, none below 0"))
        faults.append((scores.sum(axis=1) > 1 + MAX_SUM_EXCESS, "probabilities that sum to 1"))
    elif card.scores == "log-probabilities":
        with np.errstate(over="ignore"):
            total = np.exp(scores).sum(axis=1)
        expected = 'logarithms of probabilities, which sum to 1; or say "logits" in the card'
        faults.append((total > 1 + MAX_SUM_EXCESS, expected))
    return faults
