"""Sums over all words of a structured automaton, without a dense matrix of all its states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqray.automata.structured_blocks import BlockMatrices
from seqray.automata.totals import continuation_weights
from seqray.util.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

MAX_DENSE_STATES = 300
"""Up to so many states, linear equations and eigenvalues are those of a dense matrix."""


def step_sum(blocks: BlockMatrices) -> FloatArray:
    """Return ΣMσ, shape ``(n_states, n_states)``."""
    n = blocks.grouping.n_states
    matrix = np.zeros((n, n))
    for _, origin, target, numbers in blocks.blocks():
        n_rows, n_columns = numbers.shape
        matrix[origin : origin + n_rows, target : target + n_columns] += numbers
    return matrix


def structured_continuations(blocks: BlockMatrices, final: FloatArray) -> FloatArray:
    """Return α̃∞ = (I − ΣMσ)⁻¹ α∞, as `continuation_weights` does for dense matrices.

    States from which no path leads to an end weigh 0. For the others a sparse system is solved;
    where it is singular, its least-squares solution is taken.
    """
    if blocks.grouping.n_states <= MAX_DENSE_STATES:
        return continuation_weights(step_sum(blocks), final)
    from scipy.sparse.linalg import lsmr, splu  # noqa: PLC0415 - loads slowly

    able = np.flatnonzero(blocks.able(final))
    weights = np.zeros(len(final))
    if not len(able):
        return weights
    gap, n_groups = _gap(blocks, able), blocks.grouping.n_groups
    right = np.concatenate([final[able], np.zeros(n_groups)])
    try:
        solution = splu(gap).solve(right)
    except RuntimeError:  # singular
        solution = lsmr(gap, right, atol=1e-14, btol=1e-14)[0]
    weights[able] = solution[: len(able)]
    return weights


def structured_radius(blocks: BlockMatrices) -> float:
    """Return the largest eigenvalue of ΣMσ in size."""
    n = blocks.grouping.n_states
    if n <= MAX_DENSE_STATES:
        return float(np.abs(np.linalg.eigvals(step_sum(blocks))).max())
    from scipy.sparse.linalg import LinearOperator, eigs  # noqa: PLC0415 - loads slowly

    operator = LinearOperator((n, n), matvec=lambda x: blocks.times(x).sum(axis=1), dtype=float)
    largest = eigs(operator, k=1, return_eigenvectors=False, v0=np.ones(n))
    return float(np.abs(largest).max())


def _gap(blocks: BlockMatrices, able: IntArray) -> csc_array:
    """Return I − ΣMσ for some states, with one more unknown for each group.

    A forgetful transition reads its target group only as y = entry · x. With these y as unknowns
    its block need not be written out.
    """
    from scipy.sparse import block_array, csr_array, eye_array  # noqa: PLC0415 - loads slowly

    grouping = blocks.grouping
    n_states, n_groups = grouping.n_states, grouping.n_groups
    states, symbols = np.nonzero(blocks.forgetful & (blocks.emission[:, :-1] != 0))
    targets, weights = blocks.targets[states, symbols], blocks.emission[states, symbols]
    leaving = csr_array((weights, (states, targets)), shape=(n_states, n_groups))
    groups = grouping.group_of_state
    entries = csr_array((blocks.entry, (groups, np.arange(n_states))), shape=(n_groups, n_states))
    inner = eye_array(len(able)) - _remembered(blocks)[able][:, able]
    rows = [inner, -leaving[able]], [-entries[:, able], eye_array(n_groups)]
    return block_array(rows, format="csc")


def _remembered(blocks: BlockMatrices) -> csr_array:
    """Return the matrices in their places, summed over symbols."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - loads slowly

    grouping, kept = blocks.grouping, blocks.remembering
    targets = grouping.next_group[kept.groups, kept.symbols]
    n_columns, sizes = kept.shapes[:, 1], kept.shapes.prod(axis=1)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows, columns = np.divmod(within, np.repeat(n_columns, sizes))
    rows += np.repeat(grouping.offsets[kept.groups], sizes)
    columns += np.repeat(grouping.offsets[targets], sizes)
    shape = grouping.n_states, grouping.n_states
    return coo_array((kept.values[kept.places], (rows, columns)), shape=shape).tocsr()
