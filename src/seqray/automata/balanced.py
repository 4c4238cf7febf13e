"""Squared weights summed over all words: Gramians, singular values, distances, approximation.

The Gramians and the balanced form are those of Balle, Panangaden and Precup (2015), "A canonical
form for weighted automata and applications to approximate minimization".
"""

from __future__ import annotations

import numpy as np

from seqray.automata.algebra import add, check_same_alphabet
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.gramians import (
    EPS,
    MAX_TRANSITION,
    Powers,
    scale_by_reach,
    shifted,
    solve_gramians,
    times_power,
    to_unit,
)
from seqray.automata.minimal import equivalent, minimal_form, minimise, scaled_difference
from seqray.util.arrays import FloatArray, read_only
from seqray.util.errors import ArgumentError, RankError


def gramians(a: WeightedAutomaton) -> tuple[FloatArray, FloatArray]:
    """Return the reachability and the observability Gramian.

    They are P = Σ_w (α₀M_w)ᵀ(α₀M_w) and Q = Σ_w (M_wα∞)(M_wα∞)ᵀ over all words, and solve
    P = α₀α₀ᵀ + Σσ MσᵀPMσ and Q = α∞α∞ᵀ + Σσ MσQMσᵀ. Where the sums diverge (the spectral radius of
    Σσ Mσ⊗Mσ is not below 1) an `ArgumentError` says so.

    Both are symmetric, of shape ``(n_states, n_states)``. Entries beyond float64 are infinite.

    Examples
    --------
    >>> reachability, observability = gramians(WeightedAutomaton("a", [3], [[[0.5]]], [1]))
    >>> reachability.round(9), observability.round(9)
    (array([[12.]]), array([[1.33333333]]))
    """
    largest = float(np.abs(a.transitions).max())
    if largest > MAX_TRANSITION:
        raise ArgumentError(
            f"transitions: expected numbers up to {MAX_TRANSITION:g}, whose squares float64 can "
            f"sum, got {largest:.3g}"
        )
    unit, powers = to_unit(a)
    unit = WeightedAutomaton(a.alphabet, unit.initial, a.transitions, unit.final)
    reachability, observability = _summed(unit)
    return (
        times_power(reachability, 2 * powers.initial),
        times_power(observability, 2 * powers.final),
    )


def _summed(a: WeightedAutomaton) -> tuple[FloatArray, FloatArray]:
    """Return the Gramians, or say that the sums diverge."""
    both = solve_gramians(a)
    if both is None:
        raise ArgumentError(
            "the squared weights of all words do not sum: expected the spectral radius of "
            "Σ Mσ⊗Mσ to be below 1, it is not"
        )
    return both


def singular_values(a: WeightedAutomaton) -> FloatArray:
    """Return the non-zero singular values of the automaton's infinite Hankel matrix.

    They are the square roots of the eigenvalues of PQ, the product of the two `gramians`, largest
    first, and accurate to a few rounding errors of the largest. Shape ``(n,)`` for n states of the
    minimal automaton; a single 0 for the function that is 0 everywhere.

    Examples
    --------
    >>> singular_values(WeightedAutomaton("a", [1], [[[0.5]]], [3])).round(9)
    array([4.])
    """
    _, sizes, exponent = _balanced(a)
    return read_only(times_power(sizes, exponent))


def approximate(a: WeightedAutomaton, n_states: int) -> WeightedAutomaton:
    """Return an automaton of at most ``n_states`` states that is close in L2 distance.

    The automaton is balanced (P = Q = diag(σ), the singular value automaton) and its leading
    states are kept. Nothing is lost when no `singular_values` are dropped. For other cases no bound
    on the error is proven here: on random automata it was never above the sum of those dropped.
    ``distance(a, result)`` is its exact value. The squared weights of the result sum to no more
    than those of ``a``.

    The squared weights of ``a`` must sum, see `gramians`. An ``n_states`` above the minimal number
    of states gives the minimal automaton.

    Examples
    --------
    >>> big = WeightedAutomaton("a", [1, 1], [[[0.5, 0], [0, 0.1]]], [1, 0.01])
    >>> small = approximate(big, 1)
    >>> small, distance(big, small) < 0.01
    (WeightedAutomaton(1 states, 1 symbols), True)
    """
    if n_states < 1:
        raise RankError(f"n_states: expected 1 or more, got {n_states}")
    balanced, _, exponent = _balanced(a)
    # With D = diag(σ₁ … σₙ), the leading block of P = α₀α₀ᵀ + ΣMσᵀPMσ says D ≥ α₀α₀ᵀ + ΣMσᵀDMσ for
    # the weights that are kept. So their Gramian is at most D, and α∞ᵀDα∞ at most α∞ᵀPα∞.
    leading = balanced.truncate(min(n_states, balanced.n_states))
    return shifted(leading, Powers(exponent // 2, 0, exponent // 2))


def _balanced(a: WeightedAutomaton) -> tuple[WeightedAutomaton, FloatArray, int]:
    """Return the minimal automaton with P = Q = diag(σ), and σ; both without a power of 2."""
    a, exponent = scale_by_reach(minimise(a))
    sizes = np.zeros(1)
    # P and Q know σ² up to the rounding of σ₁²; once balanced they know σ up to that of σ₁, so
    # balancing a second time doubles the digits of the small ones.
    for _ in range(2):
        reachability, observability = _summed(a)
        if not reachability.any():
            break
        right, left = _root(reachability).T, _root(observability)
        u, sizes, vt = np.linalg.svd(right @ left)
        large = sizes > sizes[0] * EPS**2
        u, sizes, vt = u[:, large], sizes[large], vt[large]
        roots = np.sqrt(sizes)
        forth, back = left @ vt.T / roots, (u / roots).T @ right
        a = WeightedAutomaton(
            a.alphabet, a.initial @ forth, back @ a.transitions @ forth, back @ a.final
        )
    return a, sizes, exponent


def _root(gramian: FloatArray) -> FloatArray:
    """Return L with LLᵀ = the matrix; eigenvalues lost in rounding are set to its level."""
    values, vectors = np.linalg.eigh(gramian)
    root: FloatArray = vectors * np.sqrt(np.maximum(values, values[-1] * EPS))
    return root


def distance(a: WeightedAutomaton, b: WeightedAutomaton) -> float:
    """Return the exact L2 distance, sqrt(Σ_w (a(w) − b(w))²), over all words.

    It is infinite where the sum diverges.

    Examples
    --------
    >>> from seqray import scale
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> round(distance(half, scale(half, 2)) ** 2, 9)
    1.333333333
    >>> same = WeightedAutomaton("a", [1], [[[1]]], [1])
    >>> distance(same, half), distance(same, same)
    (inf, 0.0)
    """
    check_same_alphabet(a, b)
    difference, top = scaled_difference(a, b)
    # First every digit of a small difference; if that diverges, only what is clear of rounding.
    for error in (0.0, 4 * EPS):
        # With states measured by how they are reached, a small difference keeps its digits.
        scaled, exponent = scale_by_reach(minimal_form(difference, error, 1e-12))
        both = solve_gramians(scaled)
        if both is not None:
            square = max(float(scaled.initial @ both[1] @ scaled.initial), 0.0)
            return float(times_power(np.sqrt(square), exponent + top))
    return 0.0 if equivalent(a, b) else float("inf")


def inner_product(a: WeightedAutomaton, b: WeightedAutomaton) -> float:
    """Return Σ_w a(w)·b(w) over all words.

    The squared weights of each must sum, see `gramians`.

    Examples
    --------
    >>> from seqray import scale
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> round(inner_product(half, scale(half, 3)), 9)
    4.0
    """
    check_same_alphabet(a, b)
    (a, left), (b, right) = (scale_by_reach(minimise(x)) for x in (a, b))
    observability = _summed(add(a, b))[1]
    product = a.initial @ observability[: a.n_states, a.n_states :] @ b.initial
    return float(times_power(product, left + right))
