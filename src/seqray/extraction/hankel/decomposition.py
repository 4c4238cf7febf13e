"""From Hankel blocks to weighted automata: one SVD, every rank.

With positive diagonal matrices R and C on rows and columns and the SVD  R H C ≈ U D Vᵀ  cut at r:

    α₀ᵀ = h_{λ,S}ᵀ C V,    α∞ = D⁻¹ Uᵀ R h_{P,λ},    Mσ = D⁻¹ Uᵀ (R Hσ C) V.

The automaton of rank r is the leading block of that of any higher rank, so that one SVD serves all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.blackbox.queries.noise import Noise
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.noise_size import size_of_noise
from seqray.extraction.svd import ChunkedMatrix, truncated_svd
from seqray.util.arrays import FloatArray, read_only
from seqray.util.errors import RankError
from seqray.util.random import Seed, seed_number
from seqray.util.row_file import empty_like

MAX_UNSCALED_WEIGHT = 1e290
"""Blocks whose largest absolute value is above this, or below 1 / this, are scaled before the SVD.

Weights of 1e-300 … 1e308 come out as exactly as others; smaller ones as exactly as float64 holds
them: to a relative error of about 1e-14 at 1e-310, three digits at 1e-320. Singular values are
those of the scaled blocks.
"""


def decompose(
    blocks: HankelBlocks,
    *,
    max_rank: int = 100,
    weighting: str = "balanced",
    noise: Noise | None = None,
    seed: Seed = 0,
) -> RankedAutomata:
    """Factor Hankel blocks into weighted automata of every rank up to ``max_rank``.

    Parameters
    ----------
    blocks
        The filled blocks.
    max_rank
        The largest number of states wanted. The numerical rank of the block may be smaller.
    weighting
        How rows and columns are weighted, see `HankelBlocks.weights`; ``"none"`` is the paper's.
    noise
        Of each answer in the blocks. Ranks whose singular value is no larger than noise alone
        would make it are left out.
    seed
        Random seed, for the random projection that large blocks need, and for the noise.

    Returns
    -------
    RankedAutomata
        With the singular values of the weighted block, one per rank.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> automata = decompose(seqray.fill(wa, seqray.uniform_basis(wa.alphabet, 30, 20, seed=0)))
    >>> automata
    RankedAutomata(ranks 1 … 1)
    >>> round(automata.automaton(1).weight("ab"), 12)
    0.03125
    """
    if max_rank < 1:
        raise RankError(f"max_rank: expected 1 or more, got {max_rank}")
    seed = seed_number(seed)
    if blocks.largest and not 1 / MAX_UNSCALED_WEIGHT < blocks.largest < MAX_UNSCALED_WEIGHT:
        return _decompose_scaled(blocks, max_rank, weighting, noise, seed)
    rows, columns = blocks.weights(weighting)
    weighted = _weighted(blocks, rows, columns)
    left, sizes, right = truncated_svd(weighted, max_rank, seed=seed)
    if noise is not None and noise.level > 0:
        size = size_of_noise(blocks, noise, rows, columns, seed)
        n_above_noise = max(1, int((sizes > size).sum()))
        left, sizes, right = left[:, :n_above_noise], sizes[:n_above_noise], right[:n_above_noise]
    n = len(sizes)
    nodes = blocks.rows
    # Every row of P ∪ PΣ times C V, once; the blocks of H and Hσ are rows of that.
    every_row = ChunkedMatrix((blocks.values.shape[0], blocks.values.shape[1]), blocks.chunks)
    projected = every_row.times(columns[:, None] * right.T)
    back = (left * (rows[:, None] / np.where(sizes > 0, sizes, 1))).T
    transitions = np.empty((len(blocks.basis.alphabet), n, n))
    for symbol, which in enumerate(nodes[1:]):
        transitions[symbol] = back @ projected[which]
    root = int(blocks.basis.prefixes.lengths.argmin())
    largest = WeightedAutomaton(
        blocks.basis.alphabet,
        projected[nodes[0, root]],
        transitions,
        back @ blocks.values[nodes[0], blocks.empty_suffix],
    )
    return RankedAutomata(largest, singular_values=read_only(sizes))


def _decompose_scaled(
    blocks: HankelBlocks, max_rank: int, weighting: str, noise: Noise | None, seed: int
) -> RankedAutomata:
    """Decompose blocks near the limits of float64: divide by a power of two, and multiply later."""
    power = int(np.frexp(blocks.largest)[1])
    values = empty_like(blocks.values)
    for some, part in blocks.chunks():
        values[some] = np.ldexp(part, -power)
    scaled = replace(blocks, values=values)
    if noise is not None and not noise.relative:
        noise = replace(noise, level=float(np.ldexp(noise.level, -power)))
    automata = decompose(scaled, max_rank=max_rank, weighting=weighting, noise=noise, seed=seed)
    wa, half = automata.largest, power // 2
    largest = WeightedAutomaton(
        wa.alphabet,
        np.ldexp(wa.initial, half),
        wa.transitions,
        np.ldexp(wa.final, power - half),
    )
    return replace(automata, largest=largest)


def _weighted(
    blocks: HankelBlocks, rows: FloatArray, columns: FloatArray
) -> FloatArray | ChunkedMatrix:
    """Return R H C, in memory or in chunks, as the blocks are."""
    if not blocks.is_on_disk:
        return np.asarray(rows[:, None] * blocks.block() * columns)

    def chunks() -> Iterator[tuple[slice, FloatArray]]:
        for some, part in blocks.chunks(blocks.rows[0]):
            np.multiply(part, rows[some, None], out=part)
            yield some, np.multiply(part, columns, out=part)

    return ChunkedMatrix((len(rows), len(columns)), chunks)
