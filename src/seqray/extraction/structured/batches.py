"""Batches of a structured fit: trees of words whose nodes are sorted for products of matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqray.automata.tree_batches import Corpus, TreeBatch
from seqray.extraction.structured.layout import FitLayout
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.row_sums import summing_matrix

if TYPE_CHECKING:
    from scipy.sparse import csc_array

MAX_COPIED_NUMBERS = 4096
"""A matrix is copied for each node that it leads to on a level, if that copies at most so many
numbers: for few nodes this is cheaper than a product of their own."""

EVERY_KEY = slice(0, np.iinfo(np.int64).max)


class Runs(NamedTuple):
    """Nodes of a batch, those with equal keys together.

    Run ``i`` has the key ``keys[i]``, and lies from ``bounds[i]`` to before ``bounds[i + 1]``.
    """

    nodes: IntArray
    bounds: IntArray
    keys: IntArray

    @classmethod
    def by(cls, keys: IntArray, nodes: IntArray) -> Runs:
        """Sort some nodes by their keys."""
        nodes = nodes[np.argsort(keys[nodes], kind="stable")]
        begins = np.flatnonzero(np.diff(keys[nodes], prepend=-1))
        return cls(nodes, np.append(begins, len(nodes)), keys[nodes[begins]])

    @classmethod
    def joined(cls, parts: Sequence[Runs]) -> tuple[Runs, list[IntArray]]:
        """Return the runs of all parts of a batch, and where the nodes of each part are in them."""
        keys = np.concatenate([part.keys.repeat(np.diff(part.bounds)) for part in parts])
        joined = cls.by(keys, np.arange(len(keys)))
        places = np.empty(len(keys), np.int64)
        places[joined.nodes] = np.arange(len(keys))
        return joined, np.split(places, np.cumsum([len(part.nodes) for part in parts])[:-1])

    def each(self, keys: slice = EVERY_KEY) -> Iterator[tuple[int, slice]]:
        """Yield the key of each run, of those with some keys, and where it is among the nodes."""
        first, last = np.searchsorted(self.keys, [keys.start, keys.stop]).tolist()
        bounds = pairwise(self.bounds[first : last + 1].tolist())
        for key, (begin, end) in zip(self.keys[first:last].tolist(), bounds, strict=True):
            yield key, slice(begin, end)


class GroupLevel(NamedTuple):
    """The nodes of one level of a batch, below the root."""

    nodes: slice
    above: slice  # the nodes of the level above
    n_forgetful: int  # forgetful transitions lead to so many of the nodes, the first ones
    few: IntArray  # the pairs of the next nodes, each of which leads to few of them
    runs: list[tuple[int, int, int]]  # each other pair and its nodes, counted from the first
    over_children: csc_array  # sums what the nodes have over the children of each node above


class GroupBatch(NamedTuple):
    """A batch, for `seqray.extraction.structured.gradient`.

    Parameters
    ----------
    nodes, visits
        Which node of the tree of all words each node is, and its share of all visits.
    parents
        The parent of each node; 0 for the root.
    steps
        The step that leads to each node: a number for the parent's group and the symbol.
    contexts
        The context of each node.
    levels
        The levels below the root.
    by_group, by_pair
        All nodes by their group, and by the pair that leads to them.
    over_steps, over_entries
        What sums what nodes have over each step, and over the forgetful transitions to each
        context.
    """

    nodes: IntArray
    visits: FloatArray
    parents: IntArray
    steps: IntArray
    contexts: IntArray
    levels: list[GroupLevel]
    by_group: Runs
    by_pair: Runs
    over_steps: csc_array
    over_entries: csc_array


class StepTable(NamedTuple):
    """The distinct steps ``group * n_symbols + symbol`` that some words take, rising.

    The root, to which no step leads, has that of the first symbol: so there always is one.
    """

    steps: IntArray

    def columns(self, layout: FitLayout) -> IntArray:
        """Return where the emissions of each step lie, ``(n_steps, max_size)``.

        Beyond the states of the group it is the place after the last number, which holds 0.
        """
        groups, symbols = np.divmod(self.steps, layout.n_symbols)
        states = np.arange(layout.max_size)
        rows = layout.group_offsets[groups][:, None] + states
        columns = rows * layout.n_outcomes + symbols[:, None]
        inside = states < layout.group_sizes[groups][:, None]
        return np.where(inside, columns, layout.n_rows * layout.n_outcomes)


@dataclass(frozen=True, eq=False)
class GroupedCorpus:
    """Words to fit to, and the groups that they lead through.

    Parameters
    ----------
    layout
        The groups.
    corpus
        The words.
    """

    layout: FitLayout
    corpus: Corpus

    @cached_property
    def groups(self) -> IntArray:
        """The group of each node of the tree of all words."""
        return self.layout.groups(self.corpus.tree)

    @cached_property
    def table(self) -> StepTable:
        """The distinct steps that the words take."""
        tree = self.corpus.tree
        origins, symbols = self.groups[tree.parent], np.maximum(tree.symbol, 0)
        return StepTable(np.unique(origins * self.layout.n_symbols + symbols))

    def batch(self, chosen: IntArray) -> GroupBatch:
        """Return the batch of some words."""
        batch = self.corpus.batch(chosen)
        return _sorted(self.layout, self.table, batch, self.groups[batch.nodes])


def _sorted(layout: FitLayout, table: StepTable, batch: TreeBatch, groups: IntArray) -> GroupBatch:
    """Sort the nodes of each level by the matrix that leads to them."""
    n, n_contexts = len(groups), len(layout.contexts)
    parents, symbols = batch.parents.copy(), batch.symbols.copy()
    parents[0] = symbols[0] = 0
    pairs = layout.pair_of[groups[parents] % n_contexts, symbols]
    levels = np.repeat(np.arange(len(batch.sizes)), batch.sizes)
    is_many = _is_many(layout, levels * (len(layout.pairs) + 1) + pairs + 1) & (pairs >= 0)
    order = np.lexsort((pairs, is_many, levels))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    parents, is_many = place[parents[order]], is_many[order]
    pairs, groups, symbols = (each[order] for each in (pairs, groups, symbols))
    steps = np.searchsorted(table.steps, groups[parents] * layout.n_symbols + symbols)
    inner, is_inner = np.arange(1, n), np.arange(n) > 0
    contexts = groups % n_contexts
    visits = batch.visits[order] / batch.n_letters
    ends = [0, *np.cumsum(batch.sizes).tolist()]
    slices = pairwise([slice(*each) for each in pairwise(ends)])
    return GroupBatch(
        batch.nodes[order],
        visits.astype(np.float32)[:, None],
        parents,
        steps,
        contexts,
        [_level(above, here, pairs, is_many, parents) for above, here in slices],
        Runs.by(groups, np.arange(n)),
        Runs.by(pairs, inner[pairs[1:] >= 0]),
        summing_matrix(steps, len(table.steps), counted=is_inner),
        summing_matrix(contexts, n_contexts, counted=is_inner & (pairs < 0)),
    )


def _is_many(layout: FitLayout, keys: IntArray) -> BoolArray:
    """Whether there are so many nodes with the same key that one product of matrices pays."""
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts >= max(2, MAX_COPIED_NUMBERS // layout.max_size**2))[which]


def _level(
    above: slice, nodes: slice, pairs: IntArray, is_many: BoolArray, parents: IntArray
) -> GroupLevel:
    """Return one level; those of its nodes that no pair leads to come first, then few by few."""
    own = pairs[nodes]
    n_few = len(own) - int(is_many[nodes].sum())
    n_forgetful = int(np.searchsorted(own[:n_few], 0))
    bounds = n_few + np.flatnonzero(np.diff(own[n_few:], prepend=-1))
    runs = pairwise([*bounds.tolist(), len(own)])
    over_children = summing_matrix(parents[nodes] - above.start, above.stop - above.start)
    few, many = own[n_forgetful:n_few], [(int(own[i]), i, j) for i, j in runs]
    return GroupLevel(nodes, above, n_forgetful, few, many, over_children)
