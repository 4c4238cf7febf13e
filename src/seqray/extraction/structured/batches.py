"""Batches of a structured fit: trees of words whose nodes are sorted for products of matrices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.tree_batches import Corpus, TreeBatch
from seqray.extraction.structured.layout import FitLayout
from seqray.util.arrays import FloatArray, IntArray


class Runs(NamedTuple):
    """Nodes of a batch, those with equal keys together: run ``i`` has the key ``keys[i]``."""

    nodes: IntArray
    begins: IntArray
    keys: IntArray

    @classmethod
    def by(cls, keys: IntArray, nodes: IntArray) -> Runs:
        """Sort some nodes by their keys."""
        nodes = nodes[np.argsort(keys[nodes], kind="stable")]
        begins = np.flatnonzero(np.diff(keys[nodes], prepend=-1))
        return cls(nodes, begins, keys[nodes[begins]])

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums over each run of what the nodes have, in the order of ``nodes``."""
        if not len(self.nodes):
            return values
        return np.asarray(np.add.reduceat(values, self.begins, axis=0))

    def each(self) -> list[tuple[int, IntArray]]:
        """Return the key and the nodes of each run."""
        bounds = pairwise([*self.begins.tolist(), len(self.nodes)])
        runs = zip(self.keys.tolist(), bounds, strict=True)
        return [(key, self.nodes[begin:end]) for key, (begin, end) in runs]


class GroupLevel(NamedTuple):
    """The nodes of one level of a batch, below the root."""

    nodes: slice
    pairs: list[tuple[int, int, int]]  # each pair that remembers, and its nodes, from the first
    n_forgetful: int  # forgetful transitions lead to so many of the nodes, the first ones
    families: Runs  # the nodes by their parent, from the first


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
    by_group, by_pair, by_step, by_entry
        All nodes by their group, by the pair that leads to them, by their step, and those of
        forgetful transitions by their context.
    """

    nodes: IntArray
    visits: FloatArray
    parents: IntArray
    steps: IntArray
    contexts: IntArray
    levels: list[GroupLevel]
    by_group: list[tuple[int, IntArray]]
    by_pair: list[tuple[int, IntArray]]
    by_step: Runs
    by_entry: Runs


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
    order = np.lexsort((pairs, levels))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    parents, pairs, groups, symbols = (
        place[parents[order]],
        pairs[order],
        groups[order],
        symbols[order],
    )
    steps = np.searchsorted(table.steps, groups[parents] * layout.n_symbols + symbols)
    inner = np.arange(1, n)
    contexts = groups % n_contexts
    visits = batch.counts.sum(axis=1)[order] / batch.n_letters
    bounds = pairwise(np.cumsum(batch.sizes).tolist())
    return GroupBatch(
        batch.nodes[order],
        visits.astype(np.float32)[:, None],
        parents,
        steps,
        contexts,
        [_level(slice(*each), pairs, parents) for each in bounds],
        Runs.by(groups, np.arange(n)).each(),
        Runs.by(pairs, inner[pairs[1:] >= 0]).each(),
        Runs.by(steps, inner),
        Runs.by(contexts, inner[pairs[1:] < 0]),
    )


def _level(nodes: slice, pairs: IntArray, parents: IntArray) -> GroupLevel:
    """Return one level; its nodes are sorted by pair, those without one first."""
    own = pairs[nodes]
    n_forgetful = int(np.searchsorted(own, 0))
    bounds = n_forgetful + np.flatnonzero(np.diff(own[n_forgetful:], prepend=-1))
    runs = pairwise([*bounds.tolist(), len(own)])
    families = Runs.by(parents[nodes], np.arange(len(own)))
    return GroupLevel(nodes, [(int(own[i]), i, j) for i, j in runs], n_forgetful, families)
