"""The transitions of an automaton as a graph: in blocks, or one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from seqray.automata.words import Alphabet, Symbol
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

Edge: TypeAlias = tuple[int, Symbol, int, float]
"""The state before, the symbol, the state after, the weight."""


class EdgeBlock(NamedTuple):
    """A block of the matrix of symbol ``code``.

    Its rows are the states from ``origin`` on, its columns those from ``target`` on.
    """

    code: int
    origin: int
    target: int
    numbers: FloatArray


class Transitions(NamedTuple):
    """Transitions one by one, by symbol, origin and target; each array has one entry for each."""

    codes: IntArray
    origins: IntArray
    targets: IntArray
    weights: FloatArray

    def chosen(self, order: IntArray) -> Transitions:
        """Return some transitions, in this order."""
        codes, origins, targets, weights = self
        return Transitions(codes[order], origins[order], targets[order], weights[order])

    def edges(self) -> Iterator[tuple[int, int, int, float]]:
        """Yield ``(code, from, to, weight)``."""
        parts = (each.tolist() for each in self)
        return zip(*parts, strict=True)


def listed(blocks: Iterable[EdgeBlock], threshold: float = 0.0) -> Transitions:
    """Return the transitions of blocks with ``|weight| > threshold``.

    >>> listed([EdgeBlock(1, 0, 3, np.array([[0.5, 0.0], [0.0, -2.0]]))])._asdict()
    {'codes': array([1, 1]), 'origins': array([0, 1]), 'targets': array([3, 4]), 'weights': ...}
    """
    parts = [_of_block(block, threshold) for block in blocks]
    if not parts:
        none = np.empty(0, np.int64)
        return Transitions(none, none, none, np.empty(0))
    return Transitions(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _of_block(block: EdgeBlock, threshold: float) -> Transitions:
    rows, columns = np.nonzero(np.abs(block.numbers) > threshold)
    weights = block.numbers[rows, columns]
    codes = np.full(len(rows), block.code)
    return Transitions(codes, rows + block.origin, columns + block.target, weights)


def graph_arrays(
    alphabet: Alphabet,
    n_states: int,
    initial: Mapping[int, float],
    edges: Iterable[Edge],
    final: Mapping[int, float],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return α₀, Mσ and α∞ of a graph; weights of parallel edges add up.

    >>> graph_arrays(Alphabet("a"), 1, {0: 1}, [(0, "a", 0, 0.25), (0, "a", 0, 0.25)], {0: 0.5})
    (array([1.]), array([[[0.5]]]), array([0.5]))
    """

    def check(state: int, where: str) -> int:
        if not 0 <= state < n_states:
            raise ArgumentError(f"{where}: state {state} is outside {n_states} states")
        return state

    start, stop = np.zeros(n_states), np.zeros(n_states)
    matrices = np.zeros((len(alphabet), n_states, n_states))
    for vector, weights, name in ((start, initial, "initial"), (stop, final, "final")):
        for state, weight in weights.items():
            vector[check(state, name)] = weight
    for origin, symbol, target, weight in edges:
        code = alphabet.encode([symbol])[0]
        matrices[code, check(origin, "edges"), check(target, "edges")] += weight
    return start, matrices, stop
