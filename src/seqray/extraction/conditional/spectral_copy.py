"""The copy of a box whose states know the last symbol: exact, from one SVD per symbol."""

from __future__ import annotations

import math
from dataclasses import replace

from seqray.automata.structured import StructuredAutomaton
from seqray.blackbox.queries.oracle import QueryMode
from seqray.extraction.conditional.comparison import compare
from seqray.extraction.conditional.learner import ConditionalLearner
from seqray.extraction.conditional.parts import Learning, LearntPart
from seqray.extraction.settings import StructuredSettings
from seqray.extraction.structured.copies import Copy
from seqray.extraction.structured.spectral import low_rank_share, spectral_by_last_symbol

TOLERANCES = 0.01, 0.002, 0.0005
"""Below which share of the largest singular value the others count as 0; each is tried."""

MIN_LOW_RANK_SHARE = 0.25
"""How much of all visits is of contexts with a clear rank where larger blocks are queried."""

BUDGET_PER_CELL = 2
"""How many queries have to be left for each cell of larger blocks: they take one at most."""


def learn_spectral_copy(
    learner: ConditionalLearner, learning: Learning, settings: StructuredSettings
) -> tuple[Copy | None, Learning]:
    """Return the spectral copy by last symbol if it is exact, and the learning with its blocks.

    Where contexts after some symbols have a clear rank, or where queries are free, it gets larger
    blocks: there may be too few contexts after other symbols.
    """
    part = learning.part
    if part.blocks.leaks:
        return None, learning
    copy = _nearest(learner, part, settings)
    if not _is_exact(copy, settings) and part.share < 1 and _is_promising(learner, part):
        part = learner.learn(1.0, part)
        learning = replace(learning, part=part)
        copy = _nearest(learner, part, settings)
    return (copy if _is_exact(copy, settings) else None), learning


def _is_promising(learner: ConditionalLearner, part: LearntPart) -> bool:
    if learner.meter.left < BUDGET_PER_CELL * learner.sizes.contexts * learner.sizes.columns:
        return False  # fits need words, too
    if learner.job.oracle.mode is QueryMode.AUTOMATON:
        return True
    return any(low_rank_share(part.blocks, each) > MIN_LOW_RANK_SHARE for each in TOLERANCES)


def _is_exact(copy: Copy, settings: StructuredSettings) -> bool:
    return copy.fidelity["kl_per_symbol"] < settings.exact_bits


def _nearest(learner: ConditionalLearner, part: LearntPart, settings: StructuredSettings) -> Copy:
    """Return the copy with the tolerance that is nearest to the box."""
    max_size = math.isqrt(learner.job.request.max_cost or settings.max_spectral_cost)
    with learner.job.timing("svd"):
        automata = [
            spectral_by_last_symbol(part.blocks, tolerance, max_size) for tolerance in TOLERANCES
        ]
    with learner.job.timing("choose"):
        copies = [compared_copy(learner, part, each) for each in automata]
    return min(copies, key=lambda copy: copy.fidelity["kl_per_symbol"])


def compared_copy(
    learner: ConditionalLearner, part: LearntPart, automaton: StructuredAutomaton
) -> Copy:
    """Return a copy with its fidelity on held-out words and counterexamples."""
    counterexamples = part.counterexamples.to_validate
    return Copy(automaton, compare(automaton, learner.held_out, counterexamples))
