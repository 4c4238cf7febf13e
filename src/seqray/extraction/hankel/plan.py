"""The plan of queries that fill Hankel blocks: each word is queried once.

Rows uσ that are no prefixes themselves (the *leaves* of the tree of rows) are queried in full.
Every other row u follows from them: f(u·σv) stands in row uσ, column v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.blackbox.queries.oracle import Oracle
from seqray.extraction.basis import Basis
from seqray.extraction.hankel.blocks import row_tree
from seqray.util.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Plan:
    """What has to be queried to fill the blocks of a basis.

    Parameters
    ----------
    basis
        The prefixes and suffixes.
    tree
        The rows, see `seqray.extraction.hankel.blocks.row_tree`.
    leaves
        The rows to query in full.
    first, rest
        Of every suffix its first symbol, and which suffix remains without it: -1 where that is no
        suffix of the basis, or where there is no first symbol.
    lonely
        The suffixes whose rest is no suffix.
    row, column
        Of every prefix with every lonely suffix, which other row and column have the same word,
        shape ``(n_prefixes, n_lonely)``. Where none has, the row is -1 and the column says which
        of ``extra`` it is.
    extra
        Words that no row answers.
    """

    basis: Basis
    tree: PrefixTree
    leaves: IntArray
    first: IntArray
    rest: IntArray
    lonely: IntArray
    row: IntArray
    column: IntArray
    extra: Words

    @classmethod
    def of(cls, basis: Basis) -> Plan:
        """Plan the queries for a basis."""
        tree = row_tree(basis)
        goes_on = np.diff(tree.first_child) > 0
        # Backwards, the rest of a suffix is its parent.
        mirror = PrefixTree.of(basis.suffixes.reversed())
        nodes = mirror.node_of_word
        column_of_node = np.full(len(mirror), -1)
        column_of_node[nodes] = np.arange(len(nodes))
        first = mirror.symbol[nodes]
        rest = np.where(nodes > 0, column_of_node[mirror.parent[nodes]], -1)
        lonely = np.flatnonzero((rest < 0) & (first >= 0))
        # Follow lonely suffixes down the rows: where one ends, or leaves the rows by a leaf with
        # a suffix still to read, the word is queried there.
        row = np.repeat(tree.node_of_word[:, None], len(lonely), axis=1)
        tail = np.repeat(nodes[None, lonely], len(row), axis=0)
        while (moves := goes_on[row] & (tail > 0)).any():
            row[moves] = tree.first_child[row[moves]] + mirror.symbol[tail[moves]]
            tail[moves] = mirror.parent[tail[moves]]
        column = column_of_node[tail]
        unknown = np.nonzero(column < 0)
        keys = row[unknown] * len(mirror) + tail[unknown]
        _, one, column[unknown] = np.unique(keys, return_index=True, return_inverse=True)
        row[unknown] = -1
        chosen = lonely[unknown[1][one]]
        extra = basis.prefixes.joined(unknown[0][one], basis.suffixes, chosen)
        leaves = np.flatnonzero(~goes_on)
        return cls(basis, tree, leaves, first, rest, lonely, row, column, extra)

    @property
    def empty(self) -> int:
        """The column of the empty suffix."""
        return int(self.first.argmin())

    @property
    def n_queries(self) -> int:
        """The number of distinct words."""
        answered = len(self.leaves) * len(self.basis.suffixes) + len(self.basis.prefixes)
        return answered + len(self.extra)

    @property
    def n_steps(self) -> int:
        """The number of steps of a box with states, or of prefixes."""
        n_suffixes, n_extra = (
            len(PrefixTree.of(words)) for words in (self.basis.suffixes, self.extra)
        )
        return len(self.basis.prefixes) + n_extra - 2 + len(self.leaves) * n_suffixes

    def cost(self, oracle: Oracle) -> int:
        """Return how many queries the plan takes."""
        return self.n_queries if oracle.stepper is None else self.n_steps
