"""Contexts: endings of words that are frequent enough to have states of their own.

A context is the last symbols of a word, as many as were often read one after the other; one that
reaches back to the beginning of the word says so. After a word the longest of its endings that is a
context is the current one, so contexts are the states of a deterministic automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.util.arrays import FloatArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contexts, and which of them is current after a word.

    Parameters
    ----------
    endings
        The codes of each context, the last symbol last. The number after the symbols' codes stands
        for the beginning of the word. The first one is empty.
    next_context
        The context after reading each symbol in each context, ``(n_contexts, n_symbols)``.
    start
        The context before the first symbol.
    """

    endings: Sequence[tuple[int, ...]]
    next_context: IntArray
    start: int

    def __len__(self) -> int:
        return len(self.endings)

    def of_nodes(self, tree: PrefixTree) -> IntArray:
        """Return the context that is current at each node of a tree, shape ``(n_nodes,)``."""
        current = np.zeros(len(tree), np.int64)
        current[0] = self.start
        for begin, end in pairwise(tree.levels[1:].tolist()):
            before = current[tree.parent[begin:end]]
            current[begin:end] = self.next_context[before, tree.symbol[begin:end]]
        return current


def frequent_contexts(
    tree: PrefixTree, visits: FloatArray, min_visits: float, max_length: int
) -> Contexts:
    """Return all endings of the words of a tree that are visited often enough.

    Parameters
    ----------
    tree
        The words.
    visits
        How often each node is visited.
    min_visits
        How often a context is visited at least. The beginning of a word always is a context.
    max_length
        The most symbols of a context; the beginning of the word counts as one.

    Examples
    --------
    >>> from seqray.automata.words import Alphabet
    >>> tree = PrefixTree.of(Alphabet("ab").words(["ab"] * 3 + ["b"]))
    >>> contexts = frequent_contexts(tree, tree.counts().sum(axis=1), 3, 2)
    >>> contexts.endings  # 2 is the beginning
    [(), (0,), (1,), (2,), (0, 1), (2, 0)]
    >>> contexts.next_context[contexts.start]  # after an a, and after a b, of which there is one
    array([5, 2])
    """
    n_symbols = len(tree.alphabet)
    endings: list[tuple[int, ...]] = [()]
    longest = np.zeros(len(tree), np.int64)  # the context of the length looked at, -1: none
    for length in range(1, max_length + 1):
        keys = _keys(tree, longest, length)
        known = np.flatnonzero(keys >= 0)
        distinct, which = np.unique(keys[known], return_inverse=True)
        often = np.bincount(which, visits[known], len(distinct)) >= min_visits
        often |= distinct == n_symbols if length == 1 else False
        numbers = np.where(often, len(endings) + np.cumsum(often) - 1, -1)
        for key in distinct[often].tolist():
            before, symbol = divmod(key, n_symbols + 1)
            endings.append((*endings[before], symbol))
        longest = np.full(len(tree), -1)
        longest[known] = numbers[which]
        if not often.any():
            break
    return _linked(endings, n_symbols)


def _keys(tree: PrefixTree, before: IntArray, length: int) -> IntArray:
    """Return a number for the ending of each node that has a length, -1 where there is none.

    ``before`` holds the context of one symbol less that each node ends with.
    """
    base = len(tree.alphabet) + 1
    keys = np.full(len(tree), -1, np.int64)
    inner = np.arange(1, len(tree))
    inner = inner[before[tree.parent[inner]] >= 0]
    keys[inner] = before[tree.parent[inner]] * base + tree.symbol[inner]
    if length == 1:
        keys[0] = base - 1
    return keys


def _linked(endings: list[tuple[int, ...]], n_symbols: int) -> Contexts:
    """Return contexts with the table of what is current next.

    After a context and a symbol that are no context together, what follows is what follows the
    context without its first symbol: that is a context, too, for it is as frequent.
    """
    number = {ending: i for i, ending in enumerate(endings)}
    table = np.zeros((len(endings), n_symbols), np.int64)
    longer: dict[int, list[tuple[int, int]]] = {}
    for i, ending in enumerate(endings[1:], 1):
        if ending[-1] < n_symbols:
            longer.setdefault(number[ending[:-1]], []).append((ending[-1], i))
    for i, ending in enumerate(endings):  # shorter ones come first
        if ending:
            table[i] = table[number[ending[1:]]]
        for symbol, target in longer.get(i, ()):
            table[i, symbol] = target
    return Contexts(endings, read_only(table), number[n_symbols,])
