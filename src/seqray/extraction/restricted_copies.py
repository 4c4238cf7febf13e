"""Copies of a guided box: they give exactly 0 to words that the guide forbids."""

from __future__ import annotations

import logging
from collections.abc import Callable

from seqray.automata.guide import Guide
from seqray.automata.purpose import Purpose
from seqray.automata.restriction import masked, restricted
from seqray.automata.structured import StructuredAutomaton
from seqray.extraction.job import Job
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.table import EQUAL_SCORES
from seqray.util.errors import ArgumentError
from seqray.util.parameter_names import parameters

logger = logging.getLogger(__name__)


def restricted_copies(
    job: Job,
    copies: tuple[Copy, ...],
    best: Copy,
    compared: Callable[[StructuredAutomaton], Copy],
) -> tuple[Copy, ...]:
    """Return the copies of a guided box, restricted to its guide; of other boxes, as they are.

    Where there are none, the best automaton of all ranks is restricted. What would be too large
    stays as it is.

    Parameters
    ----------
    job
        The extraction.
    copies
        Those that were fitted.
    best
        The best automaton of all ranks.
    compared
        Measures the fidelity of an automaton.
    """
    guide = job.oracle.guide
    if guide is None or job.request.purpose is not Purpose.COPYING:
        return copies
    if not copies:
        only = _restricted(job, guide, best, compared)
        return () if only is None else (only,)
    return tuple(_restricted(job, guide, copy, compared) or copy for copy in copies)


def _restricted(
    job: Job, guide: Guide, copy: Copy, compared: Callable[[StructuredAutomaton], Copy]
) -> Copy | None:
    """Return a restricted automaton and its fidelity; None, and a warning, if it is too large."""
    try:
        with job.timing("choose"):
            small = _scaled(guide, copy, compared)
            if small is None or small.fidelity.score < copy.fidelity.score - EQUAL_SCORES:
                # Of negative weights, those of forbidden words may add up; then nothing is scaled.
                leaking = compared(masked(copy.automaton, guide))
                small = leaking if small is None else max(small, leaking, key=_score)
    except ArgumentError as error:
        reason = str(error)
    else:
        if small.is_within(job.request.max_cost, job.request.max_states):
            return small
        reason = f"{small.n_states:,} states are not allowed ({parameters('max_states')})"
    logger.warning(
        "the automaton of %s states is not restricted to the guide, so that words that the guide "
        "forbids may have a small weight: %s",
        *(f"{copy.n_states:,}", reason),
    )
    return None


def _scaled(
    guide: Guide, copy: Copy, compared: Callable[[StructuredAutomaton], Copy]
) -> Copy | None:
    """Return a restricted automaton; None if its words have no weight that can be scaled to 1."""
    try:
        return compared(restricted(copy.automaton, guide))
    except ArgumentError:
        return None


def _score(copy: Copy) -> float:
    return copy.fidelity.score
