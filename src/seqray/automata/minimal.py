"""The smallest automaton of a function, and whether two automata compute the same one.

States that no word reaches or distinguishes are dropped by orthogonalisation. The rounding
errors of each direction are propagated.
"""

from __future__ import annotations

import numpy as np

from seqray.automata.algebra import add, check_same_alphabet, reverse
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.gramians import EPS, Powers, shifted, times_power, to_unit
from seqray.automata.span import extended, perpendicular
from seqray.util.arrays import FloatArray, IntArray

CLEAR_DEVIATIONS = 16.0
"""A number counts as one if it has so many standard deviations of its rounding errors."""


def minimise(a: WeightedAutomaton, *, tolerance: float = 1e-9) -> WeightedAutomaton:
    """Return an automaton for the same function with as few states as possible.

    States that no word distinguishes are dropped first, then those that no word reaches
    (Schützenberger). The result has as many states as the rank of the function's Hankel matrix;
    one state, all weights 0, for the function that is 0 everywhere.

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
    return minimal_form(a, 4 * EPS, tolerance)


def equivalent(a: WeightedAutomaton, b: WeightedAutomaton, *, tolerance: float = 1e-9) -> bool:
    """Whether two automata give every word the same weight.

    All words are covered, not a sample of them: the states that the difference a − b can reach
    span a finite space, and each direction of it must read 0. Sums over all words are not needed,
    so the test also works where they diverge.

    ``tolerance`` is how far from 0 a reading may be, relative to the terms that cancel in it.

    Examples
    --------
    >>> from seqray import scale
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> equivalent(add(half, half), scale(half, 2)), equivalent(half, scale(half, 2))
    (True, False)
    """
    check_same_alphabet(a, b)
    # A word's letters weigh the same in both; their sizes may be left out.
    symbols = np.maximum(to_unit(a)[1].symbols, to_unit(b)[1].symbols)
    difference = scaled_difference(a, b, symbols)[0]
    basis, noise = _reachable_basis(difference, _rounding(difference, 4 * EPS), tolerance)
    readings = np.abs(basis @ difference.final)
    terms = np.abs(basis) @ np.abs(difference.final)
    rounding = CLEAR_DEVIATIONS * np.sqrt(noise @ difference.final**2)
    return bool((readings <= np.maximum(tolerance * terms, rounding)).all())


def scaled_difference(
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
        certain = (np.abs(candidates) > CLEAR_DEVIATIONS * np.sqrt(doubts)).any(axis=1)
        clear = certain & (residuals > tolerance)
        if not clear.any():
            break
        best = int(np.where(clear, residuals * origins, 0).argmax())
        basis = extended(basis, candidates[best] / residuals[best])
        direction = basis[-1:]
        doubt = np.minimum(doubts[best : best + 1] / residuals[best] ** 2, 1)
        noise = np.concatenate([noise, doubt])
        height = residuals[best] * origins[best]
        left = np.arange(len(candidates)) != best
        fresh = perpendicular((direction @ matrices)[:, 0], basis)
        candidates = np.concatenate([perpendicular(candidates[left], direction), fresh])
        fresh = (direction**2 @ errors + doubt @ squares)[:, 0]
        doubts = np.concatenate([doubts[left], fresh])
        origins = np.append(origins[left], np.full(len(fresh), height))
    return basis, noise


def minimal_form(a: WeightedAutomaton, error: float, tolerance: float) -> WeightedAutomaton:
    """Return the minimal automaton, where the numbers of ``a`` have a relative error."""
    a, powers = to_unit(a)
    variance = _rounding(a, error)
    start, symbols, end = powers.initial, powers.symbols, powers.final
    for _ in range(2):  # what no word distinguishes, then what no word reaches
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
    if (np.abs(final) <= CLEAR_DEVIATIONS * np.sqrt(doubt)).all():
        zero = WeightedAutomaton(a.alphabet, [0], np.zeros((len(a.alphabet), 1, 1)), [0])
        return zero, zero
    initial, transitions = a.initial @ basis.T, basis @ a.transitions @ basis.T
    variances = (squares @ variance.initial, squares @ variance.transitions @ squares.T, doubt)
    return (
        WeightedAutomaton(a.alphabet, initial, transitions, final),
        WeightedAutomaton(a.alphabet, *variances),
    )
