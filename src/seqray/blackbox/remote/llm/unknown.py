"""Tokens that a server does not list: what bounds them, and how much of a row is unknown.

A server that lists the k likeliest tokens says nothing about the others, but that each is at most
as likely as the last one of the list, and that together they are at most as likely as what the list
leaves over. An unlisted token is never taken for impossible: it gets half of its bound. The
largest share of a row that unlisted tokens can have is the row's *unknown share*.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seqray.blackbox.remote.llm.dialects import Listed
from seqray.blackbox.token_tree import TokenTree
from seqray.util.arrays import FloatArray

MIN_REST = 1e-7
"""The least probability that a list leaves over: its numbers are rounded to single precision."""


class TokenLogs(NamedTuple):
    """The log-probabilities of some tokens: the best guess, and the least and the largest ones.

    They differ for unlisted tokens only. The largest ones together are a bound on the sum.
    """

    guess: FloatArray
    least: FloatArray
    largest: FloatArray


def token_logs(listed: Listed, names: Sequence[Sequence[int | str]]) -> TokenLogs:
    """Return what a list says about tokens.

    Parameters
    ----------
    listed
        What the server lists.
    names
        For each token how the list may name it; the first name that is there counts.

    Examples
    --------
    >>> listed = Listed({"a": np.log(0.7), "b": np.log(0.2)}, bound=np.log(0.2), rest=0.1)
    >>> guess, least, largest = token_logs(listed, [["a"], ["c"]])
    >>> np.exp(guess).round(3), np.exp(largest).round(3)  # c has at most 1 - 0.7 - 0.2
    (array([0.7 , 0.05]), array([0.7, 0.1]))
    """
    chosen = [next((name for name in some if name in listed.logs), None) for some in names]
    is_unlisted = np.array([name is None for name in chosen], bool)
    values = np.array([-np.inf if n is None else listed.logs[n] for n in chosen], np.float64)
    if not is_unlisted.any():
        return TokenLogs(values, values, values)
    rest = max(listed.rest, MIN_REST)
    n = int(is_unlisted.sum())
    with np.errstate(divide="ignore"):
        bound = np.log(min(n * float(np.exp(listed.bound)), rest) / n)
    guess, largest = values.copy(), values.copy()
    guess[is_unlisted], largest[is_unlisted] = bound - np.log(2), bound
    return TokenLogs(guess, values, largest)


def unknown_shares(tree: TokenTree, least: FloatArray, largest: FloatArray) -> FloatArray:
    """Return the largest share of each row that lies on unlisted tokens, ``(n,)``.

    Parameters
    ----------
    tree
        The tokens of the symbols and the end.
    least, largest
        Bounds on the log-probability of each token at its node, ``(n, n_paths)``, and minus
        infinity where a row does not need it.
    """
    column = {path: at for at, path in enumerate(tree.paths)}
    entries = [column[tokens] for tokens in (*tree.symbols, *tree.ends)]
    sums = []
    for logs in (least, largest):
        along = logs.copy()
        for at, path in enumerate(tree.paths):  # the short ones come first
            if len(path) > 1:
                along[:, at] += along[:, column[path[:-1]]]
        sums.append(np.exp(along[:, entries]).sum(axis=1))
    low, high = sums
    shares: FloatArray = 1 - np.divide(low, high, out=np.ones_like(low), where=high > 0)
    return shares


@dataclass(eq=False)
class UnknownShare:
    """How much was unknown in all rows so far; threads may add to it at the same time."""

    n_rows: int = 0
    n_unknown: int = 0
    """Rows with an unlisted token."""
    largest: float = 0.0
    total: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, shares: FloatArray) -> None:
        """Count some more rows."""
        with self._lock:
            self.n_rows += len(shares)
            self.n_unknown += int((shares > 0).sum())
            self.largest = max(self.largest, float(shares.max(initial=0.0)))
            self.total += float(shares.sum())

    def __str__(self) -> str:
        if not self.n_unknown:
            return f"nothing in {self.n_rows:,} rows"
        return (
            f"up to {self.largest:.2g} of a row, {self.total / self.n_rows:.2g} on average; "
            f"{self.n_unknown:,} of {self.n_rows:,} rows have symbols that the server does not list"
        )
