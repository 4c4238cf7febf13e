"""Exact Shapley values of a word's positions, for the weight that an automaton gives it.

Let v(S) be what is expected of the weight when the positions in S hold the word's symbols and all
others are drawn from a background. The Shapley value of a position is what it adds to v, averaged
over all orders in which positions may become known. These are 2ⁿ sets; for an automaton there is a
short way. By Owen (1972), with S drawn at random, each other position with probability t,

    φᵢ = ∫₀¹ E[v(S ∪ {i}) − v(S)] dt,

and the expectation is a product of matrices, one a position. It is a polynomial in t of degree
n − 1, so Gauss and Legendre's rule with ⌈n/2⌉ nodes gives the integral exactly.

- Symbols drawn independently: v(S) = α₀ ∏ (M_wⱼ if j ∈ S, else M̄) α∞ with M̄ = Σ p(σ)Mσ, and the
  expectation is L·(M_wᵢ − M̄)·R, where L and R are products of (1−t)M̄ + tM_wⱼ.
- A Markov chain: v(S) = E[f(z) | z_S = w_S]. Between two known positions the chain is a bridge, so
  the expectation is a sum over the last known position before each one. That these values can be
  found in polynomial time was shown by Marzouk and de la Higuera (2024), "On the tractability of
  SHAP explanations under Markovian distributions".

All products are kept within float64 by powers of 2, so that long words do not underflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Alphabet, Symbol, Word
from seqray.explain.background import Background
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray, read_only
from seqray.util.errors import ArgumentError, SymbolError

MAX_WORK, MAX_NUMBERS = 1e13, 1e8
"""The most multiplications, and numbers kept, for a Markov background: they grow with the cube of
the length, and with its square."""

_FAR = -10_000  # the exponent of what is 0


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
        One value a position, shape ``(n,)``.
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
    >>> found = shapley_values(count, "aba", background=Background.uniform("ab"))
    >>> found
    ShapleyValues(1.5 → 2: a +0.5, b -0.5, a +0.5)
    """
    automaton = as_automaton(automaton)
    if background is None:
        background = Background.frequencies(automaton)
    if background.alphabet != automaton.alphabet:
        raise SymbolError(
            f"background: expected one over {automaton.alphabet}, got {background.alphabet}"
        )
    codes = automaton.alphabet.encode(word)
    nodes, weights = np.polynomial.legendre.leggauss(max(1, -(-len(codes) // 2)))
    # Two more nodes tell what is expected with no position known, and with all.
    nodes, weights = np.append((1 + nodes) / 2, [0.0, 1.0]), np.append(weights / 2, [0.0, 0.0])
    if background.transitions is None:
        gains, whole = _independent(automaton, codes, background.initial, nodes)
    else:
        _check_possible(automaton, codes, background)
        gains, whole = _Markov(automaton, codes, background, nodes).found()
    exponent = max(int(gains.exponents.max(initial=_FAR)), int(whole.exponents[-2:].max()))
    ends = np.ldexp(whole.values, whole.exponents - exponent)[-2:]
    return ShapleyValues(
        automaton.alphabet,
        automaton.alphabet.decode(codes),
        read_only(np.ldexp(gains.values, gains.exponents - exponent) @ weights),
        (float(ends[0]), float(ends[1])),
        exponent,
    )


class _Scaled(NamedTuple):
    """Numbers times powers of 2, a column a node: ``values[..., m] * 2 ** exponents[..., m]``."""

    values: FloatArray
    exponents: IntArray


def _scaled(values: FloatArray, exponents: IntArray) -> _Scaled:
    """Bring arrays of shape ``(..., n_nodes, n_states)`` to a size near 1, node by node."""
    axes = tuple(axis for axis in range(values.ndim) if axis != values.ndim - 2)
    sizes = np.abs(values).max(axis=axes)
    shift = np.frexp(sizes)[1].astype(np.int64)
    shifted = np.ldexp(values, -shift[:, None])
    return _Scaled(shifted, np.where(sizes > 0, np.maximum(exponents + shift, _FAR), _FAR))


def _plus(one: _Scaled, other: _Scaled) -> _Scaled:
    """Add vectors, node by node."""
    top = np.maximum(one.exponents, other.exponents)
    parts = (np.ldexp(x.values, (x.exponents - top)[:, None]) for x in (one, other))
    return _scaled(sum(parts), top)  # type: ignore[arg-type]


def _added(one: _Scaled, other: _Scaled) -> _Scaled:
    """Add numbers, node by node."""
    top = np.maximum(one.exponents, other.exponents)
    values = np.ldexp(one.values, one.exponents - top) + np.ldexp(
        other.values, other.exponents - top
    )
    return _Scaled(values, top)


def _dot(left: _Scaled, right: _Scaled) -> _Scaled:
    """Return the products of row and column vectors, node by node."""
    products = np.einsum("mr,mr->m", left.values, right.values)
    return _Scaled(products, left.exponents + right.exponents)


def _everywhere(vector: FloatArray, n_nodes: int, exponent: int = 0) -> _Scaled:
    """Return the same vector at all nodes."""
    return _scaled(np.tile(vector, (n_nodes, 1)), np.full(n_nodes, exponent))


def _stacked(parts: list[_Scaled], n_nodes: int) -> _Scaled:
    """Return what there is at all positions as arrays of shape ``(n, n_nodes)``."""
    values = np.array([part.values for part in parts]).reshape(-1, n_nodes)
    exponents = np.array([part.exponents for part in parts], np.int64).reshape(-1, n_nodes)
    return _Scaled(values, exponents)


# Independent symbols ------------------------------------------------------------------------------


def _independent(
    a: WeightedAutomaton, codes: IntArray, probabilities: FloatArray, nodes: FloatArray
) -> tuple[_Scaled, _Scaled]:
    """Return L·(M_wᵢ − M̄)·R, ``(n, n_nodes)``, and the expectation over all of S."""
    mean, t = np.tensordot(probabilities, a.transitions, 1), nodes[:, None]
    before = [_everywhere(a.initial, len(nodes))]
    for code in codes:
        left = before[-1]
        step = (1 - t) * (left.values @ mean) + t * (left.values @ a.transitions[code])
        before.append(_scaled(step, left.exponents))
    after = _everywhere(a.final, len(nodes))
    whole = _dot(before[-1], after)
    gains = []
    for at in range(len(codes) - 1, -1, -1):
        matrix = a.transitions[codes[at]]
        gain = _Scaled(after.values @ (matrix - mean).T, after.exponents)
        gains.append(_dot(before[at], gain))
        step = (1 - t) * (after.values @ mean.T) + t * (after.values @ matrix.T)
        after = _scaled(step, after.exponents)
    return _stacked(gains[::-1], len(nodes)), whole


# A Markov chain -----------------------------------------------------------------------------------


def _check_possible(a: WeightedAutomaton, codes: IntArray, background: Background) -> None:
    """Refuse words that take too long, or that the background cannot have."""
    n, k = len(codes), len(a.alphabet)
    n_different = len(np.unique(codes))
    n_bridges = min(n**2 / 2, n_different**2 * n)
    work = n * k * n_different * a.n_states**3 + n**3 * a.n_states**2
    if n_bridges * a.n_states**2 > MAX_NUMBERS or work > MAX_WORK:
        raise ArgumentError(
            f"word: {n} symbols of {k}, with {a.n_states} states and a Markov background, are too "
            "many: use a background with independent symbols, or fewer states"
        )
    assert background.transitions is not None
    if background.initial.all() and background.transitions.all():
        return
    reached = background.initial
    for at, code in enumerate(codes):
        if not reached[code] > 0:
            raise _impossible(a.alphabet, codes, at, "there")
        follows = np.eye(k)[code]
        for later in range(at + 1, n):
            follows = follows @ background.transitions
            if not follows[codes[later]] > 0:
                raise _impossible(a.alphabet, codes, later, f"after that at position {at + 1}")
        reached = reached @ background.transitions


def _impossible(alphabet: Alphabet, codes: IntArray, at: int, when: str) -> ArgumentError:
    symbol = alphabet.symbols[codes[at]]
    return ArgumentError(
        f"background: symbol {symbol!r} at position {at + 1} has no probability {when}, so nothing can "
        "be expected where it is known: make all probabilities positive, as Background.bigrams does"
    )


class _Markov:
    """Expectations given what is known at some positions of a Markov chain.

    Between two known positions the chain is a bridge, and what is expected of the matrices there
    depends on the two symbols and their distance alone. At each position F is what is expected of
    α₀ and all matrices up to it, given that it is known, and R the same for all behind it:

        Fⱼ = (1−t)ʲ headⱼ + Σᵢ t(1−t)ʲ⁻ⁱ⁻¹ Fᵢ bridge(i, j)        over i < j, the last one known.
    """

    def __init__(
        self, a: WeightedAutomaton, codes: IntArray, background: Background, nodes: FloatArray
    ) -> None:
        assert background.transitions is not None
        self.automaton, self.codes, self.nodes = a, codes, nodes
        self.initial, self.chain = background.initial, background.transitions
        self.n = len(codes)
        distances = [_power(1 - nodes, d) for d in range(self.n + 1)]
        self.unknown = _stacked(distances, len(nodes))  # (1−t)ᵈ, shape (n + 1, n_nodes)

    def found(self) -> tuple[_Scaled, _Scaled]:
        """Return the gain of each position, ``(n, n_nodes)``, and the expectation over all of S.

        With U that expectation, and Vᵢ that over all S that hold i, the gain of i is
        (Vᵢ − U) / (1 − t), because U = t·Vᵢ + (1 − t)·(the same without i).
        """
        heads, tails = self.heads(), self.tails()
        if not self.n:
            return _stacked([], len(self.nodes)), _dot(heads[0], tails[0])
        which, bridges = self.bridges()
        before: list[_Scaled] = []
        for at, head in enumerate(heads[:-1]):
            origins = np.arange(at)
            before.append(self._joined(head, at, before, which[origins, at], bridges))
        flipped = _Scaled(bridges.values.transpose(0, 2, 1), bridges.exponents)
        after: list[_Scaled] = []  # the last position first
        for at in range(self.n - 1, -1, -1):
            targets = np.arange(self.n - 1, at, -1)
            tail, distance = tails[at + 1], self.n - 1 - at
            after.append(self._joined(tail, distance, after, which[at, targets], flipped))
        whole = _product(self.unknown, self.n, _dot(heads[-1], tails[0]))
        for at, left in enumerate(before):  # the last one known
            last = _product(self.unknown, self.n - 1 - at, _dot(left, tails[at + 1]))
            whole = _added(whole, _Scaled(last.values * self.nodes, last.exponents))
        rest, gains = np.where(self.nodes < 1, 1 - self.nodes, 1.0), []
        for left, right in zip(before, reversed(after), strict=True):
            gain = _added(_dot(left, right), _Scaled(-whole.values, whole.exponents))
            gains.append(_Scaled(gain.values / rest, gain.exponents))
        return _stacked(gains, len(self.nodes)), whole

    def _joined(
        self,
        alone: _Scaled,
        distance: int,
        known: list[_Scaled],
        which: IntArray,
        bridges: _Scaled,
    ) -> _Scaled:
        """Return F (or R) at a position: nothing else is known, or first each of the others.

        ``known`` are F at these others, the furthest first, and ``which`` their bridges.
        """
        alone = _product(self.unknown, distance, alone)
        if not known:
            return alone
        gaps = np.arange(len(known) - 1, -1, -1)
        exponents = np.array([each.exponents for each in known])
        exponents += self.unknown.exponents[gaps] + bridges.exponents[which][:, None]
        top = exponents.max(axis=0)
        factors = np.ldexp(self.nodes * self.unknown.values[gaps], exponents - top)
        pairs = zip(known, factors, strict=True)
        vectors = np.stack([each.values * factor[:, None] for each, factor in pairs], axis=1)
        # One product for all: one row per node, and all bridges below each other.
        side_by_side = vectors.reshape(len(self.nodes), -1)
        summed = side_by_side @ bridges.values[which].reshape(side_by_side.shape[1], -1)
        return _plus(alone, _scaled(summed, top))

    def bridges(self) -> tuple[IntArray, _Scaled]:
        """Return all bridges, ``(n_bridges, n_states, n_states)``, and which one joins i and j.

        A bridge holds the matrices behind the first symbol up to that of the second.
        """
        n_states, n_different = self.automaton.n_states, len(np.unique(self.codes))
        which, n_bridges = np.zeros((self.n, self.n), np.int64), 0
        room = min(self.n * (self.n - 1) // 2, n_different**2 * self.n)
        values, exponents = np.empty((room, n_states, n_states)), np.empty(room, np.int64)
        for code in np.unique(self.codes[:-1]).tolist():
            origins = np.flatnonzero(self.codes == code)
            walk: FloatArray = np.eye(n_states)[None]
            exponent, probability = 0, np.ones(1)
            follows = self.chain[code][None, :]  # from where the walk is, to where it goes
            for distance in range(1, self.n - int(origins[0])):
                mixed = np.tensordot(follows.T, walk, 1) @ self.automaton.transitions
                walk, shift = _shrunk(mixed)
                exponent, probability, follows = exponent + shift, probability @ follows, self.chain
                pairs = origins[origins + distance < self.n]
                for target in np.unique(self.codes[pairs + distance]).tolist():
                    here = pairs[self.codes[pairs + distance] == target]
                    which[here, here + distance] = n_bridges
                    np.divide(walk[target], probability[target], out=values[n_bridges])
                    exponents[n_bridges] = exponent
                    n_bridges += 1
        return which, _Scaled(values, exponents)

    def heads(self) -> list[_Scaled]:
        """Return what is expected of α₀ and the matrices up to each position, if it is known.

        The last entry is α₀, if the word is empty, or what is expected before its end.
        """
        walk, exponent = _shrunk(self.automaton.initial[None])
        probability, follows = np.ones(1), self.initial[None, :]
        heads = []
        for code in self.codes:
            walk, shift = _shrunk(self._read(np.tensordot(follows.T, walk, 1)))
            exponent, probability, follows = exponent + shift, probability @ follows, self.chain
            heads.append(_everywhere(walk[code] / probability[code], len(self.nodes), exponent))
        return [*heads, _everywhere(walk.sum(axis=0), len(self.nodes), exponent)]

    def _read(self, walk: FloatArray) -> FloatArray:
        """Let a row for each symbol read it."""
        read: FloatArray = np.einsum("kr,krs->ks", walk, self.automaton.transitions)
        return read

    def tails(self) -> list[_Scaled]:
        """Return what is expected behind each position and of α∞, if it is the last one known.

        The first entry is α∞ itself: behind the end, to which the last of `heads` leads.
        """
        final = self.automaton.final
        walk, exponent = _shrunk(np.tile(final, (len(self.chain), 1)))
        tails = []
        for code in self.codes[::-1]:
            tails.append(_everywhere(walk[code], len(self.nodes), exponent))
            read = np.einsum("krs,ks->kr", self.automaton.transitions, walk)
            walk, shift = _shrunk(self.chain @ read)
            exponent += shift
        return [_everywhere(final, len(self.nodes)), *tails[::-1]]


def _shrunk(values: FloatArray) -> tuple[FloatArray, int]:
    """Bring an array to a size not far from 1; also return the exponent that was taken out."""
    shift = int(np.frexp(np.abs(values).max())[1])
    return (values, 0) if abs(shift) < 64 else (np.ldexp(values, -shift), shift)


def _power(bases: FloatArray, exponent: int) -> _Scaled:
    """Return a power of numbers from 0 to 1."""
    if not exponent:
        return _Scaled(np.ones(len(bases)), np.zeros(len(bases), np.int64))
    logarithms = exponent * np.log2(np.where(bases > 0, bases, 1.0))
    whole = np.floor(logarithms)
    return _Scaled(np.where(bases > 0, np.exp2(logarithms - whole), 0.0), whole.astype(np.int64))


def _product(factors: _Scaled, row: int, other: _Scaled) -> _Scaled:
    """Multiply by a row of factors, node by node."""
    factor = factors.values[row].reshape((-1,) + (1,) * (other.values.ndim - 1))
    return _Scaled(other.values * factor, other.exponents + factors.exponents[row])
