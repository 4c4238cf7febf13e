"""Expectations over a Markov chain in which some positions are known, for exact Shapley values."""

from __future__ import annotations

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Alphabet
from seqray.explain.background import Background
from seqray.explain.scaled import (
    Scaled,
    add_numbers,
    add_vectors,
    at_all_nodes,
    dot,
    power,
    rescaled_nodes,
    shrunk,
    stacked,
    times_row,
)
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

MAX_WORK, MAX_NUMBERS = 1e13, 1e8
"""The most multiplications, and numbers in memory: they grow with the cube of the length, and with
its square."""


def check_possible(a: WeightedAutomaton, codes: IntArray, background: Background) -> None:
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
        f"background: symbol {symbol!r} at position {at + 1} has probability 0 {when}, so there is "
        "no expectation where it is known: make all probabilities positive, as Background.bigrams "
        "does"
    )


class MarkovExpectations:
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
        distances = [power(1 - nodes, d) for d in range(self.n + 1)]
        self.unknown = stacked(distances, len(nodes))  # (1−t)ᵈ, shape (n + 1, n_nodes)

    def gains(self) -> tuple[Scaled, Scaled]:
        """Return the gain of each position, ``(n, n_nodes)``, and the expectation over all of S.

        With U that expectation, and Vᵢ that over all S that hold i, the gain of i is
        (Vᵢ − U) / (1 − t), because U = t·Vᵢ + (1 − t)·(the same without i).
        """
        heads, tails = self.heads(), self.tails()
        if not self.n:
            return stacked([], len(self.nodes)), dot(heads[0], tails[0])
        which, bridges = self.bridges()
        before: list[Scaled] = []
        for at, head in enumerate(heads[:-1]):
            origins = np.arange(at)
            before.append(self._joined(head, at, before, which[origins, at], bridges))
        flipped = Scaled(bridges.values.transpose(0, 2, 1), bridges.exponents)
        after: list[Scaled] = []  # the last position first
        for at in range(self.n - 1, -1, -1):
            targets = np.arange(self.n - 1, at, -1)
            tail, distance = tails[at + 1], self.n - 1 - at
            after.append(self._joined(tail, distance, after, which[at, targets], flipped))
        whole = times_row(self.unknown, self.n, dot(heads[-1], tails[0]))
        for at, left in enumerate(before):  # the last one known
            last = times_row(self.unknown, self.n - 1 - at, dot(left, tails[at + 1]))
            whole = add_numbers(whole, Scaled(last.values * self.nodes, last.exponents))
        rest, gains = np.where(self.nodes < 1, 1 - self.nodes, 1.0), []
        for left, right in zip(before, reversed(after), strict=True):
            gain = add_numbers(dot(left, right), Scaled(-whole.values, whole.exponents))
            gains.append(Scaled(gain.values / rest, gain.exponents))
        return stacked(gains, len(self.nodes)), whole

    def _joined(
        self,
        alone: Scaled,
        distance: int,
        known: list[Scaled],
        which: IntArray,
        bridges: Scaled,
    ) -> Scaled:
        """Return F (or R) at a position: nothing else is known, or first each of the others.

        ``known`` are F at these others, the furthest first, and ``which`` their bridges.
        """
        alone = times_row(self.unknown, distance, alone)
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
        return add_vectors(alone, rescaled_nodes(summed, top))

    def bridges(self) -> tuple[IntArray, Scaled]:
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
                walk, shift = shrunk(mixed)
                exponent, probability, follows = exponent + shift, probability @ follows, self.chain
                pairs = origins[origins + distance < self.n]
                for target in np.unique(self.codes[pairs + distance]).tolist():
                    here = pairs[self.codes[pairs + distance] == target]
                    which[here, here + distance] = n_bridges
                    np.divide(walk[target], probability[target], out=values[n_bridges])
                    exponents[n_bridges] = exponent
                    n_bridges += 1
        return which, Scaled(values, exponents)

    def heads(self) -> list[Scaled]:
        """Return what is expected of α₀ and the matrices up to each position, if it is known.

        The last entry is α₀, if the word is empty, or what is expected before its end.
        """
        walk, exponent = shrunk(self.automaton.initial[None])
        probability, follows = np.ones(1), self.initial[None, :]
        heads = []
        for code in self.codes:
            walk, shift = shrunk(self._read(np.tensordot(follows.T, walk, 1)))
            exponent, probability, follows = exponent + shift, probability @ follows, self.chain
            heads.append(at_all_nodes(walk[code] / probability[code], len(self.nodes), exponent))
        return [*heads, at_all_nodes(walk.sum(axis=0), len(self.nodes), exponent)]

    def _read(self, walk: FloatArray) -> FloatArray:
        """Let a row for each symbol read it."""
        read: FloatArray = np.einsum("kr,krs->ks", walk, self.automaton.transitions)
        return read

    def tails(self) -> list[Scaled]:
        """Return what is expected behind each position and of α∞, if it is the last one known.

        The first entry is α∞ itself: behind the end, to which the last of `heads` leads.
        """
        final = self.automaton.final
        walk, exponent = shrunk(np.tile(final, (len(self.chain), 1)))
        tails = []
        for code in self.codes[::-1]:
            tails.append(at_all_nodes(walk[code], len(self.nodes), exponent))
            read = np.einsum("krs,ks->kr", self.automaton.transitions, walk)
            walk, shift = shrunk(self.chain @ read)
            exponent += shift
        return [at_all_nodes(final, len(self.nodes)), *tails[::-1]]
