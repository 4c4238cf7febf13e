"""The vectors with which parts of words begin, and those that their first letters lead to.

They are computed once for each structured automaton. What they read is then looked up, and most
parts of words are so short that nothing else is needed. Memory is limited, so the vectors are those
that words lead to most often.
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
"""The most numbers, 2 MiB, in the vectors of nodes and leaves, and again in what nodes read: words
few in number pay for them."""

MAX_NODE_SHARE = 8
"""In a large table the vectors of nodes and leaves may have an eighth of the matrices' numbers, but
at most `MAX_TABLE_NUMBERS`. `MAX_NODE_NUMBERS` are always allowed."""

MAX_ROUNDS = 8
"""How often leaves become nodes: where few symbols can follow, there is no end."""

LEAST_SHARE = 0.1
"""Leaves become nodes together if they have at least this share of the most visits of a leaf."""

COUNTED_LETTERS = 32
"""How many letters of a word are followed to count visits."""


class PartNodes(NamedTuple):
    """Nodes of the prefix trees of all possible parts: first the roots, parents before children.

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


class _Grown(NamedTuple):
    """Vectors in the order in which they were computed, and which of them are nodes.

    A word leads to vector ``i`` about ``visits[i]`` times. ``children[j, code]`` is the vector that
    a symbol leads to from the node ``nodes[j]``, or -1.
    """

    vectors: FloatArray
    groups: IntArray
    visits: FloatArray
    nodes: IntArray
    children: IntArray

    @property
    def leaves(self) -> IntArray:
        """The vectors that are no nodes."""
        is_leaf = np.ones(len(self.vectors), bool)
        is_leaf[self.nodes] = False
        return np.flatnonzero(is_leaf)


def part_nodes(steps: StructuredSteps, initial: FloatArray, *, is_large: bool = False) -> PartNodes:
    """Return the roots and the vectors that words lead to most often, as many as there may be.

    A large table grows with the matrices.
    """
    max_numbers = MAX_NODE_NUMBERS
    if is_large:
        share = len(steps.blocks.remembering.values) // MAX_NODE_SHARE
        max_numbers = max(max_numbers, min(share, MAX_TABLE_NUMBERS))
    n_columns = steps.grouping.n_symbols + 1
    n_roots = min(steps.n_roots, MAX_TABLE_NUMBERS // max(n_columns, steps.grouping.max_size))
    vectors, groups = steps.root_vectors(np.arange(n_roots), initial), steps.group_of_root
    if scales_of(vectors) is not None:
        vectors = vectors[:0]
    if len(vectors) < len(groups):
        return PartNodes(vectors, groups, np.full((len(vectors), n_columns), -1))
    none = np.empty(0, np.int64), np.empty((0, n_columns), np.int64)
    grown = _Grown(vectors, groups, _visits_of_roots(steps), *none)
    for _ in range(MAX_ROUNDS):
        chosen = _next_nodes(steps, grown, max_numbers)
        more = _with_children(steps, grown, chosen) if len(chosen) else None
        if more is None:
            break
        grown = more
    return _numbered(grown, has_leaves=steps.is_stacked)


def _visits_of_roots(steps: StructuredSteps) -> FloatArray:
    """Return about how often a word leads to each root, as if each group had one state."""
    grouping, blocks = steps.grouping, steps.blocks
    entry, begins = np.abs(blocks.entry), grouping.offsets[:-1]
    leaving = np.add.reduceat(np.abs(blocks.emission[:, :-1]) * entry[:, None], begins)
    # Where the weights are no probabilities, they are made some: no visit counts for more.
    sizes = np.maximum(np.add.reduceat(entry, begins), leaving.sum(axis=1))
    leaving /= np.where(sizes == 0, 1, sizes)[:, None]
    state = np.zeros(grouping.n_groups)
    state[grouping.start] = 1
    visits = state.copy()
    for _ in range(COUNTED_LETTERS):
        flow = (state[:, None] * leaving).ravel()
        state = np.asarray(np.bincount(steps.targets, flow, len(state)), float)
        visits += state
    flow = np.where(steps.matrix_of_pair < 0, (visits[:, None] * leaving).ravel(), 0)
    of_roots = np.asarray(np.bincount(steps.root_of_pair, flow, steps.n_roots), float)
    of_roots[grouping.n_groups] += 1  # the start
    return of_roots


def _next_nodes(steps: StructuredSteps, grown: _Grown, max_numbers: int) -> IntArray:
    """Return the leaves that become nodes next: all roots, then the most visited ones.

    There are none if memory does not allow for their children.
    """
    size, n_symbols = steps.grouping.max_size, steps.grouping.n_symbols
    max_nodes = max_numbers // max(n_symbols + 1, size)
    max_vectors = max_numbers // size if steps.is_stacked else max_nodes
    leaves = grown.leaves
    n_children = np.count_nonzero(steps.matrix_of_pair.reshape(-1, n_symbols) >= 0, axis=1)
    if not len(grown.nodes):
        n_vectors = len(leaves) + n_children.take(grown.groups).sum()
        return leaves[: len(leaves) if n_vectors <= max_vectors else 0]
    leaves = leaves.take(np.argsort(-grown.visits.take(leaves), kind="stable"))
    visits = grown.visits.take(leaves)
    leaves = leaves[visits >= LEAST_SHARE * visits.max(initial=0)]
    n_vectors = len(grown.vectors) + np.cumsum(n_children.take(grown.groups.take(leaves)))
    n_fitting = min(np.count_nonzero(n_vectors <= max_vectors), max_nodes - len(grown.nodes))
    chosen: IntArray = leaves[: max(0, n_fitting)]
    return chosen


def _with_children(steps: StructuredSteps, grown: _Grown, chosen: IntArray) -> _Grown | None:
    """Return what there is with leaves as nodes, and their children; None if these need scales."""
    n_symbols, n_before = steps.grouping.n_symbols, len(grown.vectors)
    numbers = steps.matrix_of_pair.reshape(-1, n_symbols)[grown.groups.take(chosen)]
    origins, codes = np.nonzero(numbers >= 0)
    parents = chosen.take(origins)
    products = steps.matrix_products(grown.vectors, parents, numbers[origins, codes])
    vectors = chosen_rows(products.vectors, products.rows)
    if scales_of(vectors) is not None:
        return None
    children = np.full((len(chosen), n_symbols + 1), -1)
    children[origins, codes] = n_before + np.arange(len(origins))
    before, after = (np.abs(each).sum(axis=1) for each in (grown.vectors, vectors))
    visits = grown.visits / np.where(before == 0, 1, before)
    more = (
        vectors,
        steps.targets.take(grown.groups.take(parents) * n_symbols + codes),
        visits.take(parents) * after,
        chosen,
        children,
    )
    return _Grown(*map(np.concatenate, zip(grown, more, strict=True)))


def _numbered(grown: _Grown, *, has_leaves: bool) -> PartNodes:
    """Return vectors numbered as nodes and leaves; if there are no leaves, they are nodes, too.

    Nodes all of whose children are known have leaves, others have not.
    """
    leaves, n_nodes = grown.leaves, len(grown.nodes)
    order = np.concatenate([grown.nodes, leaves])
    rows = np.empty(len(order) + 1, np.int64)
    rows[order], rows[-1] = np.arange(len(order)), -1
    children = rows.take(grown.children, mode="wrap")
    if not (has_leaves and n_nodes):
        n_nodes = len(order)
        children = np.pad(children, ((0, len(leaves)), (0, 0)), constant_values=-1)
    return PartNodes(grown.vectors[order], grown.groups[order[:n_nodes]], children)
