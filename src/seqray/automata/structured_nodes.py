"""The vectors with which parts of words begin, and those that their first letters lead to.

They are computed once for each structured automaton, as far as memory allows. What they read is
then looked up, and most parts of words are so short that nothing else is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import scales_of
from seqray.automata.structured_states import StructuredSteps
from seqray.util.arrays import FloatArray, IntArray

MAX_TABLE_NUMBERS = 2**20
"""The most numbers, 8 MiB, in a table that is there for speed alone."""

MAX_NODE_NUMBERS = 2**18
"""The most numbers, 2 MiB, in the vectors after first letters: words few in number pay for them."""


MAX_LEVELS = 8
"""The most letters that lead to a vector in the table: where few can follow, there is no end."""


class PartNodes(NamedTuple):
    """Nodes of the prefix trees of all possible parts: first the roots, then level by level.

    Node ``i`` has row ``i`` of ``vectors``; roots beyond its rows are not in the table, and no node
    needs a scale. It belongs to the group ``groups[i]``. ``children[i, code]`` is the node that a
    symbol leads to, or -1.
    """

    vectors: FloatArray
    groups: IntArray
    children: IntArray

    @property
    def is_complete(self) -> bool:
        """Whether all roots are in the table."""
        return len(self.vectors) == len(self.groups)


def part_nodes(steps: StructuredSteps, initial: FloatArray) -> PartNodes:
    """Return whole levels of nodes, as many as there may be."""
    n_symbols = steps.grouping.n_symbols
    width = max(n_symbols + 1, steps.grouping.max_size)
    n_roots = min(steps.n_roots, MAX_TABLE_NUMBERS // width)
    vectors, groups = steps.root_vectors(np.arange(n_roots), initial), steps.group_of_root
    if scales_of(vectors) is not None:
        vectors = vectors[:0]
    children = np.full((len(vectors), n_symbols + 1), -1)
    nodes = PartNodes(vectors, groups, children)
    n_before = 0
    for _ in range(MAX_LEVELS):
        if not nodes.is_complete or n_before == len(nodes.groups):
            break
        level = np.arange(n_before, len(nodes.groups))
        n_before = len(nodes.groups)
        nodes = _deeper(steps, nodes, level, MAX_NODE_NUMBERS // width)
    return nodes


def _deeper(steps: StructuredSteps, nodes: PartNodes, level: IntArray, max_nodes: int) -> PartNodes:
    """Return nodes with the children of a level, unless they are too many or need scales."""
    n_symbols = steps.grouping.n_symbols
    pairs = np.add.outer(nodes.groups.take(level) * n_symbols, np.arange(n_symbols))
    origins, codes = np.nonzero(steps.matrix_of_pair.take(pairs) >= 0)
    n_nodes = len(nodes.groups) + len(origins)
    if n_nodes > max_nodes:
        return nodes
    parents, pairs = level.take(origins), pairs[origins, codes]
    products = steps.matrix_products(nodes.vectors, parents, steps.matrix_of_pair.take(pairs))
    vectors = products.vectors.take(products.rows, axis=0)
    if scales_of(vectors) is not None:
        return nodes
    children = np.full((n_nodes, n_symbols + 1), -1)
    children[: len(nodes.children)] = nodes.children
    children[parents, codes] = np.arange(len(nodes.groups), n_nodes)
    groups = np.concatenate([nodes.groups, steps.targets.take(pairs)])
    return PartNodes(np.concatenate([nodes.vectors, vectors]), groups, children)
