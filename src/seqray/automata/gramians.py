"""Solving for the Gramians of an automaton, which sum squares over all words.

And before that, scaling by powers of 2, which rounds nothing, so that squares stay within float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

DIRECT_STATES = 40
"""Up to so many states Gramians come from one dense solve; above, from Krylov iterations."""

MAX_TRANSITION = 1e150
"""Transitions beyond it have squares that float64 cannot sum."""

EPS = float(np.finfo(float).eps)


def solve_gramians(a: WeightedAutomaton) -> tuple[FloatArray, FloatArray] | None:
    """Return the Gramians P and Q, see `gramians`; None where the sums diverge.

    Both have shape ``(n_states, n_states)``. Initial and final weights are best near 1.

    Examples
    --------
    >>> solve_gramians(WeightedAutomaton("a", [1], [[[0.5]]], [3]))[1].round(9)
    array([[12.]])
    >>> solve_gramians(WeightedAutomaton("a", [1], [[[1]]], [3])) is None
    True
    """
    if np.abs(a.transitions).max() > MAX_TRANSITION:
        return None
    solve = _solve_directly
    if a.n_states > DIRECT_STATES:
        solve = _solve_by_krylov if len(a.alphabet) > 1 else _solve_by_doubling
    # L(X) = ΣMᵀXM keeps matrices positive. Its spectral radius is below 1 exactly if X = I + L(X)
    # has a positive solution: then X − L(X) = I > 0 (Perron and Frobenius, for positive maps).
    sources: list[FloatArray] = [np.eye(a.n_states), np.outer(a.initial, a.initial)]
    forward = solve(a.transitions, sources)
    if forward is None or np.linalg.eigvalsh(forward[0])[0] < 0.5:
        return None
    backward = solve(a.transitions.transpose(0, 2, 1), [np.outer(a.final, a.final)])
    return None if backward is None else (forward[1], backward[0])


# Powers of 2 --------------------------------------------------------------------------------------


class Powers(NamedTuple):
    """Exponents of the powers of 2 that an automaton's weights are multiplied by."""

    initial: int = 0
    symbols: IntArray | int = 0
    """One for the matrix of each symbol, shape ``(n_symbols,)``, or one for all."""
    final: int = 0


def to_unit(a: WeightedAutomaton) -> tuple[WeightedAutomaton, Powers]:
    """Bring the largest initial and final weight, and that of each symbol, to [1/2, 1).

    Also return the powers that lead back. What is 0 stays.

    Examples
    --------
    >>> unit, powers = to_unit(WeightedAutomaton("a", [3], [[[1e-200]]], [0]))
    >>> unit.initial, powers
    (array([0.75]), Powers(initial=2, symbols=array([-664]...), final=0))
    """
    start, symbols, end = (
        np.frexp(np.abs(part).max(axis=-1))[1]
        for part in (a.initial, a.transitions.reshape(len(a.alphabet), -1), a.final)
    )
    powers = Powers(int(start), symbols.astype(int), int(end))
    return shifted(a, Powers(-powers.initial, -powers.symbols, -powers.final)), powers


def shifted(a: WeightedAutomaton, powers: Powers) -> WeightedAutomaton:
    """Multiply the weights of an automaton by powers of 2.

    Examples
    --------
    >>> shifted(WeightedAutomaton("a", [3], [[[0.5]]], [1]), Powers(1, 2, 3)).weights(["", "a"])
    array([48., 96.])
    """
    parts = (
        times_power(a.initial, powers.initial),
        times_power(a.transitions, np.reshape(powers.symbols, (-1, 1, 1))),
        times_power(a.final, powers.final),
    )
    if not all(np.isfinite(part).all() for part in parts):
        raise ArgumentError("the result has weights beyond the largest float64, 1.8e308")
    return WeightedAutomaton(a.alphabet, *parts)


def times_power(numbers: FloatArray, exponent: IntArray | int) -> FloatArray:
    """Return numbers · 2**exponent, infinite or 0 where float64 ends.

    Examples
    --------
    >>> times_power(np.array([3.0, -1e300]), 30)
    array([3.22122547e+09,           -inf])
    """
    with np.errstate(over="ignore"):
        return np.ldexp(numbers, exponent)


def scale_by_reach(a: WeightedAutomaton) -> tuple[WeightedAutomaton, int]:
    """Measure each state by the weight with which words reach it, all weights by the largest.

    No initial weight and no transition on the best path to a state is then far from 1, so that
    squares neither overflow nor vanish, and what is reached faintly keeps its digits. All factors
    are powers of 2: nothing is rounded.

    Returns
    -------
    scaled, exponent
        ``a`` gives each word 2**exponent times the weight that ``scaled`` gives it; the exponent
        is even.

    Examples
    --------
    >>> chain = WeightedAutomaton("a", [1, 0], [[[0, 1e-200], [0, 0]]], [0, 1e-50])
    >>> scaled, exponent = scale_by_reach(chain)
    >>> scaled.transitions[0, 0, 1] > 0.5, scaled.final[1] > 0.5, exponent
    (np.True_, np.True_, -830)
    """
    height = _exponents(a.initial)
    rise = _exponents(np.abs(a.transitions).max(axis=0))
    waiting = np.ones(a.n_states, bool)
    while (waiting & (height > -np.inf)).any():  # Dijkstra, for the largest product along a path
        state = int(np.where(waiting, height, -np.inf).argmax())
        waiting[state] = False
        height = np.where(waiting, np.maximum(height, height[state] + rise[state]), height)
    height[waiting] = 0  # never reached
    top = (height + _exponents(a.final)).max()
    top = 2 * int(top // 2) if top > -np.inf else 0
    power = height.astype(int)
    # Cycles may grow beyond float64: then the sums diverge, and any large number says so.
    transitions = np.nan_to_num(times_power(a.transitions, power[:, None] - power))
    initial, final = np.ldexp(a.initial, -power), np.ldexp(a.final, power - top)
    return WeightedAutomaton(a.alphabet, initial, transitions, final), top


def _exponents(array: FloatArray) -> FloatArray:
    """Return e with 2**(e − 1) <= |x| < 2**e; -inf for 0."""
    return np.where(array == 0, -np.inf, np.frexp(array)[1])


# Solvers ------------------------------------------------------------------------------------------


def _solve_directly(transitions: FloatArray, sources: list[FloatArray]) -> list[FloatArray] | None:
    """Solve X = S + ΣMᵀXM for symmetric X in their n(n+1)/2 coordinates; None if singular."""
    n = transitions.shape[1]
    i, j = np.triu_indices(n)
    weight = np.where(i == j, 1.0, np.sqrt(2.0))
    system = np.zeros((len(i), len(i)))
    for matrix in transitions:
        rows, columns = matrix[i], matrix[j]
        system += rows[:, i] * columns[:, j]
        system += columns[:, i] * rows[:, j]
    system *= weight[:, None] * (weight / 2)
    packed = np.stack([weight * source[i, j] for source in sources], axis=1)
    try:
        solved = np.linalg.solve(np.eye(len(i)) - system.T, packed)
    except np.linalg.LinAlgError:
        return None
    solutions = np.empty((len(sources), n, n))
    solutions[:, i, j] = solutions[:, j, i] = (solved / weight[:, None]).T
    return list(solutions)


def _solve_by_doubling(
    transitions: FloatArray, sources: list[FloatArray]
) -> list[FloatArray] | None:
    """Solve X = S + MᵀXM for one symbol (Smith): X ← X + MᵀXM, M ← M²; None if it diverges."""
    matrix, size = transitions[0], 1.0
    for _ in range(64):
        if not 1e-20 < size < 1e50:
            break
        sources = [source + matrix.T @ source @ matrix for source in sources]
        matrix = matrix @ matrix
        size = float(np.linalg.norm(matrix))
    return [(source + source.T) / 2 for source in sources] if size <= 1e-20 else None


def _solve_by_krylov(transitions: FloatArray, sources: list[FloatArray]) -> list[FloatArray] | None:
    """Solve X = S + ΣMᵀXM by GMRES, refined; directly if that does not converge."""
    from scipy.sparse.linalg import LinearOperator, gmres  # noqa: PLC0415

    n = transitions.shape[1]
    stacked = transitions.reshape(-1, n).T

    def gap(flat: FloatArray) -> FloatArray:
        square = flat.reshape(n, n)
        return np.ravel(square - stacked @ (square @ transitions).reshape(-1, n))

    operator = LinearOperator((n * n, n * n), matvec=gap, dtype=float)
    solutions: list[FloatArray] = []
    for source in sources:
        solution, residual = np.zeros(n * n), np.ravel(source)
        for _ in range(12):  # each round gains the five digits that GMRES stops at
            size = np.linalg.norm(residual)
            if size <= 8 * EPS * np.linalg.norm(solution):
                break
            solution += size * gmres(operator, residual / size, restart=100, maxiter=5)[0]
            residual = np.ravel(source) - gap(solution)
        if np.linalg.norm(residual) > 1e-10 * np.linalg.norm(solution):
            return _solve_directly(transitions, sources)
        square = solution.reshape(n, n)
        solutions.append((square + square.T) / 2)
    return solutions
