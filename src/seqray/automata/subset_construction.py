"""The subset construction: a table of states from sets of states."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

from seqray.util.arrays import IntArray
from seqray.util.errors import ArgumentError

MAX_STATES = 20_000
"""The most states of a table."""

Key = TypeVar("Key", bound=Hashable)


def explored(start: Key, successors: Callable[[Key], Sequence[Key]]) -> tuple[list[Key], IntArray]:
    """Return all keys that can be reached, and a table of which one follows which.

    Parameters
    ----------
    start
        The first key.
    successors
        Returns what follows a key, one key for each column of the table.

    Examples
    --------
    >>> explored(1, lambda n: [n * 2 % 5, n])
    ([1, 2, 4, 3], array([[1, 0],
           [2, 1],
           [3, 2],
           [0, 3]]))
    """
    number, keys, table = {start: 0}, [start], []
    for key in keys:  # it grows meanwhile
        row = []
        for target in successors(key):
            if target not in number:
                number[target] = len(keys)
                keys.append(target)
            row.append(number[target])
        table.append(row)
        if len(keys) > MAX_STATES:
            raise ArgumentError(
                f"a deterministic automaton of this language has more than {MAX_STATES:,} states: "
                "expected fewer, use smaller numbers of times or fewer choices"
            )
    return keys, np.array(table, np.int64).reshape(len(keys), -1)
