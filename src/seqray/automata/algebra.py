"""Sums, products, minimal forms, distances: what can be done with automata as functions.

Everything here is a pure function on `WeightedAutomaton` values. The Gramians and the balanced
form are those of Balle, Panangaden and Precup (2015), "A canonical form for weighted automata and
applications to approximate minimization".

Squares of weights are needed in many places. Weights are brought near 1 for them, by powers of 2 so
that nothing is rounded, and the powers are multiplied back into the result.
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.gramians import (
    LARGEST,
    Powers,
    scale_by_reach,
    shifted,
    solve_gramians,
    times_power,
    to_unit,
)
from seqray.automata.span import extended, perpendicular
from seqray.util.arrays import FloatArray, IntArray, read_only, real_array
from seqray.util.errors import ArgumentError, RankError, SymbolError

log = logging.getLogger(__name__)

EPS = float(np.finfo(float).eps)

CLEAR = 16.0
"""How many standard deviations of its rounding errors a number must have to be one."""

# Sums, products and the like ----------------------------------------------------------------------


def add(a: WeightedAutomaton, b: WeightedAutomaton) -> WeightedAutomaton:
    """Return the automaton that gives each word ``a(w) + b(w)``.

    It is the direct sum, of ``a.n_states + b.n_states`` states.

    Examples
    --------
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> add(half, half).weights(["", "a"])
    array([2., 1.])
    """
    _same_alphabet(a, b)
    n = a.n_states
    transitions = np.zeros((len(a.alphabet), n + b.n_states, n + b.n_states))
    transitions[:, :n, :n], transitions[:, n:, n:] = a.transitions, b.transitions
    return WeightedAutomaton(
        a.alphabet,
        np.concatenate([a.initial, b.initial]),
        transitions,
        np.concatenate([a.final, b.final]),
    )


def multiply(a: WeightedAutomaton, b: WeightedAutomaton) -> WeightedAutomaton:
    """Return the automaton that gives each word ``a(w) · b(w)``, the Hadamard product.

    It is the Kronecker product, of ``a.n_states * b.n_states`` states.

    Examples
    --------
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> multiply(half, half).weights(["", "a"])
    array([1.  , 0.25])
    """
    _same_alphabet(a, b)
    return WeightedAutomaton(
        a.alphabet,
        np.kron(a.initial, b.initial),
        [np.kron(left, right) for left, right in zip(a.transitions, b.transitions, strict=True)],
        np.kron(a.final, b.final),
    )


def scale(a: WeightedAutomaton, factor: float) -> WeightedAutomaton:
    """Return the automaton that gives each word ``factor · a(w)``.

    The initial weights are multiplied; where these would leave float64, the final weights take a
    half of what there is.

    Examples
    --------
    >>> scale(WeightedAutomaton("a", [1], [[[0.5]]], [1]), -3).weights(["", "a"])
    array([-3. , -1.5])
    """
    mantissa, exponent = np.frexp(real_array("factor", factor, ()))
    unit, powers = to_unit(a)
    start, end = powers.initial + int(exponent), powers.final
    if mantissa and not -1000 < start < 1000:
        total = start + end
        if total > 1020 and abs(factor) > 1:
            digits = (powers.initial + powers.final) * np.log10(2)
            raise ArgumentError(
                f"factor: {factor:.3g} times weights of about 1e{digits:+.0f} is beyond the "
                "largest float64, 1.8e+308"
            )
        start, end = total - total // 2, total // 2
    times = WeightedAutomaton(a.alphabet, unit.initial * mantissa, unit.transitions, unit.final)
    return shifted(times, Powers(start, powers.symbols, end))


def reverse(a: WeightedAutomaton) -> WeightedAutomaton:
    """Return the automaton that gives each word the weight of its mirror image.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1, 0], [[[0, 1], [0, 0]], [[0, 0], [0, 1]]], [0, 1])
    >>> wa.weights(["ab", "ba"]), reverse(wa).weights(["ab", "ba"])
    (array([1., 0.]), array([0., 1.]))
    """
    return a.mirror


def change_basis(a: WeightedAutomaton, matrix: ArrayLike) -> WeightedAutomaton:
    """Return the same function in other coordinates: ``α₀B``, ``B⁻¹MσB``, ``B⁻¹α∞``.

    B is ``matrix``, of shape ``(n_states, n_states)``. One that is singular to working precision is
    refused; for one that is merely ill-conditioned a warning is logged.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [1, 0], [[[0.5, 0.5], [0, 0.25]]], [0, 1])
    >>> other = change_basis(wa, [[1, 1], [0, 2]])
    >>> other.initial, other.weight("aa") == wa.weight("aa")
    (array([1., 1.]), True)
    """
    basis = real_array("matrix", matrix, (a.n_states, a.n_states))
    sizes = np.linalg.svd(basis, compute_uv=False)
    if sizes[-1] <= a.n_states * EPS * sizes[0]:
        raise ArgumentError(
            f"matrix: expected an invertible matrix, got singular values from {sizes[0]:.3g} "
            f"down to {sizes[-1]:.3g}, singular to working precision"
        )
    condition = sizes[0] / sizes[-1]
    if condition > 1e8:
        log.warning(
            "change of basis by an ill-conditioned matrix (condition number %.1e): "
            "expect relative errors of %.0e in the weights",
            *(condition, condition * EPS),
        )
    return WeightedAutomaton(
        a.alphabet,
        a.initial @ basis,
        np.linalg.solve(basis, a.transitions @ basis),
        np.linalg.solve(basis, a.final),
    )


# Minimal form and equivalence ---------------------------------------------------------------------


def minimise(a: WeightedAutomaton, *, tolerance: float = 1e-9) -> WeightedAutomaton:
    """Return an automaton for the same function with as few states as possible.

    What no word can tell apart is dropped first, then what no word reaches (Schützenberger). The
    result has as many states as the rank of the function's Hankel matrix; one state, all weights
    0, for the function that is 0 everywhere.

    Parameters
    ----------
    tolerance
        A direction of the state space counts as reached when, from directions already known, a
        symbol's matrix (of norm 1) leads to it with more than this weight.

    Examples
    --------
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> twice = add(half, half)
    >>> minimise(twice), round(minimise(twice).weight("a"), 9)
    (WeightedAutomaton(1 states, 1 symbols), 1.0)
    """
    return _minimal(a, 4 * EPS, tolerance)


def equivalent(a: WeightedAutomaton, b: WeightedAutomaton, *, tolerance: float = 1e-9) -> bool:
    """Whether two automata give every word the same weight.

    All words are covered, not a sample of them: the states that the difference a − b can reach
    span a finite space, and each direction of it must read 0. Sums over all words are not needed,
    so the test also works where they diverge.

    ``tolerance`` is how far from 0 a reading may be, relative to the terms that cancel in it.

    Examples
    --------
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> equivalent(add(half, half), scale(half, 2)), equivalent(half, scale(half, 2))
    (True, False)
    """
    _same_alphabet(a, b)
    # A word's letters weigh the same in both; their sizes may be left out.
    symbols = np.maximum(to_unit(a)[1].symbols, to_unit(b)[1].symbols)
    difference = _difference(a, b, symbols)[0]
    basis, noise = _reachable_basis(difference, _rounding(difference, 4 * EPS), tolerance)
    readings = np.abs(basis @ difference.final)
    terms = np.abs(basis) @ np.abs(difference.final)
    unsure = CLEAR * np.sqrt(noise @ difference.final**2)
    return bool((readings <= np.maximum(tolerance * terms, unsure)).all())


def _difference(
    a: WeightedAutomaton, b: WeightedAutomaton, symbols: IntArray | int = 0
) -> tuple[WeightedAutomaton, int]:
    """Return a − b divided by a power of 2, such that its largest weights are near 1; the power."""
    (a, left), (b, right) = to_unit(a), to_unit(b)
    exponents = left.initial + left.final, right.initial + right.final
    # A function without weights has no size.
    top = max((e for e, x in zip(exponents, (a, b), strict=True) if _has_ends(x)), default=0)
    a, b = (
        shifted(x, Powers(0, powers.symbols - symbols, e - top if _has_ends(x) else 0))
        for x, powers, e in zip((a, b), (left, right), exponents, strict=True)
    )
    return add(a, WeightedAutomaton(b.alphabet, -b.initial, b.transitions, b.final)), top


def _has_ends(a: WeightedAutomaton) -> bool:
    return bool(a.initial.any() and a.final.any())


def _rounding(a: WeightedAutomaton, error: float) -> WeightedAutomaton:
    """Return the variances of rounding errors in an automaton's numbers; an exact 0 has none."""
    parts = ((error * part) ** 2 for part in (a.initial, a.transitions, a.final))
    return WeightedAutomaton(a.alphabet, *parts)


def _reachable_basis(
    a: WeightedAutomaton, variance: WeightedAutomaton, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of span{α₀M_w}, as rows, and their variances.

    The candidate reached with most weight is always taken next (pivoting), so that directions
    known badly come last. Matrices are scaled to norm 1: a rare symbol is as real as any. What
    does not stand out clearly from the rounding errors that led to it is no direction.
    """
    size = float(np.linalg.norm(a.initial)) or 1.0
    sizes = np.linalg.norm(a.transitions, axis=(1, 2))[:, None, None]
    sizes[sizes == 0] = 1
    matrices, squares = a.transitions / sizes, (a.transitions / sizes) ** 2
    errors = variance.transitions / sizes**2
    basis: FloatArray = np.empty((0, a.n_states))
    noise = np.empty((0, a.n_states))
    candidates, doubts = a.initial[None, :] / size, variance.initial[None, :] / size**2
    origins = np.ones(1)
    while len(basis) < a.n_states:
        residuals = np.linalg.norm(candidates, axis=1)
        clear = (np.abs(candidates) > CLEAR * np.sqrt(doubts)).any(axis=1) & (residuals > tolerance)
        if not clear.any():
            break
        best = int(np.where(clear, residuals * origins, 0).argmax())
        basis = extended(basis, candidates[best] / residuals[best])
        found = basis[-1:]
        doubt = np.minimum(doubts[best : best + 1] / residuals[best] ** 2, 1)
        noise = np.concatenate([noise, doubt])
        height = residuals[best] * origins[best]
        left = np.arange(len(candidates)) != best
        fresh = perpendicular((found @ matrices)[:, 0], basis)
        candidates = np.concatenate([perpendicular(candidates[left], found), fresh])
        fresh = (found**2 @ errors + doubt @ squares)[:, 0]
        doubts = np.concatenate([doubts[left], fresh])
        origins = np.append(origins[left], np.full(len(fresh), height))
    return basis, noise


def _minimal(a: WeightedAutomaton, error: float, tolerance: float) -> WeightedAutomaton:
    """Return the minimal automaton, where the numbers of ``a`` have a relative error."""
    a, powers = to_unit(a)
    variance = _rounding(a, error)
    start, symbols, end = powers.initial, powers.symbols, powers.final
    for _ in range(2):  # what no word tells apart, then what no word reaches
        a, variance = _reachable_part(reverse(a), reverse(variance), tolerance)
        start, end = end, start
        # What is left may be small in all.
        a, more = to_unit(a)
        # Variances go with squares; in [1/2, 1) none above 1 says more than 1 does.
        variances = (
            times_power(variance.initial, -2 * more.initial),
            times_power(variance.transitions, -2 * np.reshape(more.symbols, (-1, 1, 1))),
            times_power(variance.final, -2 * more.final),
        )
        variance = WeightedAutomaton(a.alphabet, *(np.minimum(part, 1) for part in variances))
        start, symbols, end = start + more.initial, symbols + more.symbols, end + more.final
    return shifted(a, Powers(start, symbols, end))


def _reachable_part(
    a: WeightedAutomaton, variance: WeightedAutomaton, tolerance: float
) -> tuple[WeightedAutomaton, WeightedAutomaton]:
    """Restrict an automaton and its variances to the space that words reach."""
    basis, noise = _reachable_basis(a, variance, tolerance)
    squares, final = basis**2, basis @ a.final
    doubt = squares @ variance.final + noise @ a.final**2
    if (np.abs(final) <= CLEAR * np.sqrt(doubt)).all():
        zero = WeightedAutomaton(a.alphabet, [0], np.zeros((len(a.alphabet), 1, 1)), [0])
        return zero, zero
    initial, transitions = a.initial @ basis.T, basis @ a.transitions @ basis.T
    variances = (squares @ variance.initial, squares @ variance.transitions @ squares.T, doubt)
    return (
        WeightedAutomaton(a.alphabet, initial, transitions, final),
        WeightedAutomaton(a.alphabet, *variances),
    )


# Gramians, Hankel singular values, approximation --------------------------------------------------


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
    if largest > LARGEST:
        raise ArgumentError(
            f"transitions: expected numbers up to {LARGEST:g}, whose squares float64 can sum, got "
            f"{largest:.3g}"
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
    found = solve_gramians(a)
    if found is None:
        raise ArgumentError(
            "the squared weights of all words do not sum: expected the spectral radius of "
            "Σ Mσ⊗Mσ to be below 1, it is not"
        )
    return found


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

    The squared weights of ``a`` must sum, see `gramians`. Asking for more than the minimal number
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
    kept = balanced.truncate(min(n_states, balanced.n_states))
    return shifted(kept, Powers(exponent // 2, 0, exponent // 2))


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
        kept = sizes > sizes[0] * EPS**2
        u, sizes, vt = u[:, kept], sizes[kept], vt[kept]
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


# Distances ----------------------------------------------------------------------------------------


def distance(a: WeightedAutomaton, b: WeightedAutomaton) -> float:
    """Return the exact L2 distance, sqrt(Σ_w (a(w) − b(w))²), over all words.

    It is infinite where the sum diverges.

    Examples
    --------
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> round(distance(half, scale(half, 2)) ** 2, 9)
    1.333333333
    >>> same = WeightedAutomaton("a", [1], [[[1]]], [1])
    >>> distance(same, half), distance(same, same)
    (inf, 0.0)
    """
    _same_alphabet(a, b)
    difference, top = _difference(a, b)
    # First every digit of a small difference; if that diverges, only what is clear of rounding.
    for error in (0.0, 4 * EPS):
        # With states measured by how they are reached, a small difference keeps its digits.
        scaled, exponent = scale_by_reach(_minimal(difference, error, 1e-12))
        found = solve_gramians(scaled)
        if found is not None:
            square = max(float(scaled.initial @ found[1] @ scaled.initial), 0.0)
            return float(times_power(np.sqrt(square), exponent + top))
    return 0.0 if equivalent(a, b) else float("inf")


def inner_product(a: WeightedAutomaton, b: WeightedAutomaton) -> float:
    """Return Σ_w a(w)·b(w) over all words.

    The squared weights of each must sum, see `gramians`.

    Examples
    --------
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> round(inner_product(half, scale(half, 3)), 9)
    4.0
    """
    _same_alphabet(a, b)
    (a, left), (b, right) = (scale_by_reach(minimise(x)) for x in (a, b))
    observability = _summed(add(a, b))[1]
    product = a.initial @ observability[: a.n_states, a.n_states :] @ b.initial
    return float(times_power(product, left + right))


def _same_alphabet(a: WeightedAutomaton, b: WeightedAutomaton) -> None:
    if a.alphabet != b.alphabet:
        raise SymbolError(f"expected automata over one alphabet, got {a.alphabet} and {b.alphabet}")
