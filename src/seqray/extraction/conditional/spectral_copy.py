"""Copies by one SVD per last symbol: exact, or nearer than fits where the box is almost so."""

from __future__ import annotations

import math

from seqray.automata.structured import StructuredAutomaton
from seqray.blackbox.queries.oracle import QueryMode
from seqray.extraction.conditional.comparison import compare
from seqray.extraction.conditional.learner import ConditionalLearner
from seqray.extraction.conditional.parts import LearntPart
from seqray.extraction.settings import StructuredSettings
from seqray.extraction.structured.copies import Copy
from seqray.extraction.structured.spectral import (
    GroupFactors,
    low_rank_share,
    spectral_by_last_symbol,
)
from seqray.fidelity.table import Fidelity

TOLERANCES = 0.01, 0.002, 0.0005, 0.0001
"""Below which share of the largest singular value the others count as 0; each is tried."""

MIN_LOW_RANK_SHARE = 0.25
"""How much of all visits is of contexts with a clear rank where larger blocks are queried."""

BUDGET_PER_CELL = 2
"""How many queries have to be left for each cell of larger blocks: they take one at most."""

MAX_BLOCK_BYTES = 2**29
"""The most memory for blocks that are larger than the ranks need."""


def learn_spectral_copy(
    learner: ConditionalLearner, part: LearntPart, best: Fidelity, settings: StructuredSettings
) -> tuple[Copy | None, LearntPart]:
    """Return the spectral copy by last symbol if it is near to the box, and the part it is from.

    Parameters
    ----------
    learner
        Queries the box.
    part
        What was learnt so far.
    best
        The fidelity of the best of the automata of every rank.
    settings
        How near is near.

    Returns
    -------
    copy, part
        The copy is None unless it is exact, or nearly so and nearer than the best rank. The part
        has larger blocks where contexts after some symbols have a clear rank, where queries are
        free, or where the copy was near already.
    """
    if part.blocks.leaks:
        return None, part
    factors = GroupFactors(part.blocks)
    copy = _nearest(learner, part, factors, settings)

    def is_near() -> bool:
        return _loss(copy) < settings.near_bits and copy.fidelity.is_nearer_than(best)

    def can_grow(share: float) -> bool:
        lacks = part.share < share and not _is_exact(copy, settings)
        return lacks and _is_affordable(learner, share)

    if can_grow(1.0) and (is_near() or _is_promising(learner, factors)):
        part = learner.learn(1.0, part)
        other = _nearest(learner, part, GroupFactors(part.blocks), settings)
        copy = min(copy, other, key=_loss)
    large = settings.large_share
    if can_grow(large) and is_near() and _may_be_large(learner, large):
        part = learner.learn(large, part)
        other = _nearest(learner, part, GroupFactors(part.blocks), settings)
        copy = min(copy, other, key=_loss)
    return (copy if is_near() or _is_exact(copy, settings) else None), part


def _loss(copy: Copy) -> float:
    return copy.fidelity["kl_per_symbol"]


def _is_exact(copy: Copy, settings: StructuredSettings) -> bool:
    return _loss(copy) < settings.exact_bits


def _is_affordable(learner: ConditionalLearner, share: float) -> bool:
    """Whether the budget leaves enough for blocks of a share: fits need words, too."""
    sizes = learner.sizes.share(share, learner.settings)
    return learner.meter.left >= BUDGET_PER_CELL * sizes.contexts * sizes.columns


def _is_promising(learner: ConditionalLearner, factors: GroupFactors) -> bool:
    if learner.job.oracle.mode is QueryMode.AUTOMATON:
        return True
    return any(low_rank_share(factors, each) > MIN_LOW_RANK_SHARE for each in TOLERANCES)


def _may_be_large(learner: ConditionalLearner, share: float) -> bool:
    """Whether blocks may be larger than the caller's or the default size."""
    request, sizes = learner.job.request, learner.sizes.share(share, learner.settings)
    n_rows = sizes.contexts * (1 + len(learner.box.alphabet))
    is_given = request.n_prefixes is not None or request.n_suffixes is not None
    is_small = 8 * n_rows * sizes.columns <= MAX_BLOCK_BYTES
    return learner.has_cheap_queries and is_small and not is_given


def _nearest(
    learner: ConditionalLearner,
    part: LearntPart,
    factors: GroupFactors,
    settings: StructuredSettings,
) -> Copy:
    """Return the copy with the tolerance that is nearest to the box."""
    max_size = math.isqrt(learner.job.request.max_cost or settings.max_spectral_cost)
    with learner.job.timing("svd"):
        automata = [
            spectral_by_last_symbol(factors, tolerance, max_size) for tolerance in TOLERANCES
        ]
    with learner.job.timing("choose"):
        return min((compared_copy(learner, part, each) for each in automata), key=_loss)


def compared_copy(
    learner: ConditionalLearner, part: LearntPart, automaton: StructuredAutomaton
) -> Copy:
    """Return a copy with its fidelity on held-out words and counterexamples."""
    counterexamples = part.counterexamples.to_validate
    return Copy(automaton, compare(automaton, learner.held_out, counterexamples))
