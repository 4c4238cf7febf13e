"""The spectral solution by last symbol: an SVD of the contexts that end in each symbol.

A box whose states know the last symbol has conditional blocks of a low rank after each symbol,
though the rank of all of them together may be large. One SVD per last symbol gives the coordinates
of its states, and least squares the matrices between them: exact where the ranks are. Weights may
be negative, so errors add up along a word where the ranks are cut; then fits are nearer to the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seqray.automata.grouping import Grouping
from seqray.automata.structured import StructuredAutomaton
from seqray.extraction.conditional.blocks import ConditionalBlocks
from seqray.util.arrays import FloatArray, IntArray

MAX_SATURATION = 0.9
"""With a larger rank, relative to the number of contexts, more contexts may have a larger one."""

MIN_GAP_SHARE = 0.9
"""How many of the singular values above a tenth of the tolerance are above the tolerance."""

MIN_STATE_SUM = 0.5
"""Coordinates with a smaller sum, which should be 1, are no state."""


class _Group(NamedTuple):
    """The contexts that end in one symbol, as coordinates of its states.

    Parameters
    ----------
    contexts
        Which contexts they are.
    states
        Their coordinates, ``(n_contexts_here, n_states)``; each row sums to 1 where the fit is
        exact.
    solver
        What least squares multiplies the values of these contexts by, ``(n_states, …)``.
    projection
        What makes coordinates of features, ``(n_features, n_states)``.
    entry
        The mean of the states, which sums to 1.
    """

    contexts: IntArray
    states: FloatArray
    solver: FloatArray
    projection: FloatArray
    entry: FloatArray


@dataclass(frozen=True, eq=False)
class GroupFactors:
    """The SVD of the contexts that end in each symbol; each is made once, when it is needed.

    Parameters
    ----------
    blocks
        How contexts go on, of a box that does not leak.
    """

    blocks: ConditionalBlocks

    @cached_property
    def members(self) -> list[IntArray]:
        """The contexts that end in each symbol."""
        last = self.blocks.rows.symbol[self.blocks.contexts]
        return [np.flatnonzero(last == code) for code in range(len(self.blocks.rows.alphabet))]

    @cached_property
    def by_symbol(self) -> list[tuple[FloatArray, FloatArray] | None]:
        """The singular values and right vectors after each symbol, None where no context is."""
        return [self._factored(each) if len(each) else None for each in self.members]

    @cached_property
    def first(self) -> tuple[FloatArray, FloatArray]:
        """Those of the empty context."""
        return self._factored(np.arange(1))

    @cached_property
    def every(self) -> tuple[FloatArray, FloatArray]:
        """Those of all contexts."""
        return self._factored(np.arange(len(self.blocks.contexts)))

    def _factored(self, contexts: IntArray) -> tuple[FloatArray, FloatArray]:
        features = self.blocks.features[self.blocks.contexts[contexts]]
        weighted = np.sqrt(self.blocks.visits[contexts])[:, None] * features
        _, sizes, right = np.linalg.svd(weighted, full_matrices=False)
        return sizes, right


def spectral_by_last_symbol(
    factors: GroupFactors, tolerance: float, max_size: int
) -> StructuredAutomaton:
    """Return the automaton of one SVD per last symbol.

    Parameters
    ----------
    factors
        The SVDs.
    tolerance
        Singular values below this share of the largest one count as 0.
    max_size
        The most states after one symbol.

    Examples
    --------
    >>> from seqray.automata.generators import random_structured
    >>> from seqray.extraction.conditional.fill import fill_conditional
    >>> from seqray.fidelity.reference import Reference
    >>> box = random_structured("abc", 3, seed=0)
    >>> words = Reference.draw(box, 200, seed=0, max_length=20)
    >>> blocks = fill_conditional(box, words, n_contexts=60, n_columns=40)
    >>> spectral_by_last_symbol(GroupFactors(blocks), 1e-3, 10)
    StructuredAutomaton(10 states in 4 groups, 3 symbols)
    """
    blocks, solution = factors.blocks, _Solution.of(factors, tolerance, max_size)
    n_symbols, groups = len(blocks.rows.alphabet), solution.groups
    emission = [
        each.solver @ blocks.probabilities[each.contexts, : n_symbols + 1] for each in groups
    ]
    matrices = {
        (number, symbol): solution.matrix(number, symbol)
        for number, group in enumerate(groups)
        for symbol in range(n_symbols)
        if group is not solution.unknown and (blocks.children[group.contexts, symbol] >= 0).any()
    }
    for (number, symbol), matrix in matrices.items():
        emission[number][:, symbol] = matrix.sum(axis=1)
    for each in emission:  # the end is what no symbol takes
        each[:, n_symbols] = 1 - each[:, :n_symbols].sum(axis=1)
    sizes = [len(each) for each in emission]
    return StructuredAutomaton(
        blocks.rows.alphabet,
        Grouping.by_last_symbol(sizes[1:], sizes[0]),
        groups[0].states[0],
        np.concatenate(emission),
        np.concatenate([each.entry for each in groups]),
        matrices,
    )


def low_rank_share(factors: GroupFactors, tolerance: float) -> float:
    """Return how much of all visits is of contexts after symbols with a clear rank.

    It is clear where there are more contexts than that, and hardly a singular value between the
    tolerance and a tenth of it, relative to the largest. See `spectral_by_last_symbol`.
    """
    visits, share = factors.blocks.visits, 0.0
    for here, factored in zip(factors.members, factors.by_symbol, strict=True):
        if factored is None:
            continue
        sizes, _ = factored
        rank, most = ((sizes > each * sizes[0]).sum() for each in (tolerance, tolerance / 10))
        if most < MAX_SATURATION * len(here) and rank >= MIN_GAP_SHARE * most:
            share += float(visits[here].sum() / visits.sum())
    return share


@dataclass(frozen=True, eq=False)
class _Solution:
    """The groups: before the first symbol, and after each."""

    blocks: ConditionalBlocks
    groups: list[_Group]
    unknown: _Group | None  # after symbols that no context ends with: one state

    @classmethod
    def of(cls, factors: GroupFactors, tolerance: float, max_size: int) -> _Solution:
        blocks, unknown = factors.blocks, None
        every = np.arange(len(blocks.contexts))
        groups = [_group(blocks, every[:1], factors.first, tolerance, max_size)]
        for members, factored in zip(factors.members, factors.by_symbol, strict=True):
            if factored is None:
                unknown = unknown or _group(blocks, every, factors.every, tolerance, 1)
                groups.append(unknown)
            else:
                groups.append(_group(blocks, members, factored, tolerance, max_size))
        return cls(blocks, groups, unknown)

    def matrix(self, number: int, symbol: int) -> FloatArray:
        """Return the matrix of a symbol, from the states of a group to those after the symbol."""
        group, target = self.groups[number], self.groups[1 + symbol]
        children = self.blocks.children[group.contexts, symbol]
        after = np.tile(target.entry, (len(children), 1))
        known = np.flatnonzero(children >= 0)
        states = self.blocks.features[children[known]] @ target.projection
        sums = states.sum(axis=1)  # 1 where the states of the target can tell all its contexts
        is_state = sums > MIN_STATE_SUM
        after[known[is_state]] = states[is_state] / sums[is_state, None]
        probabilities = self.blocks.probabilities[group.contexts, symbol]
        return np.asarray(group.solver @ (probabilities[:, None] * after))


def _group(
    blocks: ConditionalBlocks,
    contexts: IntArray,
    factored: tuple[FloatArray, FloatArray],
    tolerance: float,
    max_size: int,
) -> _Group:
    """Return the coordinates of some contexts: as many as there are singular values that count."""
    visits, (sizes, right) = blocks.visits[contexts], factored
    rank = min(max_size, max(1, int((sizes > tolerance * sizes[0]).sum())))
    projection = right[:rank].T / sizes[:rank]
    # Weighted by visits, the columns of these states are orthonormal.
    states = blocks.features[blocks.contexts[contexts]] @ projection
    turn = _turn_to_ones(visits @ states)
    solver = np.linalg.solve(turn, states.T * visits)
    entry = visits @ states @ turn
    return _Group(contexts, states @ turn, solver, projection @ turn, entry / entry.sum())


def _turn_to_ones(vector: FloatArray) -> FloatArray:
    """Return a matrix, a multiple of a reflection, that maps a vector of ones to the vector."""
    n, size = len(vector), float(np.linalg.norm(vector))
    mirror = np.full(n, n**-0.5) - vector / size
    length = mirror @ mirror
    reflection = np.eye(n)
    if length > 1e-20:
        reflection -= np.outer(mirror, 2 * mirror / length)
    return np.asarray(reflection * (size / n**0.5))
