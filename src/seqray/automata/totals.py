"""The summed weight of all words, and of all that can follow each state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seqray.util.arrays import FloatArray

TOTAL_TOLERANCE = 0.1
"""How far the weight of all words may be from 1 where they count as a distribution."""

SOLUTION_TOLERANCE = 1e-6
"""What a solution of a linear equation may be off by, relative to what it is to give."""

N_SUMMED_LENGTHS = 10
"""Words shorter than this are summed to see whether weights are a distribution."""


def continuation_weights(step: FloatArray, final: FloatArray) -> FloatArray:
    """Return α̃∞ = (I − M)⁻¹ α∞, the summed weight of all that can follow each state.

    Below spectral radius 1 it is the limit of Σ Mⁿα∞. Above, that sum does not exist and this is
    its analytic continuation, the solution of the same linear equation. Where I − M is singular
    (states that never stop) the never-stopping part counts nothing: that is again the limit of the
    sum, if there is one. Where there is none, it is the least-squares solution.

    Parameters
    ----------
    step
        M = ΣMσ, shape ``(n_states, n_states)``.
    final
        α∞, shape ``(n_states,)``.

    Examples
    --------
    >>> continuation_weights(np.array([[0.5, 0.25], [0.0, 1.0]]), np.array([0.25, 0.0]))
    array([0.5, 0. ])
    """
    n_states = len(final)
    gap = np.eye(n_states) - step
    left, sizes, right = np.linalg.svd(gap)
    lost = sizes <= 16 * n_states * np.finfo(float).eps * max(1.0, sizes[0])
    if not lost.any():
        return np.linalg.solve(gap, final)
    kernel, cokernel = right[lost].T, left[:, lost].T
    core = cokernel @ kernel
    # Where rows and columns are nearly orthogonal, an eigenvalue is defective: there is no limit.
    if np.linalg.svd(core, compute_uv=False).min() < 1e-8:
        return np.linalg.lstsq(gap, final, rcond=None)[0]
    never = kernel @ np.linalg.solve(core, cokernel)  # the projector on what never stops
    weights = np.linalg.solve(gap + never, final - never @ final)
    # What never stops weighs nothing; its rounding errors must not be read as weights.
    weights[np.abs(weights) <= 16 * n_states * np.finfo(float).eps * np.abs(weights).max()] = 0
    return weights


def weight_of_all(
    initial: FloatArray, after_one: FloatArray, continuation: FloatArray, final: FloatArray
) -> float:
    """Return α₀ᵀ α̃∞, the weight of all words; nan where their sum has no value.

    The relative error is about 1e-15 divided by what the spectral radius of M lacks to 1. There is
    no value where α̃∞, ``continuation``, does not solve (I − M) α̃∞ = α∞: at spectral radius 1, or so
    near to it that float64 cannot tell. ``after_one`` is M α̃∞.

    >>> weight_of_all(np.ones(1), np.array([1.0]), np.array([2.0]), np.ones(1))
    2.0
    >>> weight_of_all(np.ones(1), np.array([0.0]), np.array([0.0]), np.ones(1))
    nan
    """
    size = np.abs(final).max() + SOLUTION_TOLERANCE * np.abs(continuation).max()
    error = np.abs(continuation - after_one - final).max()
    return float(initial @ continuation) if error <= SOLUTION_TOLERANCE * size else float("nan")


def short_words_sum(
    initial: FloatArray, step: Callable[[FloatArray], FloatArray], final: FloatArray
) -> bool:
    """Whether words up to every short length weigh, together, between about 0 and about 1.

    ``step`` multiplies a state by ΣMσ.

    >>> short_words_sum(np.ones(1), lambda state: state / 2, np.full(1, 0.5))
    True
    >>> short_words_sum(np.ones(1), lambda state: state / 2, np.full(1, 2.0))
    False
    """
    state, total = initial, 0.0
    for _ in range(N_SUMMED_LENGTHS):
        total += float(state @ final)
        if not -TOTAL_TOLERANCE < total < 1 + TOTAL_TOLERANCE:
            return False
        state = step(state)
    return True
