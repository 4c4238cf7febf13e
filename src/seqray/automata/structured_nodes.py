"""The vectors with which parts of words begin, and those that their first letters lead to.

They are computed once for each structured automaton, as far as memory allows. What they read is
then looked up, and most parts of words are so short that nothing else is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.scaling import scales_of
from seqray.automata.structured_stack import chosen_rows
from seqray.automata.structured_states import StructuredSteps
from seqray.util.arrays import FloatArray, IntArray

MAX_TABLE_NUMBERS = 2**20
"""The most numbers, 8 MiB, in a table that is there for speed alone."""

MAX_NODE_NUMBERS = 2**18
"""The most numbers, 2 MiB, in the vectors after first letters, and again in those one letter
further: words few in number pay for them."""


MAX_LEVELS = 8
"""The most letters that lead to a vector in the table: where few can follow, there is no end."""


class PartNodes(NamedTuple):
    """Nodes of the prefix trees of all possible parts: first the roots, then level by level.

    Node ``i`` has row ``i`` of ``vectors``, and belongs to the group ``groups[i]``.
    ``children[i, code]`` is the row of the vector that a symbol leads to, or -1. Rows after those
    of the nodes are those of leaves: children that are no nodes themselves. Roots beyond the rows
    of ``children`` are not in the table. No vector needs a scale.
    """

    vectors: FloatArray
    groups: IntArray
    children: IntArray

    @property
    def is_complete(self) -> bool:
        """Whether all roots are in the table."""
        return len(self.children) == len(self.groups)

    @property
    def has_leaves(self) -> bool:
        """Whether each child of a node is in the table."""
        return len(self.vectors) > len(self.groups)


def part_nodes(steps: StructuredSteps, initial: FloatArray) -> PartNodes:
    """Return whole levels of nodes, as many as there may be, and leaves if there may be some."""
    n_symbols = steps.grouping.n_symbols
    width = max(n_symbols + 1, steps.grouping.max_size)
    n_roots = min(steps.n_roots, MAX_TABLE_NUMBERS // width)
    vectors, groups = steps.root_vectors(np.arange(n_roots), initial), steps.group_of_root
    if scales_of(vectors) is not None:
        vectors = vectors[:0]
    nodes = PartNodes(vectors, groups, np.full((len(vectors), n_symbols + 1), -1))
    n_before = 0
    for _ in range(MAX_LEVELS):
        if not nodes.is_complete or n_before == len(nodes.groups):
            break
        level = np.arange(n_before, len(nodes.groups))
        n_before = len(nodes.groups)
        nodes = _deeper(steps, nodes, level, MAX_NODE_NUMBERS // width)
    return nodes


def _deeper(steps: StructuredSteps, nodes: PartNodes, level: IntArray, max_nodes: int) -> PartNodes:
    """Return nodes with the children of a level, which are leaves if there are too many of them.

    Leaves are for groups whose matrices are stacked. Nothing is added if vectors need scales.
    """
    n_symbols, n_before = steps.grouping.n_symbols, len(nodes.groups)
    pairs = np.add.outer(nodes.groups.take(level) * n_symbols, np.arange(n_symbols))
    origins, codes = np.nonzero(steps.matrix_of_pair.take(pairs) >= 0)
    n_nodes = n_before + len(origins)
    is_small = steps.is_stacked and len(origins) * steps.grouping.max_size <= MAX_NODE_NUMBERS
    if n_nodes > max_nodes and not is_small:
        return nodes
    parents, pairs = level.take(origins), pairs[origins, codes]
    numbers = steps.matrix_of_pair.take(pairs)
    products = steps.matrix_products(nodes.vectors, parents, numbers)
    vectors = chosen_rows(products.vectors, products.rows)
    if scales_of(vectors) is not None:
        return nodes
    vectors = np.concatenate([nodes.vectors, vectors])
    children = nodes.children.copy()
    children[parents, codes] = np.arange(n_before, n_nodes)
    if n_nodes > max_nodes:
        return PartNodes(vectors, nodes.groups, children)
    groups = np.concatenate([nodes.groups, steps.targets.take(pairs)])
    none = np.full((len(origins), n_symbols + 1), -1)
    return PartNodes(vectors, groups, np.concatenate([children, none]))
