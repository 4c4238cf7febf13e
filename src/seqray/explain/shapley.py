"""Exact Shapley values of a word's positions, for the weight that an automaton gives it.

Let v(S) be what is expected of the weight when the positions in S hold the word's symbols and all
others are drawn from a background. The Shapley value of a position is what it adds to v, averaged
over all orders in which positions may become known. These are 2ⁿ sets; for an automaton there is a
short computation. By Owen (1972), with S drawn at random, each other position with probability t,

    φᵢ = ∫₀¹ E[v(S ∪ {i}) − v(S)] dt,

and the expectation is a product of matrices, one per position. It is a polynomial in t of degree
n − 1, so Gauss and Legendre's rule with ⌈n/2⌉ nodes gives the integral exactly.

- Symbols drawn independently: v(S) = α₀ ∏ (M_wⱼ if j ∈ S, else M̄) α∞ with M̄ = Σ p(σ)Mσ, and the
  expectation is L·(M_wᵢ − M̄)·R, where L and R are products of (1−t)M̄ + tM_wⱼ.
- A Markov chain: v(S) = E[f(z) | z_S = w_S]. Between two known positions the chain is a bridge, so
  the expectation is a sum over the last known position before each one. That these values can be
  found in polynomial time was shown by Marzouk and de la Higuera (2024), "On the tractability of
  SHAP explanations under Markovian distributions".

All products stay within float64 by powers of 2, so that long words do not underflow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.purpose import Purpose
from seqray.automata.words import Alphabet, Symbol, Word
from seqray.explain.background import Background
from seqray.explain.markov_shapley import MarkovExpectations, check_possible
from seqray.explain.scaled import (
    EXPONENT_OF_ZERO,
    Scaled,
    at_all_nodes,
    dot,
    rescaled_nodes,
    stacked,
)
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray, read_only
from seqray.util.errors import SymbolError


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues:
    """What each position of a word adds to its weight; made by `shapley_values`.

    All numbers are mantissas times a power of 2, for weights that are too small for float64; the
    properties give plain numbers.

    Parameters
    ----------
    alphabet, word
        What was explained.
    mantissas
        One value per position, shape ``(n,)``.
    ends
        The expected weight where no position is known, and the word's own.
    exponent
        Of the power of 2.
    """

    alphabet: Alphabet
    word: tuple[Symbol, ...]
    mantissas: FloatArray
    ends: tuple[float, float]
    exponent: int

    @property
    def values(self) -> FloatArray:
        """The Shapley value of each position, ``(n,)``; their sum is ``weight − expected``."""
        return read_only(self._plain(self.mantissas))

    @property
    def relative(self) -> FloatArray:
        """The values divided by the larger of the weight and the expected one, in size."""
        largest = max(map(abs, self.ends))
        return read_only(self.mantissas / (largest or 1.0))

    @property
    def expected(self) -> float:
        """The expected weight of a word of this length, drawn from the background."""
        return float(self._plain(np.array(self.ends[0])))

    @property
    def weight(self) -> float:
        """The word's weight."""
        return float(self._plain(np.array(self.ends[1])))

    def _plain(self, mantissas: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # beyond float64: inf says so
            return np.asarray(np.ldexp(mantissas, self.exponent))

    def __repr__(self) -> str:
        pairs = zip(self.word, self.values, strict=True)
        shown = ", ".join([f"{symbol} {value:+.4g}" for symbol, value in pairs][:8])
        more = ", …" if len(self.word) > 8 else ""
        return f"ShapleyValues({self.expected:.4g} → {self.weight:.4g}: {shown}{more})"


def shapley_values(
    automaton: AutomatonLike, word: Word, *, background: Background | None = None
) -> ShapleyValues:
    """Return what each position of a word adds to the weight that an automaton gives it.

    Parameters
    ----------
    automaton
        Any automaton, or what one is in: an extraction, a named automaton, or the path of a run
        folder. To explain the weight of all words with a beginning, give it
        `WeightedAutomaton.prefix_final` as its final weights.
    word
        The word.
    background
        Where the symbols of positions that are not known come from; by default independent
        symbols, as frequent as the automaton expects.

    Examples
    --------
    The weight is the number of ``a``, so each ``a`` adds what it is above the average:

    >>> count = WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]], [[1, 0], [0, 1]]], [0, 1])
    >>> shapley_values(count, "aba", background=Background.uniform("ab"))
    ShapleyValues(1.5 → 2: a +0.5, b -0.5, a +0.5)
    """
    automaton = as_automaton(automaton, purpose=Purpose.READING)
    if background is None:
        background = Background.frequencies(automaton)
    if background.alphabet != automaton.alphabet:
        raise SymbolError(
            f"background: expected one over {automaton.alphabet}, got {background.alphabet}"
        )
    codes = automaton.alphabet.encode(word)
    nodes, weights = np.polynomial.legendre.leggauss(max(1, -(-len(codes) // 2)))
    # Two more nodes give the expectation with no position known, and with all.
    nodes, weights = np.append((1 + nodes) / 2, [0.0, 1.0]), np.append(weights / 2, [0.0, 0.0])
    if background.transitions is None:
        gains, whole = _independent(automaton, codes, background.initial, nodes)
    else:
        check_possible(automaton, codes, background)
        gains, whole = MarkovExpectations(automaton, codes, background, nodes).gains()
    exponent = max(
        int(gains.exponents.max(initial=EXPONENT_OF_ZERO)), int(whole.exponents[-2:].max())
    )
    ends = np.ldexp(whole.values, whole.exponents - exponent)[-2:]
    return ShapleyValues(
        automaton.alphabet,
        automaton.alphabet.decode(codes),
        read_only(np.ldexp(gains.values, gains.exponents - exponent) @ weights),
        (float(ends[0]), float(ends[1])),
        exponent,
    )


def _independent(
    a: WeightedAutomaton, codes: IntArray, probabilities: FloatArray, nodes: FloatArray
) -> tuple[Scaled, Scaled]:
    """Return L·(M_wᵢ − M̄)·R, ``(n, n_nodes)``, and the expectation over all of S."""
    mean, t = np.tensordot(probabilities, a.transitions, 1), nodes[:, None]
    before = [at_all_nodes(a.initial, len(nodes))]
    for code in codes:
        left = before[-1]
        step = (1 - t) * (left.values @ mean) + t * (left.values @ a.transitions[code])
        before.append(rescaled_nodes(step, left.exponents))
    after = at_all_nodes(a.final, len(nodes))
    whole = dot(before[-1], after)
    gains = []
    for at in range(len(codes) - 1, -1, -1):
        matrix = a.transitions[codes[at]]
        gain = Scaled(after.values @ (matrix - mean).T, after.exponents)
        gains.append(dot(before[at], gain))
        step = (1 - t) * (after.values @ mean.T) + t * (after.values @ matrix.T)
        after = rescaled_nodes(step, after.exponents)
    return stacked(gains[::-1], len(nodes)), whole
