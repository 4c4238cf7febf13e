"""The checks on the fields of a card."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqray.util.arrays import FloatArray, whole_number
from seqray.util.errors import ArgumentError

MAX_SUM_ERROR = 0.02
"""How far the class probabilities of the empty word may be from a sum of 1."""


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise ArgumentError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


def field_number(name: str, number: object, least: int = 0) -> int:
    """Return a whole number; true and false are none."""
    if isinstance(number, bool):  # true is 1 in Python, but not to whoever wrote it
        raise ArgumentError(f"{name}: expected a whole number from {least}, got {number}")
    return whole_number(name, number, least)


def one_or_more(name: str, numbers: Any) -> int | tuple[int, ...] | None:
    """Return one id as it is, several as a tuple, and None for none."""
    if isinstance(numbers, str) or not isinstance(numbers, Iterable):
        return None if numbers is None else field_number(name, numbers)
    ids = tuple(field_number(name, number) for number in numbers)
    return ids[0] if len(ids) == 1 else ids or None


def listed(ids: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return one id, several or none as a tuple."""
    if ids is None:
        return ()
    return (ids,) if isinstance(ids, int) else tuple(ids)


def finite_number(name: str, number: Any) -> float:
    """Return a finite number as a float."""
    if not isinstance(number, (int, float, np.number)) or isinstance(number, bool):
        raise ArgumentError(f"{name}: expected a number, got {number!r}")
    try:
        value = float(number)
    except OverflowError:  # a whole number with hundreds of digits
        value = math.inf
    if not math.isfinite(value):
        raise ArgumentError(f"{name}: expected a finite number, got {number!r}")
    return value


def class_probabilities(empty: Any, classes: Sequence[str]) -> FloatArray:
    """Return what a card says about the empty word as one probability per class.

    >>> class_probabilities(0.25, ["no", "yes"])
    array([0.75, 0.25])
    """
    row = np.asarray(empty, np.float64)
    if row.ndim == 0 and len(classes) == 2:
        row = np.stack([1 - row, row])
    if row.shape != (len(classes),) or row.min() < 0 or abs(row.sum() - 1) > MAX_SUM_ERROR:
        raise ArgumentError(
            f"the card's empty: expected one probability for each of the {len(classes)} classes "
            f"{', '.join(classes)}, got {empty!r}: give {probabilities_hint(classes)}"
        )
    return row


def probabilities_hint(classes: Sequence[str]) -> str:
    """Return how the card of a classifier answers the empty word.

    >>> probabilities_hint(["x", "y", "z"])
    'the probability of each class for the empty word: empty=[p, p, p], numbers that sum to 1'
    """
    row = ", ".join("p" for _ in classes)
    return f"the probability of each class for the empty word: empty=[{row}], numbers that sum to 1"


def token_lists(symbols: Sequence[object], tokens: Any) -> tuple[tuple[int, ...], ...]:
    """Return the token ids of each symbol; one id may stand without a list around it.

    >>> token_lists("ab", [[4, 2], 7])
    ((4, 2), (7,))
    """
    if isinstance(tokens, str) or not isinstance(tokens, Iterable):
        raise ArgumentError(f"tokens: expected a list of token ids per symbol, got {tokens!r}")
    lists = [one_or_more("tokens", each) for each in tokens]
    if len(lists) != len(symbols):
        raise ArgumentError(
            f"tokens: expected a list for each of the {len(symbols)} symbols, got {len(lists)}"
        )
    for symbol, ids in zip(symbols, lists, strict=True):
        if ids is None:
            raise ArgumentError(
                f"tokens: expected one token of the symbol {symbol!r} at least, got none"
            )
    return tuple(listed(ids) for ids in lists)


def with_answers(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a card without a task, which says what the answers are."""
    document = dict(document)
    task = document.pop("task", None)
    if task is None:
        return document
    check_choice("task", task, ("classification",))
    if document.setdefault("answers", "classes") != "classes":
        raise ArgumentError(
            f'answers: a card of the task classification answers "classes", got '
            f"{document['answers']!r}: leave out answers"
        )
    return document
