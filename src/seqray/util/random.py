"""Random seeds: every function that draws takes one, as a number or as a generator."""

from typing import TypeAlias

import numpy as np

from seqray.util.arrays import whole_number

Seed: TypeAlias = int | np.random.Generator
"""A number, for results that can be repeated; or a generator, which is drawn from in place."""


def random_generator(seed: Seed) -> np.random.Generator:
    """Return the random generator of a seed.

    Examples
    --------
    >>> random_generator(0).integers(100)
    np.int64(85)
    >>> random_generator(-1)
    Traceback (most recent call last):
    ...
    seqray.ArgumentError: seed: expected a whole number from 0, got -1
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number("seed", seed, 0))


def seed_number(seed: Seed) -> int:
    """Return a seed as a number that can be saved; of a generator, one is drawn.

    Examples
    --------
    >>> seed_number(7), seed_number(np.random.default_rng(0))
    (7, 1826701615)
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**31))
    return whole_number("seed", seed, 0)
