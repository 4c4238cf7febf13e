"""Words to learn from: every batch of them is a prefix tree.

Words that begin alike are read once, and a word that stands in a batch many times is read once:
the loss of a prefix is weighted by what follows it, and how often. That is the same sum as over
the single words, in another order, so the gradient is the same too; and there is no padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.tree import PrefixTree, distinct_keys
from seqray.automata.words import Words
from seqray.util.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TreeBatch:
    """The prefix tree of some words, level by level, the empty word first.

    Parameters
    ----------
    nodes
        Which node of the tree of all words each is, shape ``(n_nodes,)``.
    symbols
        What is read last at each node, shape ``(n_nodes,)``; at the root the start marker, which
        is numbered after the symbols.
    parents
        The node before each, shape ``(n_nodes,)``; at the root ``n_nodes``, which is no node.
    sizes
        How many nodes each level has.
    n_columns
        How many symbols there are, and the end.
    cells
        What follows which node: ``node * n_columns + symbol``, ascending, without repetition.
    cell_counts
        How often that is so, float32, shape ``(n_cells,)``.
    """

    nodes: IntArray
    symbols: IntArray
    parents: IntArray
    sizes: list[int]
    n_columns: int
    cells: IntArray
    cell_counts: FloatArray

    @cached_property
    def n_letters(self) -> int:
        """How many letters and ends the words have."""
        return int(self.cell_counts.sum(dtype=np.int64))

    @cached_property
    def visits(self) -> FloatArray:
        """How often each node is visited, shape ``(n_nodes,)``."""
        nodes = self.cells // self.n_columns
        return np.bincount(nodes, self.cell_counts, len(self.nodes)).astype(np.float64)

    @cached_property
    def counts(self) -> FloatArray:
        """How often each symbol, and last the end, follows each node.

        float32, shape ``(n_nodes, n_columns)``, nearly all 0 where the alphabet is large.
        """
        counts = np.zeros((len(self.nodes), self.n_columns), np.float32)
        counts.ravel()[self.cells] = self.cell_counts
        return counts


@dataclass(frozen=True, eq=False)
class Corpus:
    """Words, and for each its path down the tree of them all.

    Examples
    --------
    >>> from seqray.automata.words import Alphabet
    >>> corpus = Corpus(Alphabet("ab").words(["ab", "aa", "", "ab"]))
    >>> batch = corpus.batch(np.array([0, 1, 3]))
    >>> batch.symbols, batch.parents, batch.sizes
    (array([2, 0, 0, 1]), array([4, 0, 1, 1]), [1, 1, 2])
    >>> batch.counts
    array([[3., 0., 0.],
           [1., 2., 0.],
           [0., 0., 1.],
           [0., 0., 2.]], dtype=float32)
    """

    words: Words

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def tree(self) -> PrefixTree:
        """The prefix tree of all words."""
        return PrefixTree.of(self.words)

    @cached_property
    def _starts(self) -> IntArray:
        """Where the path of each word begins; it has one node more than the word has letters."""
        return self.words.offsets + np.arange(len(self) + 1)

    @cached_property
    def _paths(self) -> IntArray:
        """The nodes of each word from the root, one word after the other."""
        paths = np.zeros(self._starts[-1], np.int64)
        at, here = self._starts[1:] - 1, self.tree.node_of_word
        while len(here):
            paths[at] = here
            inner = here > 0
            at, here = at[inner] - 1, self.tree.parent[here[inner]]
        return paths

    @cached_property
    def _next(self) -> IntArray:
        """What follows at each node of `_paths`: a letter's code, or the end."""
        return np.insert(self.words.codes, self.words.offsets[1:], len(self.words.alphabet))

    def n_prefixes(self, chosen: IntArray) -> int:
        """Return how many prefixes the chosen words have."""
        return int((self._starts[chosen + 1] - self._starts[chosen]).sum())

    def batch(self, chosen: IntArray) -> TreeBatch:
        """Return the prefix tree of the chosen words, with counts."""
        starts = self._starts[chosen]
        lengths = self._starts[chosen + 1] - starts
        ends = np.cumsum(lengths)
        where = np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1])
        nodes, which = distinct_keys(self._paths[where], len(self.tree))
        n_nodes, n_columns = len(nodes), len(self.words.alphabet) + 1
        cells, repeated = distinct_keys(which * n_columns + self._next[where], n_nodes * n_columns)
        cell_counts = np.bincount(repeated).astype(np.float32)
        parents = np.searchsorted(nodes, self.tree.parent[nodes])
        parents[0] = n_nodes
        symbols = self.tree.symbol[nodes].astype(np.int64)
        symbols[0] = n_columns - 1
        sizes = np.bincount(self.tree.depth[nodes]).tolist()
        return TreeBatch(nodes, symbols, parents, sizes, n_columns, cells, cell_counts)
