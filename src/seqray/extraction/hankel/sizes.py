"""How many prefixes and suffixes to query: what is wanted, and what a budget allows."""

from __future__ import annotations

import math

import numpy as np

from seqray.blackbox.queries.oracle import QueryMode
from seqray.extraction.basis import Basis
from seqray.extraction.hankel.growth import sizes_up_to
from seqray.extraction.job import BYTES_PER_CELL, MAX_QUERIES, N_HELD_OUT, Job
from seqray.extraction.settings import HANKEL
from seqray.util.memory import memory_limit

Size = tuple[int, int]
"""The number of prefixes, and of suffixes."""

N_PREFIXES, N_SUFFIXES = 800, 800
"""How many of each to query at most by default."""

N_FIRST_WORDS = 50_000
"""About how many words the first round queries at most, unless the caller says how much to query.

That is fewer than `HankelSettings.max_first_size` allows where there are many symbols.
"""

MAX_STEPS_PER_WORD = 4
"""About how many steps, or prefixes, one word takes at most, with those that find the basis."""

MIN_SIZE = 4
"""The fewest prefixes and suffixes of the first round."""

WORDS_PER_CELL = 2.1
"""About how many words are queried to find a basis, for each prefix with each suffix."""

STEPS_PER_WORD = 3
"""About how many steps, or prefixes, one more word takes."""

NEW_SHARE = 0.7
"""About which share of the words of its blocks was not queried to find a basis."""

MIN_GROWTH = 1.2
"""A basis is grown further only if it has at least so many times as many cells as the last."""


def wanted_size(job: Job) -> Size:
    """Return how many prefixes and suffixes to query if nothing is scarce."""
    if isinstance(job.request.basis, Basis):
        return size_of(job.request.basis)
    request = job.request
    grows = request.grows_basis(box_predicts=job.oracle.predicts)
    if grows and request.n_prefixes is None and request.n_suffixes is None:
        is_limited = job.meter.budget is None and not job.oracle.is_free
        return default_size(len(job.oracle.alphabet), MAX_QUERIES if is_limited else math.inf)
    return request.n_prefixes or N_PREFIXES, request.n_suffixes or N_SUFFIXES


def default_size(n_symbols: int, most: float = MAX_QUERIES) -> Size:
    """Return how large a basis grows if nobody says it.

    Its blocks fit into memory, and it takes no more than so many queries: it is smaller where there
    are many symbols.

    >>> default_size(2), default_size(10_000)
    ((800, 800), (70, 70))
    """
    wanted = (N_PREFIXES, N_SUFFIXES)
    n_cells = min(memory_limit() / BYTES_PER_CELL, most / 2)
    share = math.sqrt(n_cells / (math.prod(wanted) * n_symbols))
    return wanted if share >= 1 else _floored(wanted, share)


def max_words(size: Size, n_symbols: int, *, grows: bool) -> int:
    """Return about how many words are queried for blocks of a size at most.

    To find a basis that is grown costs as much as its blocks.

    >>> max_words((800, 800), 2, grows=True)
    2560000
    """
    return (1 + grows) * math.prod(size) * n_symbols


def ends_where_learnt(job: Job) -> bool:
    """Whether growth ends where nothing is left to learn: nobody said how much to query."""
    request = job.request
    is_sized = request.n_prefixes is not None or request.n_suffixes is not None
    return not is_sized and request.target is None and job.meter.budget is None


def size_of(basis: Basis) -> Size:
    """Return how many prefixes and suffixes a basis has."""
    return len(basis.prefixes), len(basis.suffixes)


def affordable_size(job: Job) -> Size:
    """Return how many prefixes and suffixes a budget allows if it is for their blocks alone.

    Each prefix is queried with about every symbol and suffix. A basis that cannot be afforded need
    not be found first, which costs queries itself where the box is sampled.
    """
    wanted = wanted_size(job)
    if job.meter.allowance is None or job.oracle.is_free:
        return wanted
    n_cells = job.meter.allowance / max(1, len(job.oracle.alphabet) - 1)
    return _scaled(wanted, min(1.0, math.sqrt(n_cells / math.prod(wanted))))


def sizes_to_come(job: Job, known: Size = (0, 0), cost_ratio: float = 1.0) -> list[Size]:
    """Return the sizes of the bases to grow to: up to the largest that the rest of a budget allows.

    Parameters
    ----------
    job
        What to extract, within which budget.
    known
        The size of the blocks that are filled. Where there are none, the first size is that of a
        uniform basis.
    cost_ratio
        How many times as much as expected it cost to find the last basis.

    Returns
    -------
    sizes
        None at all where no basis can be found that is larger by enough to be worth it.
    """
    wanted, least = wanted_size(job), MIN_GROWTH * math.prod(known)
    first = first_size(job)
    is_free = job.meter.allowance is None or job.oracle.is_free
    left = math.inf if is_free else job.meter.left - _validation_cost(job)
    for share in np.linspace(1, 0, 200, endpoint=False).tolist():
        sizes = sizes_up_to(*_scaled(wanted, share), first)
        sizes = [size for size in sizes if math.prod(size) >= least]
        if not sizes:
            return []
        grown = sizes if least else sizes[1:]
        growth = cost_ratio * sum(growth_cost(job, size) for size in grown)
        if growth + _fill_cost(job, sizes[-1]) <= left:
            break
    if not least and len(sizes) == 1:
        return [affordable_size(job)]  # enough for a uniform basis only
    return sizes


def first_size(job: Job) -> int:
    """Return how many prefixes and suffixes the first basis has at most."""
    if not ends_where_learnt(job):
        return HANKEL.max_first_size
    n_cells = N_FIRST_WORDS // len(job.oracle.alphabet)
    return max(MIN_SIZE, min(HANKEL.max_first_size, math.isqrt(n_cells)))


def growth_cost(job: Job, size: Size) -> float:
    """Return about how many queries it costs to find a basis of a size.

    Of more suffixes than `HankelSettings.max_independent_rows` only some are compared; words of
    larger bases are longer.
    """
    n_cells, n_compared = math.prod(size), HANKEL.max_independent_rows**2
    if (steps := _steps_per_word(job)) > 1:
        return float(steps * WORDS_PER_CELL * n_cells * (n_cells / n_compared) ** 0.2)
    return float(WORDS_PER_CELL * n_cells * min(1.0, n_compared / n_cells) ** 0.35)


def _fill_cost(job: Job, size: Size) -> float:
    """Return about how many queries it costs to fill the blocks of a basis that was grown."""
    n_symbols = max(1, len(job.oracle.alphabet) - 1)
    return NEW_SHARE * _steps_per_word(job) * math.prod(size) * n_symbols


def _validation_cost(job: Job) -> float:
    """Return about how many queries are for words to compare on."""
    n_continuations = HANKEL.n_continuations + HANKEL.n_long_continuations
    cost = _steps_per_word(job) * 2 * N_HELD_OUT * n_continuations
    return min(cost, (job.meter.allowance or math.inf) / 12)


def _steps_per_word(job: Job) -> int:
    """Return about how many queries one more word takes."""
    return 1 if job.oracle.mode is QueryMode.WORDS else STEPS_PER_WORD


def _scaled(size: Size, share: float) -> Size:
    return max(1, math.ceil(share * size[0])), max(1, math.ceil(share * size[1]))


def _floored(size: Size, share: float) -> Size:
    return max(1, int(share * size[0])), max(1, int(share * size[1]))
