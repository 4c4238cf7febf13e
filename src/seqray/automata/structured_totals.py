"""Sums over all words of a structured automaton, without a dense matrix of all its states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqray.automata.grouping import Grouping, Remembering
from seqray.automata.totals import continuation_weights
from seqray.util.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_DENSE_STATES = 300
"""Up to so many states, linear equations are solved with a dense matrix."""

SUM_TOLERANCE = 1e-12
"""How far from 1 the probabilities of what follows a state may sum."""


class StepSum:
    """ΣMσ of a structured automaton as a sparse matrix with a few unknowns more.

    A forgetful transition reads its target group only as ``entry · x``. So there is one more
    unknown for each group, and no block is written out.

    Parameters
    ----------
    grouping
        The groups.
    emission
        The weight of each symbol in each state, shape ``(n_states, n_symbols + 1)``.
    entry
        The vectors with which groups are entered, shape ``(n_states,)``.
    remembering
        The matrices.
    """

    def __init__(
        self, grouping: Grouping, emission: FloatArray, entry: FloatArray, remembering: Remembering
    ) -> None:
        from scipy.sparse import block_array, csr_array  # noqa: PLC0415 - loads slowly

        n_states, n_groups = grouping.n_states, grouping.n_groups
        forgetful = (remembering.index < 0)[grouping.group_of_state]
        states, symbols = np.nonzero(forgetful & (emission[:, :-1] != 0))
        targets = grouping.next_group[grouping.group_of_state[states], symbols]
        weights = emission[states, symbols]
        entered = csr_array((weights, (states, targets)), shape=(n_states, n_groups))
        places = (grouping.group_of_state, np.arange(n_states))
        entries = csr_array((entry, places), shape=(n_groups, n_states))
        remembered = _sparse(grouping, remembering)
        self.parts: tuple[csr_array, csr_array, csr_array] = (remembered, entered, entries)
        self._block = block_array

    @property
    def n_states(self) -> int:
        """The number of states."""
        return int(self.parts[0].shape[0])

    def times(self, vector: FloatArray) -> FloatArray:
        """Return ΣMσ x."""
        remembered, entered, entries = self.parts
        return np.asarray(remembered @ vector + entered @ (entries @ vector))

    def left_times(self, vector: FloatArray) -> FloatArray:
        """Return xᵀ ΣMσ."""
        remembered, entered, entries = self.parts
        return np.asarray(remembered.T @ vector + entries.T @ (entered.T @ vector))

    def dense(self) -> FloatArray:
        """Return ΣMσ, shape ``(n_states, n_states)``."""
        remembered, entered, entries = self.parts
        return np.asarray((remembered + entered @ entries).todense())

    def spectral_radius(self) -> float:
        """Return the largest eigenvalue of ΣMσ in size."""
        if self.n_states <= MAX_DENSE_STATES:
            return float(np.abs(np.linalg.eigvals(self.dense())).max())
        from scipy.sparse.linalg import LinearOperator, eigs  # noqa: PLC0415 - loads slowly

        shape = (self.n_states, self.n_states)
        operator = LinearOperator(shape, matvec=self.times, dtype=np.float64)
        largest = eigs(operator, k=1, return_eigenvectors=False, v0=np.ones(self.n_states))
        return float(np.abs(largest).max())

    def able(self, final: FloatArray) -> BoolArray:
        """Whether a path leads from each state to one whose final weight is not 0."""
        remembered, entered, entries = (abs(each).sign() for each in self.parts)
        able: BoolArray = final != 0
        while True:
            reached = remembered @ able + entered @ (entries @ able)
            wider = able | (np.asarray(reached) > 0)
            if wider.sum() == able.sum():
                return able
            able = wider

    def solve(self, final: FloatArray) -> FloatArray:
        """Return (I − ΣMσ)⁻¹ α∞; see `continuation_weights` for what that is where it is not."""
        if self.n_states <= MAX_DENSE_STATES:
            return continuation_weights(self.dense(), final)
        from scipy.sparse import eye_array  # noqa: PLC0415 - loads slowly
        from scipy.sparse.linalg import lsmr, splu  # noqa: PLC0415

        able = np.flatnonzero(self.able(final))
        remembered, entered, entries = self.parts
        n_groups = entries.shape[0]
        inner = remembered[able][:, able]
        gap = self._block(
            [
                [eye_array(len(able)) - inner, -entered[able]],
                [-entries[:, able], eye_array(n_groups)],
            ],
            format="csc",
        )
        right = np.concatenate([final[able], np.zeros(n_groups)])
        try:
            solution = splu(gap).solve(right)
        except RuntimeError:  # singular
            solution = lsmr(gap, right, atol=1e-14, btol=1e-14)[0]
        weights = np.zeros(self.n_states)
        weights[able] = solution[: len(able)]
        return weights


def _sparse(grouping: Grouping, remembering: Remembering) -> csr_array:
    """Return the matrices in their places, summed over symbols."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - loads slowly

    targets = grouping.next_group[remembering.groups, remembering.symbols]
    n_rows, n_columns = remembering.shapes.T
    sizes = n_rows * n_columns
    within = np.arange(len(remembering.values)) - np.repeat(remembering.offsets[:-1], sizes)
    row, column = np.divmod(within, np.repeat(n_columns, sizes))
    row += np.repeat(grouping.offsets[remembering.groups], sizes)
    column += np.repeat(grouping.offsets[targets], sizes)
    shape = (grouping.n_states, grouping.n_states)
    return coo_array((remembering.values, (row, column)), shape=shape).tocsr()
