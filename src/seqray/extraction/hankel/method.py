"""Extraction by blocks of the Hankel matrix: from any box, by the weights of words."""

from __future__ import annotations

import dataclasses
import logging
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqray.automata.ranks import RankedAutomata
from seqray.automata.stepper import predicts
from seqray.blackbox.queries.limits import QueryCounts
from seqray.blackbox.queries.noise import NO_NOISE, Noise
from seqray.blackbox.queries.noise_probe import N_PROBED
from seqray.blackbox.queries.oracle import Oracle, QueryMode
from seqray.extraction.basis import Basis, data_basis, sampled_basis, uniform_basis
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.decomposition import decompose
from seqray.extraction.hankel.growth import counterexamples, grown_basis
from seqray.extraction.hankel.partial_fill import fill_within
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.hankel.sizes import (
    Size,
    affordable_size,
    growth_cost,
    size_of,
    sizes_to_come,
    wanted_size,
)
from seqray.extraction.job import Job, announce, note_unused, probe_noise
from seqray.extraction.request import Method
from seqray.extraction.result import Extraction, ExtractionSettings
from seqray.extraction.settings import HANKEL
from seqray.extraction.validation import (
    ValidationWords,
    above_noise,
    known_words,
    validation_words,
    warn_of_equal_weights,
    warn_of_lost_digits,
)
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import TOLERANCE, FidelityTable
from seqray.util.errors import ArgumentError, Stopped, StopReason

logger = logging.getLogger(__name__)

WEIGHTINGS = ("balanced", "soft", "softer")
"""Weights for rows and columns; those that give the highest fidelity are taken."""

BATCH_IN_TIME = 25
"""Words to compare on that are queried between two looks at the time limit."""


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
    is_target_reached
        Whether growth ended because the target was reached.
    stopped
        Why growth ended early; None where it did not.
    """

    basis: Basis
    planned: Size
    known: HankelBlocks | None = None
    rounds: tuple[HankelRound, ...] = ()
    is_target_reached: bool = False
    stopped: Stopped | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the known blocks are the last."""
        return self.is_target_reached or self.stopped is not None


class StepCounts(QueryCounts):
    """What was counted, with the steps of a box with states."""

    steps: int


class _Filled(NamedTuple):
    """The last blocks, why they are not all, and what the box says of words to compare on."""

    blocks: HankelBlocks
    stopped: Stopped | None
    reference: Reference | None
    noise: Noise


def hankel_method(job: Job) -> Extraction:
    """Extract automata of every rank from blocks of the Hankel matrix."""
    grows = job.request.grows_basis(box_predicts=job.oracle.predicts)
    rng, held_out_rng = job.rngs()
    planned = sizes_to_come(job)[-1] if grows else affordable_size(job)
    n_cells = math.prod(planned) * len(job.oracle.alphabet)
    announce(job, n_cells, 2 * n_cells if grows else n_cells)
    with job.timing("basis"):
        growth = _grow(job, rng, held_out_rng) if grows else Growth(_drawn(job, rng), planned)
    blocks, stopped, reference, noise = _fill(job, growth, held_out_rng)
    _warn(job, growth, blocks, stopped)
    reference = _reference(job, blocks, reference, noise)
    decomposition, table, weighting = _decomposed(job, blocks, reference, noise)
    rounds = growth.rounds
    if not growth.is_target_reached:
        rounds = (*rounds, _round(job, blocks, table))
    settings = ExtractionSettings(
        weighting=weighting,
        **_counts(job.oracle, blocks),
        stopped=str(stopped or ""),
        stop_reason=None if stopped is None else stopped.reason,
        noise=noise,
        rounds=rounds if grows else None,
    )
    return Extraction(decomposition, blocks.basis, table, settings)


def _fill(job: Job, growth: Growth, rng: np.random.Generator) -> _Filled:
    """Query words to compare on, and fill the last blocks, as far as the limits allow."""
    reference, noise = None, NO_NOISE
    try:
        with job.timing("choose"), job.meter.validating():
            held_out = validation_words(job, growth.basis, growth.known, rng)
            reference = _in_time(job.oracle, held_out).query(job.oracle.reader)
            noise = probe_noise(job, reference)
        with job.timing("fill"):
            blocks, stopped = _last_blocks(job, growth)
    except Stopped as reason:
        if growth.known is None:
            raise _with_hint(reason, job.oracle) from None
        blocks, stopped = growth.known, growth.stopped or reason
    if stopped is None and not growth.has_ended and growth.planned != wanted_size(job):
        stopped = job.meter.no_more()
    return _Filled(blocks, stopped, reference, noise)


def _last_blocks(job: Job, growth: Growth) -> tuple[HankelBlocks, Stopped | None]:
    """Fill the blocks of the basis, or take those that led to it; and say why they are not all."""
    oracle, known = job.oracle, growth.known
    if growth.has_ended and known is not None:
        return known, growth.stopped
    job.begin("querying the box", "answers")
    blocks, stopped = fill_within(oracle, growth.basis, progress=job.progress, cache=oracle.blocks)
    if stopped and known is not None and blocks.values.size < known.values.size:
        return known, stopped
    return blocks, stopped


def _with_hint(stopped: Stopped, oracle: Oracle) -> Stopped:
    """Say which budget is enough, where one was too small for anything."""
    if stopped.reason is not StopReason.BUDGET or oracle.mode is not QueryMode.WORDS:
        return stopped
    least = max(20 + 5 * (1 + len(oracle.alphabet)), 2 * (oracle.meter.budget or 0))
    return Stopped(stopped.reason, f"{stopped}: about {least} are enough")


def _warn(job: Job, growth: Growth, blocks: HankelBlocks, stopped: Stopped | None) -> None:
    """Warn of blocks that are not all, or hold nothing, and of a budget that was not used."""
    size = size_of(blocks.basis)
    if stopped:
        sizes = (*size, *wanted_size(job))
        logger.warning("%s: %d × %d of %d × %d prefixes and suffixes were queried", stopped, *sizes)
    elif not growth.has_ended:
        note_unused(job.meter, "{} × {} prefixes and suffixes".format(*size))
    if not blocks.values.any():
        logger.warning(
            "the box gave 0 to every word of the blocks: nothing can be learnt from that"
        )
    warn_of_lost_digits(blocks.values)


def _reference(
    job: Job, blocks: HankelBlocks, reference: Reference | None, noise: Noise
) -> Reference:
    """Return what the box says of words to compare on; words of the blocks where there are none."""
    if reference is None or _is_silent(reference, blocks):
        reference = known_words(blocks)
    if blocks.values.any() and not job.oracle.predicts:
        warn_of_equal_weights(reference.weights)
    return above_noise(reference, _noise_of_mean(noise, job.repeat))


def _is_silent(reference: Reference, blocks: HankelBlocks) -> bool:
    """Whether nearly all words to compare on weigh 0, although some words of the blocks do not."""
    n_weighing = np.count_nonzero(reference.weights)
    return bool(blocks.values.any() and n_weighing < len(reference.weights) / 100)


def _counts(oracle: Oracle, blocks: HankelBlocks) -> StepCounts:
    """Return what was queried, in words, prefixes or steps; an automaton's words are free."""
    counts, steps = oracle.meter.counts(), 0
    if oracle.is_free:
        counts["questions"], steps = blocks.n_questions, blocks.n_steps
    elif oracle.mode is not QueryMode.WORDS:
        steps = counts["questions"]
    return {**counts, "steps": steps}


def _decomposed(
    job: Job, blocks: HankelBlocks, reference: Reference, noise: Noise
) -> tuple[RankedAutomata, FidelityTable, str]:
    """Factor blocks with the weights for rows and columns that give the highest fidelity."""
    best: tuple[RankedAutomata, FidelityTable, str] | None = None
    best_score = -np.inf
    for weighting in ("none",) if job.request.method is Method.PAPER else WEIGHTINGS:
        with job.timing("svd"):
            svd = decompose(
                blocks,
                max_rank=job.request.max_rank,
                weighting=weighting,
                noise=_noise_of_mean(noise, job.repeat),
                seed=job.request.seed,
            )
        with job.timing("choose"):
            table = compare_ranks(reference, svd.largest, range(1, svd.max_rank + 1))
        score = max(each.weights_score for each in table.fidelities)
        if best is None or score > best_score + TOLERANCE:
            best, best_score = (svd, table, weighting), score
        if best_score > 1 - TOLERANCE:
            break
    assert best is not None
    return best


def _round(job: Job, blocks: HankelBlocks, table: FidelityTable) -> HankelRound:
    score = max(each.score for each in table.fidelities)
    return HankelRound(_counts(job.oracle, blocks)["questions"], *size_of(blocks.basis), score)


# The basis ----------------------------------------------------------------------------------------


def _drawn(job: Job, rng: np.random.Generator) -> Basis:
    """Return the basis that was given, or draw one."""
    reader, basis, alphabet = job.oracle.reader, job.request.basis, job.oracle.alphabet
    if isinstance(basis, Basis):
        return _fitting(basis, job.limit)
    size = affordable_size(job)
    if basis is None:
        basis = "uniform" if job.request.method is Method.PAPER else "sampled"
    split = "whole" if job.request.method is Method.PAPER else "halves"
    if not isinstance(basis, str):
        return data_basis(alphabet.words(basis), *size, seed=rng, split=split, limit=job.limit)
    if basis == "uniform":
        return _uniform(job, size, rng)
    if not predicts(reader):
        raise ArgumentError(
            "basis: this box cannot be sampled, it does not predict next symbols: use 'grown' or "
            "'uniform'"
        )
    longest, limit = job.longest, job.limit
    return sampled_basis(reader, *size, seed=rng, max_length=longest, split=split, limit=limit)


def _uniform(job: Job, size: Size, rng: np.random.Generator) -> Basis:
    alphabet, longest = job.oracle.alphabet, job.request.max_length
    return uniform_basis(alphabet, *size, seed=rng, max_length=longest, limit=job.limit)


def _fitting(basis: Basis, limit: int | None) -> Basis:
    """Return a basis whose words the box can read, or say why it cannot read them."""
    longest = int(basis.prefixes.lengths.max() + 1 + basis.suffixes.lengths.max())
    if limit is not None and longest > limit:
        raise ArgumentError(
            f"basis: a prefix, a symbol and a suffix of it have up to {longest} symbols, and the "
            f"box reads words of at most {limit}: give shorter prefixes and suffixes"
        )
    return basis


def _grow(job: Job, rng: np.random.Generator, held_out_rng: np.random.Generator) -> Growth:
    """Fill ever larger blocks, until the next one has the size wanted, or the target is reached.

    That is where two in a row reach the target: small blocks do not show what they do not know.
    Where queries have to end before, the last blocks that are known are taken. A budget is planned
    with anew before each step, by what the steps before it cost.
    """
    meter, query = job.meter, job.oracle.weights
    size, *larger = sizes_to_come(job)
    growth = Growth(_uniform(job, size, rng), size)
    cost_ratio = 1.0  # of the last basis: what it cost to find, as a share of what was expected
    while larger:
        n_prefixes = len(growth.basis.prefixes)
        job.begin(f"looking for words that weigh much, {n_prefixes} prefixes", "answers")
        try:
            known, stopped = fill_within(job.oracle, growth.basis, progress=job.progress)
            growth = dataclasses.replace(growth, known=known, stopped=stopped)
            if not stopped and not (larger := sizes_to_come(job, size, cost_ratio)):
                growth = dataclasses.replace(growth, stopped=meter.no_more())
            if growth.stopped:
                break
            svd, growth = _compared(job, growth, known, held_out_rng)
            if growth.is_target_reached:
                break
            size, *larger = larger
            growth = dataclasses.replace(growth, planned=size)
            n_before = meter.n_answers
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
            growth = dataclasses.replace(growth, basis=basis)
            cost_ratio = (meter.n_answers - n_before) / growth_cost(job, size)
        except Stopped as reason:
            if growth.known is None:
                raise
            growth = dataclasses.replace(growth, stopped=reason)
            break
    if growth.known is not None and growth.has_ended:
        growth = dataclasses.replace(growth, basis=growth.known.basis)
    return growth


def _compared(
    job: Job, growth: Growth, known: HankelBlocks, rng: np.random.Generator
) -> tuple[RankedAutomata, Growth]:
    """Factor blocks, and with a target compare them with the box."""
    if job.request.target is None:
        return decompose(known, max_rank=job.request.max_rank, seed=job.request.seed), growth
    with job.meter.validating():
        held_out = validation_words(job, growth.basis, known, rng)
        reference = held_out.query(job.oracle.reader)
    svd, table, _ = _decomposed(job, known, reference, NO_NOISE)
    rounds = (*growth.rounds, _round(job, known, table))
    is_reached = len(rounds) > 1 and min(each.score for each in rounds[-2:]) >= job.request.target
    return svd, dataclasses.replace(growth, rounds=rounds, is_target_reached=is_reached)


# Words to compare on ------------------------------------------------------------------------------


def _in_time(oracle: Oracle, held_out: ValidationWords) -> ValidationWords:
    """Return the words that can be queried in a quarter of the time; their answers are cached."""
    time_limit = oracle.meter.time_limit
    if time_limit is None or not oracle.caches:
        return held_out
    for end in range(BATCH_IN_TIME, len(held_out.words), BATCH_IN_TIME):
        oracle.weights(held_out.words[end - BATCH_IN_TIME : end])
        if oracle.meter.elapsed > time_limit / 4:
            return held_out.first(end)
    return held_out


def _noise_of_mean(noise: Noise, repeat: int) -> Noise:
    """Return the noise of a mean; measured on few words it may be larger: two standard errors."""
    factor = (1 + 2 / math.sqrt(2 * N_PROBED)) / math.sqrt(repeat)
    return Noise(noise.level * factor, noise.relative)
