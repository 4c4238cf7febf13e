"""From Hankel blocks to weighted automata: one SVD, every rank.

With positive diagonal matrices R and C on rows and columns and the SVD  R H C ≈ U D Vᵀ  cut at r:

    α₀ᵀ = h_{λ,S}ᵀ C V,    α∞ = D⁻¹ Uᵀ R h_{P,λ},    Mσ = D⁻¹ Uᵀ (R Hσ C) V.

The automaton of rank r is the leading block of that of any higher rank, so that one SVD serves all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.blackbox.queries.noise import Noise
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.util.arrays import FloatArray, read_only
from seqray.util.errors import RankError
from seqray.util.random import Seed, random_generator

SAFE = 1e290
"""Blocks whose largest value is above this, or below 1 / this, are scaled before they are factored.

Weights of 1e-300 … 1e308 come out as exactly as others; smaller ones as exactly as float64 holds
them: to about 1e-14 of themselves at 1e-310, three digits at 1e-320. Singular values are those of
the scaled blocks.
"""

EXACT_UP_TO = 2000
"""Blocks with more rows and columns than this are factored by random projection."""


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    """What the SVD of Hankel blocks found: an automaton of every rank.

    Parameters
    ----------
    singular_values
        Of the weighted block, largest first; as many as the largest automaton has states.
    largest
        The automaton of the largest rank.
    prefix_final
        The weight of all that can follow each of its states, where that is known otherwise than by
        a sum over all words (see `seqray.extraction.conditional.blocks`); shape ``(max_rank,)``.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> basis = seqray.uniform_basis(wa.alphabet, 30, 20, seed=np.random.default_rng(0))
    >>> found = decompose(seqray.fill(wa, basis))
    >>> found
    Decomposition(ranks 1 … 1)
    >>> round(found.automaton(1).weight("ab"), 12)
    0.03125
    """

    singular_values: FloatArray
    largest: WeightedAutomaton
    prefix_final: FloatArray | None = None

    @property
    def max_rank(self) -> int:
        """The largest rank there is an automaton of."""
        return self.largest.n_states

    def automaton(self, rank: int) -> WeightedAutomaton:
        """Return the automaton with ``rank`` states."""
        return RankedAutomata(self.largest, self.prefix_final).automaton(rank)

    def __repr__(self) -> str:
        return f"Decomposition(ranks 1 … {self.max_rank})"


def decompose(
    blocks: HankelBlocks,
    *,
    max_rank: int = 100,
    weighting: str = "balanced",
    noise: Noise | None = None,
    seed: int = 0,
) -> Decomposition:
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
        Of the random projection that large blocks need, and of the noise.
    """
    if max_rank < 1:
        raise RankError(f"max_rank: expected 1 or more, got {max_rank}")
    largest_value = float(np.abs(blocks.values).max(initial=0))
    if largest_value and not 1 / SAFE < largest_value < SAFE:
        return _decompose_scaled(blocks, max_rank, weighting, noise, seed)
    rows, columns = blocks.weights(weighting)
    weighted = rows[:, None] * blocks.block() * columns
    left, sizes, right = truncated_svd(weighted, max_rank, seed=np.random.default_rng(seed))
    if noise is not None and noise.level > 0:
        drawn = _draw_noise(blocks, noise, np.random.default_rng(seed))
        drawn *= rows[:, None] * columns
        _, loudest, _ = truncated_svd(drawn, 1, seed=np.random.default_rng(seed))
        n_heard = max(1, int((sizes > loudest[0]).sum()))
        left, sizes, right = left[:, :n_heard], sizes[:n_heard], right[:n_heard]
    n = len(sizes)
    nodes = blocks.rows
    # Every row of P ∪ PΣ times C V, once; the blocks of H and Hσ are rows of that.
    projected = blocks.values @ (columns[:, None] * right.T)
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
    return Decomposition(read_only(sizes), largest)


def _decompose_scaled(
    blocks: HankelBlocks, max_rank: int, weighting: str, noise: Noise | None, seed: int
) -> Decomposition:
    """Decompose blocks near the limits of float64: divide by a power of two, and multiply later."""
    power = int(np.frexp(np.abs(blocks.values).max())[1])
    scaled = replace(blocks, values=np.ldexp(blocks.values, -power))
    if noise is not None and not noise.relative:
        noise = replace(noise, level=float(np.ldexp(noise.level, -power)))
    found = decompose(scaled, max_rank=max_rank, weighting=weighting, noise=noise, seed=seed)
    wa, half = found.largest, power // 2
    largest = WeightedAutomaton(
        wa.alphabet,
        np.ldexp(wa.initial, half),
        wa.transitions,
        np.ldexp(wa.final, power - half),
    )
    return Decomposition(found.singular_values, largest)


def _draw_noise(blocks: HankelBlocks, noise: Noise, rng: np.random.Generator) -> FloatArray:
    """Draw noise for every answer; a word that stands in several cells has the same in each."""
    words = blocks.basis.prefixes.followed_by(blocks.basis.suffixes)
    distinct, which = words.unique()
    drawn = rng.standard_normal(len(distinct))[which].reshape(blocks.block().shape)
    return drawn * noise.of(blocks.block())


def truncated_svd(
    matrix: FloatArray, rank: int, *, seed: Seed
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the leading singular vectors and values ``(left, values, right)`` of a matrix.

    At most ``rank`` of them, and none that is lost in rounding, but at least one.

    Parameters
    ----------
    matrix
        Shape ``(m, n)``.
    rank
        How many at most.
    seed
        For the random projection, used above `EXACT_UP_TO` rows and columns.

    Returns
    -------
    left, values, right
        Shapes ``(m, r)``, ``(r,)`` and ``(r, n)``.
    """
    rng = random_generator(seed)
    if min(matrix.shape) > EXACT_UP_TO and 4 * rank < min(matrix.shape):
        left, values, right = _projected_svd(matrix, rank, rng)
    else:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    floor = max(matrix.shape) * np.finfo(float).eps * values[0]
    n = min(rank, int((values > floor).sum()))
    n = max(1, n)
    return left[:, :n], values[:n], right[:n]


def _projected_svd(
    matrix: FloatArray, rank: int, rng: np.random.Generator, *, tolerance: float = 1e-9
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Subspace iteration from a random start, orthogonal again after every product.

    Without that the small singular values drown in rounding. It ends when no wanted value moves
    any more.
    """
    space, _ = np.linalg.qr(matrix @ rng.standard_normal((matrix.shape[1], rank + 20)))
    values = np.zeros(rank)
    for _ in range(50):
        other, _ = np.linalg.qr(matrix.T @ space)
        space, triangle = np.linalg.qr(matrix @ other)
        before, values = values, np.linalg.svd(triangle, compute_uv=False)[:rank]
        if (np.abs(values - before) <= tolerance * values + 1e-15 * values[0]).all():
            break
    left, values, right = np.linalg.svd(space.T @ matrix, full_matrices=False)
    return space @ left, values, right
