"""Sums, products and other coordinates: what can be done with automata as functions.

Everything here is a pure function on `WeightedAutomaton` values. See `minimal` for the smallest
automaton of a function, and `balanced` for sums of squares over all words: distances and
approximation.

Weights are brought near 1 by powers of 2, so that nothing is rounded, and the powers are multiplied
back into the result.
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.gramians import EPS, Powers, shifted, to_unit
from seqray.util.arrays import real_array
from seqray.util.errors import ArgumentError, SymbolError

log = logging.getLogger(__name__)


def add(a: WeightedAutomaton, b: WeightedAutomaton) -> WeightedAutomaton:
    """Return the automaton that gives each word ``a(w) + b(w)``.

    It is the direct sum, of ``a.n_states + b.n_states`` states.

    Examples
    --------
    >>> half = WeightedAutomaton("a", [1], [[[0.5]]], [1])
    >>> add(half, half).weights(["", "a"])
    array([2., 1.])
    """
    check_same_alphabet(a, b)
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
    check_same_alphabet(a, b)
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


def check_same_alphabet(a: WeightedAutomaton, b: WeightedAutomaton) -> None:
    """Raise a `SymbolError` unless both automata have the same alphabet."""
    if a.alphabet != b.alphabet:
        raise SymbolError(f"expected automata over one alphabet, got {a.alphabet} and {b.alphabet}")
