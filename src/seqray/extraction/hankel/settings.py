"""Settings of extraction by Hankel blocks: what experts may tune, with the values that are used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HankelSettings:
    """Settings of extraction by Hankel blocks; the defaults are what `seqray.extract` uses.

    Parameters
    ----------
    max_first_size
        The first basis, a uniform one, has at most this many prefixes and suffixes.
    batch_size
        How many words are drawn at once.
    max_heavy_batches
        After this many batches of heavy words, uniform words fill up what is missing.
    candidates_per_prefix
        This many times as many prefixes and suffixes are compared as are taken.
    n_continuations
        How many suffixes are compared to continue a word with one of them.
    n_long_continuations
        The same for words that are continued several times.
    min_relative_weight
        A word is continued only if its continuations weigh at least this much, relative to it.
    prefixes_per_counterexample
        One counterexample is learnt from per this many prefixes.
    max_independent_rows
        The most prefixes that are taken because their rows are linearly independent.
    rank_tolerance
        A row counts as independent if what the rows before it leave of it is larger than this,
        relative to the largest row.

    Examples
    --------
    >>> HankelSettings(batch_size=64).n_continuations
    16
    """

    max_first_size: int = 75
    batch_size: int = 512
    max_heavy_batches: int = 30
    candidates_per_prefix: int = 3
    n_continuations: int = 16
    n_long_continuations: int = 4
    min_relative_weight: float = 1e-6
    prefixes_per_counterexample: int = 10
    max_independent_rows: int = 200
    rank_tolerance: float = 1e-9


HANKEL = HankelSettings()
"""The settings that `seqray.extract` uses."""
