"""The discrimination tree: which words lead to the same state, as far as is known.

An inner node has a suffix, and one child for each row that words have after it. A leaf is a state.
Words are sifted: from the root, whose suffix is empty, each goes to the child of its row. A word
whose row is new makes a new child, and so a new state, whose access word it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqray.learning.known_rows import Codes, KnownRows, RowEquality
from seqray.util.arrays import FloatArray, IntArray


class TreeNode:
    """A leaf with its state, or an inner node with a suffix and children by row."""

    def __init__(self, state: int = -1, suffix: Codes | None = None) -> None:
        self.state, self.suffix = state, suffix
        self.rows: list[FloatArray] = []
        self.children: list[TreeNode] = []


class DiscriminationTree:
    """States, their access words, and the tree that says which state a word leads to.

    Parameters
    ----------
    rows
        What is known, and queries what is not.
    equality
        When two rows count as equal.
    max_states
        When there are so many, a word goes to the state of the nearest row.

    Examples
    --------
    >>> from seqray.automata.words import Alphabet
    >>> def parity(words):
    ...     return np.eye(2)[words.lengths % 2]
    >>> rows = KnownRows(Alphabet("a"), parity, None)
    >>> tree = DiscriminationTree(rows, RowEquality(0.5), max_states=10)
    >>> tree.sift([(), (0,), (0, 0)])
    array([0, 1, 0])
    >>> tree.access
    [(), (0,)]
    """

    def __init__(self, rows: KnownRows, equality: RowEquality, max_states: int) -> None:
        self.rows, self.equality, self.max_states = rows, equality, max_states
        self.root = TreeNode(suffix=())
        self.access: list[Codes] = []
        self.leaves: list[TreeNode] = []
        self.is_capped = False

    def sift(self, words: Sequence[Codes], node: TreeNode | None = None) -> IntArray:
        """Return the state of each word, from the root or another node; new rows are new states."""
        states = np.full(len(words), -1)
        waiting = [(node or self.root, np.arange(len(words)))]
        while waiting:
            here, which = waiting.pop()
            if here.suffix is None:
                states[which] = here.state
                continue
            some = [words[i] for i in which.tolist()]
            child = self._children(here, self.rows.after(some, here.suffix), some)
            for at in np.unique(child).tolist():
                waiting.append((here.children[at], which[child == at]))
        return states

    def _children(self, node: TreeNode, rows: FloatArray, words: Sequence[Codes]) -> IntArray:
        """Return the child of each row; make those that are not there."""
        n_known = len(node.rows)
        child = (
            self.equality.match(rows, np.array(node.rows)) if n_known else np.full(len(rows), -1)
        )
        for i in np.flatnonzero(child < 0).tolist():
            fresh = np.array(node.rows[n_known:])
            at = int(self.equality.match(rows[i : i + 1], fresh)[0]) if len(fresh) else -1
            child[i] = n_known + at if at >= 0 else self._new_child(node, rows[i], words[i])
        return child

    def _new_child(self, node: TreeNode, row: FloatArray, word: Codes) -> int:
        if len(self.access) >= self.max_states:
            self.is_capped = True
            return int(self.equality.nearest(row[None], np.array(node.rows))[0])
        node.rows.append(row)
        node.children.append(self._new_leaf(word))
        return len(node.children) - 1

    def _new_leaf(self, word: Codes) -> TreeNode:
        leaf = TreeNode(len(self.access))
        self.access.append(word)
        self.leaves.append(leaf)
        return leaf

    def split(self, state: int, word: Codes, suffix: Codes) -> TreeNode | None:
        """Split a state: its access word and another word have different rows after a suffix.

        Returns the node that replaces its leaf; None where the rows are equal, or there are as many
        states as there may be.
        """
        if len(self.access) >= self.max_states:
            self.is_capped = True
            return None
        own, other = self.rows.after([self.access[state], word], suffix)
        if self.equality.same(own, other):
            return None
        node, leaf = self.leaves[state], TreeNode(state)
        node.state, node.suffix = -1, suffix
        node.rows, node.children = [own, other], [leaf, self._new_leaf(word)]
        self.leaves[state] = leaf
        return node
