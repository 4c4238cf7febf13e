"""The prefix tree of a set of words, and the walk over it.

Everything expensive in seqray is a *stepper* (a network, an automaton: anything with states)
walking a prefix tree, so that no prefix is ever read twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import FloatArray, IntArray, hold_memory, read_only

BATCH_STATES = 16384
"""How many states are stepped at once: few pieces make few calls, and memory stays bounded."""

States: TypeAlias = Any
"""A batch of states; only the stepper that made it knows what it holds."""


class Steps(Protocol):
    """The one method of a stepper that the walk needs."""

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""


@dataclass(frozen=True, eq=False, repr=False)
class PrefixTree:
    """All prefixes of a batch of words, each one node, the empty word first.

    Nodes are numbered level by level, and within a level by parent and symbol, so that the
    children of neighbouring nodes are neighbours.

    Parameters
    ----------
    alphabet
        What the symbols stand for.
    parent, symbol
        Of each node, shape ``(n_nodes,)``; the root has ``parent`` 0 and ``symbol`` -1.
    node_of_word
        The node where each word ends, shape ``(n_words,)``.

    Examples
    --------
    >>> tree = PrefixTree.of(Alphabet("ab").words(["ab", "aa", "", "ab"]))
    >>> tree
    PrefixTree(4 nodes, 4 words)
    >>> tree.words()
    Words(4 words over 2 symbols: λ, a, aa, ab)
    >>> tree.node_of_word
    array([3, 2, 0, 3])
    """

    alphabet: Alphabet
    parent: IntArray
    symbol: IntArray
    node_of_word: IntArray

    @classmethod
    def of(cls, words: Words) -> PrefixTree:
        """Build the tree of all prefixes of ``words``."""
        node_of_word = np.empty(len(words), np.int64)
        parents: list[IntArray] = []
        symbols: list[IntArray] = []
        level_start = n_nodes = 0
        for level in grow(words, words.offsets[:-1], words.lengths):
            parents.append(level.origins + level_start)
            symbols.append(level.symbols)
            level_start, n_nodes = n_nodes, n_nodes + len(level.origins)
            node_of_word[level.ended] = level.ended_at + level_start
        return cls(
            words.alphabet,
            read_only(np.concatenate(parents)),
            read_only(np.concatenate(symbols, dtype=np.int32)),
            read_only(node_of_word),
        )

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return f"PrefixTree({len(self)} nodes, {len(self.node_of_word)} words)"

    @cached_property
    def first_child(self) -> IntArray:
        """The children of node ``i`` are ``first_child[i]`` to ``first_child[i + 1]``."""
        n_children = np.bincount(self.parent[1:], minlength=len(self))
        return read_only(np.concatenate([[1], 1 + np.cumsum(n_children)]))

    @cached_property
    def levels(self) -> IntArray:
        """Where each level begins; ``levels[d]`` to ``levels[d + 1]`` are the words of length d."""
        starts = [0]
        while starts[-1] < len(self):
            starts.append(int(self.first_child[starts[-1]]))
        return read_only(np.array(starts))

    @cached_property
    def depth(self) -> IntArray:
        """The length of each node's word, shape ``(n_nodes,)``."""
        return read_only(np.repeat(np.arange(len(self.levels) - 1), np.diff(self.levels)))

    def words(self, nodes: IntArray | None = None) -> Words:
        """Return the words of the given nodes, or of all."""
        every: IntArray = np.arange(len(self))
        nodes = every if nodes is None else every[nodes]
        lengths = self.depth[nodes]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        codes = np.empty(offsets[-1], np.int32)
        at, here = offsets[1:] - 1, nodes
        for _ in range(int(lengths.max(initial=0))):
            alive = here > 0
            at, here = at[alive], here[alive]
            codes[at] = self.symbol[here]
            at, here = at - 1, self.parent[here]
        return Words(self.alphabet, codes, offsets)

    def find(self, part: PrefixTree) -> IntArray:
        """Return which node of this tree each node of a part of it is, shape ``(n_part,)``.

        >>> words = Alphabet("ab").words(["ab", "b"])
        >>> PrefixTree.of(words).find(PrefixTree.of(words[1:]))
        array([0, 2])
        """
        keys = self.parent[1:] * len(self.alphabet) + self.symbol[1:]  # these rise
        nodes = np.zeros(len(part), np.int64)
        for start, stop in pairwise(part.levels[1:].tolist()):
            level = slice(start, stop)
            wanted = nodes[part.parent[level]] * len(self.alphabet) + part.symbol[level]
            nodes[level] = 1 + np.searchsorted(keys, wanted)
        return nodes

    def counts(self) -> FloatArray:
        """How often each symbol, and last the end, follows each node in the words.

        Shape ``(n_nodes, n_symbols + 1)``; the row sums are how often a node is a prefix.

        >>> PrefixTree.of(Alphabet("ab").words(["ab", "aa", "", "ab"])).counts()
        array([[3., 0., 1.],
               [1., 2., 0.],
               [0., 0., 1.],
               [0., 0., 2.]])
        """
        follows = np.zeros((len(self), len(self.alphabet) + 1))
        follows[:, -1] = np.bincount(self.node_of_word, minlength=len(self))
        visits = follows[:, -1].copy()
        for start, stop in zip(self.levels[-2:0:-1], self.levels[:1:-1], strict=True):
            level = slice(start, stop)
            follows[self.parent[level], self.symbol[level]] = visits[level]
            np.add.at(visits, self.parent[level], visits[level])
        return follows


class Level(NamedTuple):
    """The nodes of one level of a growing tree, and the words that end there."""

    origins: IntArray  # of each node its parent, within the level before
    symbols: IntArray  # of each node
    ended: IntArray  # the words that end here
    ended_at: IntArray  # and at which node, within this level


def grow(
    words: Words,
    starts: IntArray,
    lengths: IntArray,
    *,
    roots: IntArray | None = None,
    direction: int = 1,
    by: str = "origin",
) -> Iterator[Level]:
    """Grow a prefix tree level by level, beginning with the root, or several trees at once.

    Parameters
    ----------
    words
        Where the letters stand.
    starts, lengths
        Of each word, or part of one, where to begin in ``words.codes``, and how many letters to
        read.
    roots
        The root at which each begins; one for all by default.
    direction
        1 to read forwards, -1 to read backwards.
    by
        How the nodes of a level are sorted: ``"origin"``, by parent and then symbol, or
        ``"symbol"``, the reverse.
    """
    hold_memory()
    roots = np.zeros(len(starts), np.int64) if roots is None else roots
    n_symbols, n_nodes = len(words.alphabet), int(roots.max(initial=0)) + 1
    # Longest words first, so that those still being read are always a leading slice.
    order = sort_codes(lengths.max(initial=0) - lengths)
    cursor = starts[order]
    n_longer = len(starts) - np.cumsum(np.bincount(lengths, minlength=1))  # than each depth
    at = roots[order]  # where each word stands, within its level
    done = slice(n_longer[0], None)
    yield Level(np.arange(n_nodes), np.full(n_nodes, -1), order[done], at[done])
    for n_active, n_left in pairwise(n_longer.tolist()):
        letters = words.codes.take(cursor[:n_active])
        cursor[:n_active] += direction
        here = at[:n_active]
        keys: IntArray = here * n_symbols + letters if by == "origin" else letters * n_nodes + here
        keys, at[:n_active] = distinct_keys(keys, n_nodes * n_symbols)
        first, second = np.divmod(keys, n_symbols if by == "origin" else n_nodes)
        n_nodes = len(keys)
        origins, symbols = (first, second) if by == "origin" else (second, first)
        yield Level(origins, symbols, order[n_left:n_active], at[n_left:n_active])


def distinct_keys(keys: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """`numpy.unique` with inverse; without a sort where the keys are dense."""
    if n_keys > 32 * len(keys) + 1024:
        distinct, which = np.unique(keys, return_inverse=True)
        return distinct, which
    present = np.zeros(n_keys, bool)
    present[keys] = True
    distinct = np.flatnonzero(present)
    number = np.empty(n_keys, np.int64)
    number[distinct] = np.arange(len(distinct))
    return distinct, number.take(keys)


def sort_codes(codes: IntArray) -> IntArray:
    """Return the stable order of non-negative integers; few bits sort much faster."""
    largest = codes.max(initial=0)
    bits = np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.int64
    return np.argsort(codes.astype(bits), kind="stable")


def walk(
    stepper: Steps, tree: PrefixTree, start: States, *, width: int = 1, batch: int = BATCH_STATES
) -> Iterator[tuple[slice, States]]:
    """Walk a tree from its root, and yield slices of nodes with the states there.

    Every node is visited once, after its parent. Memory is bounded: a level wider than ``batch``
    is cut, and the part below one piece is walked before the next piece is stepped.

    Parameters
    ----------
    stepper
        What walks.
    tree
        Where.
    start
        The states at the root. There may be ``width`` of them: the walk is then made from all of
        them together, and node ``i`` of a slice owns the states from ``i * width`` to
        ``(i + 1) * width``.
    width
        How many states stand at the root.
    batch
        How many states may be stepped at once. A stepper whose states are large may have
        ``max_states``, how many of them it wants at most.
    """
    hold_memory()
    yield slice(0, 1), start
    n_together = max(1, min(batch, getattr(stepper, "max_states", None) or batch) // width)
    lanes = np.arange(width)
    children = tree.first_child
    # Each entry: states, first node they belong to, children still to do.
    stack = [(start, 0, int(children[0]), int(children[1]))]
    while stack:
        states, first, begin, end = stack.pop()
        if begin == end:
            continue
        stop = min(begin + n_together, end)
        if stop < end:
            stack.append((states, first, stop, end))
        parents, symbols = tree.parent[begin:stop] - first, tree.symbol[begin:stop]
        if width > 1:
            parents = (parents[:, None] * width + lanes).ravel()
            symbols = np.repeat(symbols, width)
        states = stepper.step(states, parents, symbols)
        yield slice(begin, stop), states
        stack.append((states, begin, int(children[begin]), int(children[stop])))
