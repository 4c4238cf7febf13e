"""Extraction by blocks of the Hankel matrix: from any box, by the weights of words."""

from __future__ import annotations

import logging
import math
from typing import NamedTuple

import numpy as np

from seqray.automata.stepper import predicts
from seqray.blackbox.queries.noise import NO_NOISE, Noise
from seqray.blackbox.queries.oracle import Oracle, QueryMode
from seqray.extraction.basis import Basis, data_basis, sampled_basis
from seqray.extraction.estimate import log_estimate, measured_speed
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.candidates import nearest_candidate, noise_of_mean
from seqray.extraction.hankel.growing_blocks import (
    Growth,
    grow,
    query_counts,
    round_of,
    uniform,
)
from seqray.extraction.hankel.memory_plan import allocator, check_memory
from seqray.extraction.hankel.partial_fill import fill_within
from seqray.extraction.hankel.sizes import (
    MAX_STEPS_PER_WORD,
    N_PREFIXES,
    N_SUFFIXES,
    affordable_size,
    ends_where_learnt,
    max_words,
    size_of,
    sizes_to_come,
    wanted_size,
)
from seqray.extraction.job import Job, compared_for, note_unused, probe_noise, refuse_too_many
from seqray.extraction.request import Method
from seqray.extraction.restricted_copies import restricted_copies
from seqray.extraction.result import Extraction, ExtractionSettings
from seqray.extraction.structured.copies import Copy
from seqray.extraction.validation import (
    ValidationWords,
    above_noise,
    known_words,
    validation_words,
    warn_of_equal_weights,
    warn_of_lost_digits,
)
from seqray.fidelity.reference import Reference
from seqray.util.errors import ArgumentError, Stopped, StopReason
from seqray.util.parameter_names import parameters

logger = logging.getLogger(__name__)

BATCH_IN_TIME = 25
"""Words to compare on that are queried between two looks at the time limit."""


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
    n_words = max_words(planned, len(job.oracle.alphabet), grows=grows)
    check_memory(job, planned, grows=grows)
    refuse_too_many(job, n_words)
    _warn_of_small_basis(job)
    with job.timing("basis"):
        basis = uniform(job, sizes_to_come(job)[0], rng) if grows else _drawn(job, rng)
        _estimate(job, n_words, basis)
        growth = Growth(basis, planned)
        if grows:
            growth = grow(job, basis, rng, held_out_rng)
    blocks, stopped, reference, noise = _fill(job, growth, held_out_rng)
    _warn(job, growth, blocks, stopped)
    reference = _reference(job, blocks, reference, noise)
    candidate = nearest_candidate(job, blocks, reference, noise)
    rounds = growth.rounds
    if not growth.is_enough:
        rounds = (*rounds, round_of(job, blocks, candidate))
    settings = ExtractionSettings(
        weighting=candidate.weighting,
        **query_counts(job.oracle, blocks),
        stopped=str(stopped or ""),
        stop_reason=None if stopped is None else stopped.reason,
        noise=noise,
        rounds=rounds if grows else None,
    )
    rank = candidate.table.best_rank()
    best = Copy(candidate.automata.automaton(rank), candidate.table.at(rank))
    copies = restricted_copies(job, (), best, lambda each: Copy(each, reference.compare(each)))
    return Extraction(candidate.automata, blocks.basis, candidate.table, settings, copies)


def _estimate(job: Job, n_words: int, basis: Basis) -> None:
    """Log how many words there are at most, or steps of a box with states."""
    unit, n_steps = "words", 1
    if job.oracle.mode is not QueryMode.WORDS:
        unit = "steps" if job.oracle.mode is QueryMode.STATES else "prefixes"
        n_steps = MAX_STEPS_PER_WORD
    n_first = None
    if job.request.grows_basis(box_predicts=job.oracle.predicts) and ends_where_learnt(job):
        n_first = n_steps * max_words(size_of(basis), len(job.oracle.alphabet), grows=False)
    speed = measured_speed(job, basis)
    log_estimate(job, n_steps * n_words, unit, speed, n_first=n_first)


def _warn_of_small_basis(job: Job) -> None:
    """Warn where there are so many symbols that the basis is smaller than by default."""
    is_sized = job.request.n_prefixes or job.request.n_suffixes or job.request.basis is not None
    size = wanted_size(job)
    if not is_sized and size != (N_PREFIXES, N_SUFFIXES):
        logger.warning(
            "%s symbols: at most %d × %d prefixes and suffixes are queried, not %d × %d; say how "
            "many you want (%s) or how many queries there may be (%s)",
            *(f"{len(job.oracle.alphabet):,}", *size, N_PREFIXES, N_SUFFIXES),
            *(parameters("n_prefixes", "n_suffixes"), parameters("budget")),
        )


def _fill(job: Job, growth: Growth, rng: np.random.Generator) -> _Filled:
    """Query words to compare on, and fill the last blocks, as far as the limits allow."""
    if growth.is_enough and growth.known is not None and growth.reference is not None:
        return _Filled(growth.known, None, growth.reference, growth.noise or NO_NOISE)
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
    blocks, stopped = fill_within(
        oracle,
        growth.basis,
        progress=job.progress,
        cache=oracle.blocks,
        allocate=allocator(job),
    )
    if stopped and known is not None and _n_cells(blocks) < _n_cells(known):
        return known, stopped
    return blocks, stopped


def _n_cells(blocks: HankelBlocks) -> int:
    return math.prod(blocks.values.shape)


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
    if not blocks.largest:
        logger.warning(
            "the box gave 0 to every word of the blocks: nothing can be learnt from that"
        )
    warn_of_lost_digits(blocks.largest)


def _reference(
    job: Job, blocks: HankelBlocks, reference: Reference | None, noise: Noise
) -> Reference:
    """Return what the box says of words to compare on; words of the blocks where there are none."""
    if reference is None or _is_silent(reference, blocks):
        reference = known_words(blocks)
    reference = compared_for(job, reference)
    if blocks.largest and not job.oracle.predicts:
        warn_of_equal_weights(reference.weights)
    return above_noise(reference, noise_of_mean(noise, job.repeat))


def _is_silent(reference: Reference, blocks: HankelBlocks) -> bool:
    """Whether nearly all words to compare on weigh 0, although some words of the blocks do not."""
    n_weighing = np.count_nonzero(reference.weights)
    return bool(blocks.largest and n_weighing < len(reference.weights) / 100)


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
        return uniform(job, size, rng)
    if not predicts(reader):
        raise ArgumentError(
            "basis: this box cannot be sampled, it does not predict next symbols: use 'grown' or "
            "'uniform'"
        )
    longest, limit = job.longest, job.limit
    return sampled_basis(reader, *size, seed=rng, max_length=longest, split=split, limit=limit)


def _fitting(basis: Basis, limit: int | None) -> Basis:
    """Return a basis whose words the box can read, or say why it cannot read them."""
    longest = int(basis.prefixes.lengths.max() + 1 + basis.suffixes.lengths.max())
    if limit is not None and longest > limit:
        raise ArgumentError(
            f"basis: a prefix, a symbol and a suffix of it have up to {longest} symbols, and the "
            f"box reads words of at most {limit}: give shorter prefixes and suffixes"
        )
    return basis


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
