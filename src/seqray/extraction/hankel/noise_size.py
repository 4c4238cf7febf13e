"""How large a singular value the noise of a box makes by itself in its Hankel blocks.

A word that stands in several cells was queried once, so its noise is the same in each of them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqray.automata.words import Words
from seqray.blackbox.queries.noise import Noise
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.svd import ChunkedMatrix, truncated_svd
from seqray.util.arrays import FloatArray
from seqray.util.row_file import RowFile, row_chunks

UnsignedArray: TypeAlias = NDArray[np.uint64]

HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Words are hashed as polynomials in this odd number, modulo 2⁶⁴."""

NOISE_TOLERANCE = 1e-3
"""To which relative error the largest singular value of noise on disk is computed."""


def size_of_noise(
    blocks: HankelBlocks, noise: Noise, rows: FloatArray, columns: FloatArray, seed: int
) -> float:
    """Return the largest singular value of noise alone, weighted like the block H.

    Parameters
    ----------
    blocks
        Filled blocks.
    noise
        Of each answer.
    rows, columns
        Weights, see `HankelBlocks.weights`.
    seed
        For the noise that is drawn.
    """
    if isinstance(blocks.values, RowFile):
        drawn = _noise_on_disk(blocks, blocks.values, noise, rows, columns, seed)
        return float(truncated_svd(drawn, 1, seed=seed, tolerance=NOISE_TOLERANCE)[1][0])
    in_memory = _draw_noise(blocks, noise, seed) * (rows[:, None] * columns)
    return float(truncated_svd(in_memory, 1, seed=seed)[1][0])


def _draw_noise(blocks: HankelBlocks, noise: Noise, seed: int) -> FloatArray:
    """Draw noise for every answer."""
    words = blocks.basis.prefixes.followed_by(blocks.basis.suffixes)
    distinct, which = words.unique()
    noises = np.random.default_rng(seed).standard_normal(len(distinct))
    return noises[which].reshape(blocks.block().shape) * noise.of(blocks.block())


def _noise_on_disk(
    blocks: HankelBlocks,
    values: RowFile,
    noise: Noise,
    rows: FloatArray,
    columns: FloatArray,
    seed: int,
) -> ChunkedMatrix:
    """Draw noise for every answer from a hash of its word: not all words fit into memory."""
    drawn = values.empty_like(len(rows))
    prefixes, suffixes = blocks.basis.prefixes, blocks.basis.suffixes
    fronts, backs = _hashes(prefixes), _hashes(suffixes)
    powers = np.power(HASH_FACTOR, suffixes.lengths.astype(np.uint64))
    for some, part in blocks.chunks(blocks.rows[0]):
        normal = _normal(fronts[some, None] * powers + backs, seed)
        drawn[some] = normal * noise.of(part) * (rows[some, None] * columns)
    return ChunkedMatrix((len(rows), len(columns)), lambda: row_chunks(drawn))


def _hashes(words: Words) -> UnsignedArray:
    """Return hashes with hash(uv) = hash(u) · factor^|v| + hash(v)."""
    hashes = np.zeros(len(words), np.uint64)
    for at in range(int(words.lengths.max(initial=0))):
        longer = words.lengths > at
        codes = words.codes[words.offsets[:-1][longer] + at].astype(np.uint64)
        hashes[longer] = hashes[longer] * HASH_FACTOR + codes + np.uint64(1)
    return hashes


def _normal(hashes: UnsignedArray, seed: int) -> FloatArray:
    """Return a normally distributed number for each hash (SplitMix64, then the inverse)."""
    from scipy.special import ndtri  # noqa: PLC0415 - loads slowly

    mixed = hashes + np.uint64(int(HASH_FACTOR) * (seed + 1) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    mixed >>= np.uint64(11)
    return np.asarray(ndtri((mixed + 0.5) * 2.0**-53))
