"""Filling as many Hankel blocks as a budget, a time limit or an interruption allows."""

from __future__ import annotations

import numpy as np

from seqray.blackbox.queries.answer_memory import BlockCache
from seqray.blackbox.queries.oracle import Oracle
from seqray.extraction.basis import Basis
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.fill import Allocate, fill_planned
from seqray.extraction.hankel.plan import Plan
from seqray.util.errors import Stopped, StopReason
from seqray.util.progress import Progress

MIN_COST_RATIO = 1.05
"""A larger part is filled after all where it costs at least so many times as much."""

CACHED_STAGES = tuple(2 ** (-k / 2) for k in range(12, -1, -1))
"""Shares of the basis that are filled one after the other where time may be short.

Cached answers cost nothing the second time: the steps are small.
"""

STATE_STAGES = (1 / 16, 1 / 4, 1 / 2, 1)
"""The same for a box with states.

States are computed again: four stages cost a third more than the last one alone.
"""


def fill_within(
    oracle: Oracle,
    basis: Basis,
    *,
    progress: Progress | None = None,
    cache: BlockCache | None = None,
    allocate: Allocate = np.empty,
) -> tuple[HankelBlocks, Stopped | None]:
    """Fill the blocks of a basis, or of as large a part of it as the limits allow.

    A budget is planned with. Time that runs out, or somebody who says stop, ends the filling of a
    part, and the part before it is returned.

    Parameters
    ----------
    oracle
        What to query, within its limits.
    basis
        The prefixes and suffixes.
    progress, cache, allocate
        As for `seqray.extraction.hankel.fill.fill_planned`.

    Returns
    -------
    blocks, stopped
        What was filled, and why it is not all; None where it is.
    """
    meter = oracle.meter
    stages = _stages(oracle)
    again = 1.0 if oracle.caches else sum(stage**2 for stage in stages)
    plan, cut = _affordable(oracle, basis, again)
    filled: HankelBlocks | None = None
    n_queries, furthest, cost = plan.n_queries, 0, 0

    def report(done: int, n_part: int) -> None:
        nonlocal furthest
        furthest = max(furthest, done)
        if progress is not None:
            progress(furthest, max(furthest, n_queries))
        if done < n_part:
            meter.check()

    while plan.cost(oracle) > MIN_COST_RATIO * cost:
        cost = plan.cost(oracle)
        for stage in stages if filled is None else (1,):
            part = plan if stage == 1 else Plan.of(plan.basis.share(stage))
            try:
                filled = fill_planned(oracle, part, report, cache, allocate)
            except Stopped as stopped:
                if filled is None:
                    raise
                return filled, stopped
        if cut is None or not oracle.caches:
            break
        plan, cut = _affordable(oracle, basis, again, cost)  # much may have been cached
    assert filled is not None
    return filled, cut


def _stages(oracle: Oracle) -> tuple[float, ...]:
    """Return the shares of the basis to fill one after the other: all at once without a hurry."""
    limits = oracle.meter.limits
    if limits.time_limit is None and not (oracle.caches and limits.stop):
        return (1,)
    return CACHED_STAGES if oracle.caches else STATE_STAGES


def _affordable(
    oracle: Oracle, basis: Basis, again: float, known: int = 0
) -> tuple[Plan, Stopped | None]:
    """Return the plan for the largest share of a basis that the budget allows, and why not all.

    All its stages together cost ``again`` times as much as the last one; ``known``
    of the queries are answered already.
    """
    whole, meter = Plan.of(basis), oracle.meter
    if meter.budget is None or oracle.is_free:
        return whole, None

    def fits(plan: Plan) -> bool:
        return again * (plan.cost(oracle) - known) <= meter.left

    if fits(whole):
        return whole, None
    largest: Plan | None = None
    low, high = 0.0, 1.0
    while (high - low) * max(len(basis.prefixes), len(basis.suffixes)) > 1:
        middle = (low + high) / 2
        plan = Plan.of(basis.share(middle))
        if fits(plan):
            low, largest = middle, plan
        else:
            high = middle
    if largest is None:
        raise Stopped(
            StopReason.BUDGET,
            f"the budget of {meter.budget} queries is too small to fill any block",
        )
    return largest, meter.no_more()
