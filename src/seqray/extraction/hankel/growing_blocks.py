"""Blocks that are filled in rounds, each over a larger basis, until nothing is left to learn.

Each round fills the blocks of a basis and finds a larger one with their help. Where nobody said how
much to query, its automaton is compared with the box. Growth ends where the automaton is exact, or
where a round no longer makes it nearer to the box. An answer of one round serves all later ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.blackbox.queries.limits import QueryCounts
from seqray.blackbox.queries.noise import NO_NOISE, Noise
from seqray.blackbox.queries.oracle import Oracle, QueryMode
from seqray.extraction.basis import Basis, uniform_basis
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.candidates import HankelCandidate, nearest_candidate
from seqray.extraction.hankel.decomposition import decompose
from seqray.extraction.hankel.growth import counterexamples, grown_basis
from seqray.extraction.hankel.memory_plan import allocator
from seqray.extraction.hankel.partial_fill import fill_within
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.hankel.sizes import (
    Size,
    ends_where_learnt,
    growth_cost,
    size_of,
    sizes_to_come,
)
from seqray.extraction.job import Job, compared_for, probe_noise
from seqray.extraction.settings import HANKEL
from seqray.extraction.validation import validation_words
from seqray.fidelity.objective import Objective
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import EXACT_TOLERANCE, TOLERANCE
from seqray.util.errors import Stopped

ROWS_PER_STATE = 2
"""Blocks with fewer prefixes for each state of their automaton may be too small for the box."""


@dataclass(frozen=True, eq=False)
class Growth:
    """A basis to fill, and how it was grown.

    Parameters
    ----------
    basis
        The basis.
    planned
        The size that was planned: smaller than the one wanted if the budget is small.
    known
        The largest blocks that were filled before.
    rounds
        The blocks that were compared with the box before.
    is_enough
        Whether growth ended because the target was reached, or nothing is left to learn.
    stopped
        Why growth ended early; None where it did not.
    reference, noise
        What the box says of the words on which growth was found to be enough, and its noise; None
        where other words are to be queried.
    automaton
        The one that was chosen in the last round; None: rounds are not compared with each other.
    was_idle
        Whether the last round made the automaton no nearer to the box.
    """

    basis: Basis
    planned: Size
    known: HankelBlocks | None = None
    rounds: tuple[HankelRound, ...] = ()
    is_enough: bool = False
    stopped: Stopped | None = None
    reference: Reference | None = None
    noise: Noise | None = None
    automaton: WeightedAutomaton | None = None
    was_idle: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether the known blocks are the last."""
        return self.is_enough or self.stopped is not None


class StepCounts(QueryCounts):
    """What was counted, with the steps of a box with states."""

    steps: int


def query_counts(oracle: Oracle, blocks: HankelBlocks) -> StepCounts:
    """Return what was queried, in words, prefixes or steps; an automaton's words are free."""
    counts, steps = oracle.meter.counts(), 0
    if oracle.is_free:
        counts["questions"], steps = blocks.n_questions, blocks.n_steps
    elif oracle.mode is not QueryMode.WORDS:
        steps = counts["questions"]
    return {**counts, "steps": steps}


def round_of(job: Job, blocks: HankelBlocks, candidate: HankelCandidate) -> HankelRound:
    """Return a record of blocks and of the best automaton of them."""
    n_queries = query_counts(job.oracle, blocks)["questions"]
    return HankelRound(n_queries, *size_of(blocks.basis), candidate.score)


def uniform(job: Job, size: Size, rng: np.random.Generator) -> Basis:
    """Return a basis of random words."""
    alphabet, longest = job.oracle.alphabet, job.request.max_length
    return uniform_basis(alphabet, *size, seed=rng, max_length=longest, limit=job.limit)


def grow(
    job: Job, basis: Basis, rng: np.random.Generator, held_out_rng: np.random.Generator
) -> Growth:
    """Fill ever larger blocks, until the next one has the size wanted, or there is enough.

    ``basis`` is the first one. Where queries have to end before, the last blocks that are known
    are taken. A budget is planned with anew before each step, by what the steps before it cost.
    """
    meter, query = job.meter, job.oracle.weights
    size, *larger = sizes_to_come(job)
    growth = Growth(basis, size)
    cost_ratio = 1.0  # of the last basis: what it cost to find, as a share of what was expected
    while larger:
        n_prefixes = len(growth.basis.prefixes)
        job.begin(f"looking for words that weigh much, {n_prefixes} prefixes", "answers")
        try:
            known, stopped = fill_within(
                job.oracle,
                growth.basis,
                progress=job.progress,
                cache=None if job.request.memory is None else job.oracle.blocks,
                allocate=allocator(job),
            )
            growth = replace(growth, known=known, stopped=stopped)
            if not stopped and not (larger := sizes_to_come(job, size, cost_ratio)):
                growth = replace(growth, stopped=meter.no_more())
            if growth.stopped:
                break
            job.begin("comparing automata", "automata")
            svd, growth = _compared(job, growth, known, held_out_rng)
            if growth.is_enough:
                break
            size, *larger = larger
            growth = replace(growth, planned=size)
            n_before = meter.n_answers
            job.begin("choosing prefixes and suffixes", "answers")
            n_wrong = max(1, size[0] // HANKEL.prefixes_per_counterexample)
            guess = svd.largest.weights
            wrong = counterexamples(known, query, guess, n_wrong, seed=rng, limit=job.limit)
            basis = grown_basis(
                *(known, query, *size),
                seed=rng,
                max_length=job.longest,
                extra_words=wrong,
                limit=job.limit,
            )
            growth = replace(growth, basis=basis)
            cost_ratio = (meter.n_answers - n_before) / growth_cost(job, size)
        except Stopped as reason:
            if growth.known is None:
                raise
            growth = replace(growth, stopped=reason)
            break
    if growth.known is not None and growth.has_ended:
        growth = replace(growth, basis=growth.known.basis)
    return growth


def _compared(
    job: Job, growth: Growth, known: HankelBlocks, rng: np.random.Generator
) -> tuple[RankedAutomata, Growth]:
    """Factor blocks, compare them with the box, and say whether they are enough.

    Where there is a budget but no target, they are only factored: all of it is used.
    """
    if ends_where_learnt(job):
        return _settled(job, growth, known, rng)
    if job.request.target is None:
        return decompose(known, max_rank=job.request.max_rank, seed=job.request.seed), growth
    reference = _query(job, growth, known, rng)
    candidate = nearest_candidate(job, known, reference, NO_NOISE)
    rounds = (*growth.rounds, round_of(job, known, candidate))
    # Two in a row: small blocks do not show what they do not know.
    is_enough = len(rounds) > 1 and min(each.score for each in rounds[-2:]) >= job.request.target
    return candidate.automata, replace(growth, rounds=rounds, is_enough=is_enough)


def _settled(
    job: Job, growth: Growth, known: HankelBlocks, rng: np.random.Generator
) -> tuple[RankedAutomata, Growth]:
    """Compare the automaton of a round with the box, and with that of the round before.

    There is enough where it is exact, on these words and on as many new ones, and the blocks have
    room for more states; or where a round made it no nearer, two rounds in a row if it is still far
    from the box. Blocks of zeros say nothing: they are never enough.
    """
    reference = _query(job, growth, known, rng)
    noise = growth.noise
    if noise is None:
        with job.meter.validating():
            noise = probe_noise(job, reference)
    candidate = nearest_candidate(job, known, reference, noise)
    is_idle = _is_idle(growth, candidate, reference)
    is_enough = is_idle and (growth.was_idle or candidate.score >= HANKEL.min_near_score)
    has_room = ROWS_PER_STATE * candidate.chosen.n_states <= len(known.basis.prefixes)
    if has_room and candidate.score >= 1 - EXACT_TOLERANCE:
        reference = _query(job, growth, known, rng)
        score = reference.compare(candidate.chosen).score
        is_enough |= score >= 1 - EXACT_TOLERANCE
    growth = replace(
        growth,
        rounds=(*growth.rounds, round_of(job, known, candidate)),
        is_enough=is_enough and bool(known.largest),
        reference=reference,
        noise=noise,
        automaton=candidate.chosen,
        was_idle=is_idle,
    )
    return candidate.automata, growth


def _is_idle(growth: Growth, candidate: HankelCandidate, reference: Reference) -> bool:
    """Whether an automaton is hardly nearer to the box than that of the round before."""
    if growth.automaton is None:
        return False
    before = reference.compare(growth.automaton)
    min_gain = HANKEL.min_gain * (1 - before.score)
    if before.chosen_by is not Objective.WEIGHTS:
        min_gain = max(min_gain, TOLERANCE)
    return candidate.score < before.score + min_gain


def _query(job: Job, growth: Growth, known: HankelBlocks, rng: np.random.Generator) -> Reference:
    """Return what the box says of new words to compare on."""
    with job.meter.validating():
        held_out = validation_words(job, growth.basis, known, rng)
        return compared_for(job, held_out.query(job.oracle.reader))
