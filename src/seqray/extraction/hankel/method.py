"""Extraction by blocks of the Hankel matrix: from any box, by the numbers it gives to words."""

from __future__ import annotations

import logging
import math
from functools import partial
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.automata.stepper import predicts
from seqray.blackbox.protocol import BlackBox, query_weights
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.noise import SURE, Noise
from seqray.blackbox.queries.oracle import KeptBlocks, way_of
from seqray.extraction.basis import Basis, data_basis, sampled_basis, uniform_basis
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.decomposition import decompose
from seqray.extraction.hankel.fill import fill_within
from seqray.extraction.hankel.growth import counterexamples, grown_basis, sizes_up_to
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.hankel.settings import HANKEL
from seqray.extraction.request import (
    N_HELD_OUT,
    N_PROBED,
    Job,
    announce,
    note_unused,
    probe_noise,
)
from seqray.extraction.result import Extraction, ExtractionSettings
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

N_PREFIXES, N_SUFFIXES = 800, 800
"""How many of each to ask about."""

GROWTH = 2.1
"""About how many words are asked about for each cell, a prefix with a suffix, of a grown basis."""

STEPS_A_WORD = 3
"""About how many steps, or prefixes, that takes for each word."""

NEW = 0.7
"""About how many of the words of its blocks were not asked about to find it."""

WORTHWHILE = 1.2
"""A basis with fewer times as many cells as the last one is not grown any more."""

CHOICES = ("balanced", "soft", "softer")
"""Weights for rows and columns; that which comes nearest to the box is taken."""


class _Way(NamedTuple):
    """A basis to fill, and how it was grown: the largest blocks before it, and the rounds.

    The sizes that were ``planned`` for it are smaller than those wanted if the budget is. Where
    the blocks are to be the last, the target was ``reached``, or growth was ``stopped``.
    """

    basis: Basis
    planned: tuple[int, int]
    known: HankelBlocks | None = None
    rounds: tuple[HankelRound, ...] = ()
    reached: bool = False
    stopped: Stopped | None = None

    @property
    def ended(self) -> bool:
        """Whether the known blocks are the last."""
        return self.reached or self.stopped is not None


def by_blocks(job: Job) -> Extraction:
    """Extract automata of every rank from blocks of the Hankel matrix."""
    box, meter, grows = job.asked, job.meter, _grows(job)
    by_states = way_of(box) == "states"
    blocks_kept = KeptBlocks.of(job.box, job.kept) if job.kept is not None and by_states else None
    rng, held_out_rng = job.rngs()
    planned = _sizes_to_come(job)[-1] if grows else _affordable_sizes(job)
    n_cells = math.prod(planned) * len(box.alphabet)
    announce(job, n_cells, 2 * n_cells if grows else n_cells)
    with job.timing("basis"):
        way = _grown(job, rng, held_out_rng) if grows else _Way(_drawn(job, rng), planned)
    reference, noise = None, SURE
    try:
        with job.timing("choose"), meter.validating():
            held_out = validation_words(job, way.basis, way.known, held_out_rng)
            reference = _in_time(box, held_out, meter).query(box)
            noise = probe_noise(job, reference)
        with job.timing("fill"):
            blocks, cut = _filled(job, way, blocks_kept)
    except Stopped as stopped:
        if way.known is None:
            raise _enough(stopped, job) from None
        blocks, cut = way.known, way.stopped or stopped
    if not way.ended and way.planned != _wanted_sizes(job):
        cut = cut or meter.no_more()
    if cut:
        sizes = (*_sizes(blocks.basis), *_wanted_sizes(job))
        logger.warning("%s: %d × %d of %d × %d prefixes and suffixes were asked", cut, *sizes)
    elif not way.ended:
        note_unused(meter, "{} × {} prefixes and suffixes".format(*_sizes(blocks.basis)))
    if not blocks.values.any():
        logger.warning("the box gave 0 to every word it was asked: nothing can be learnt from that")
    warn_of_lost_digits(blocks.values)
    if reference is None or _says_nothing(reference, blocks):
        reference = known_words(blocks)
    if blocks.values.any() and not predicts(box):
        warn_of_equal_weights(reference.weights)
    reference = above_noise(reference, _heard(noise, job.repeat))
    decomposition, table, weighting = _decomposed(job, blocks, reference, noise)
    rounds = way.rounds if way.reached else (*way.rounds, _round(job, blocks, table))
    counts = _counts(job, blocks)
    settings = ExtractionSettings(
        weighting=weighting,
        questions=counts["questions"],
        validation_questions=counts["validation_questions"],
        queries_sent=counts["queries_sent"],
        steps=counts["steps"],
        stopped=str(cut or ""),
        stop_reason=None if cut is None else cut.reason,
        noise=noise,
        rounds=rounds if grows else None,
    )
    return Extraction(decomposition, blocks.basis, table, settings)


def _counts(job: Job, blocks: HankelBlocks) -> dict[str, int]:
    """Return what was asked, in words, prefixes or steps; an automaton's words are free."""
    counts, steps = job.meter.counts(), 0
    if isinstance(job.asked, WeightedAutomaton):
        counts["questions"], steps = blocks.n_questions, blocks.n_steps
    elif not isinstance(job.asked, QueriedBox):
        steps = counts["questions"]
    return {**counts, "steps": steps}


def _says_nothing(reference: Reference, blocks: HankelBlocks) -> bool:
    """Whether nearly all words to compare on weigh 0, although some words of the blocks do not."""
    n_weighing = np.count_nonzero(reference.weights)
    return bool(blocks.values.any() and n_weighing < len(reference.weights) / 100)


def _enough(stopped: Stopped, job: Job) -> Stopped:
    """Say what would be enough, where a budget was too small for anything."""
    if stopped.reason is not StopReason.BUDGET or not isinstance(job.asked, QueriedBox):
        return stopped
    least = max(20 + 5 * (1 + len(job.asked.alphabet)), 2 * (job.meter.budget or 0))
    return Stopped(stopped.reason, f"{stopped}: about {least} are enough")


def _filled(job: Job, way: _Way, kept: KeptBlocks | None) -> tuple[HankelBlocks, Stopped | None]:
    """Fill the blocks of the basis, or take those that led to it; and say why they are not all."""
    if way.ended and way.known is not None:
        return way.known, way.stopped
    job.begin("asking the box", "answers")
    blocks, cut = fill_within(job.asked, way.basis, job.meter, progress=job.progress, kept=kept)
    if cut and way.known is not None and blocks.values.size < way.known.values.size:
        return way.known, cut
    return blocks, cut


def _decomposed(
    job: Job, blocks: HankelBlocks, reference: Reference, noise: Noise
) -> tuple[RankedAutomata, FidelityTable, str]:
    """Factor blocks with the weights for rows and columns that come nearest to the box."""
    best: tuple[RankedAutomata, FidelityTable, str] | None = None
    nearest = -np.inf
    for weighting in ("none",) if job.method == "paper" else CHOICES:
        with job.timing("svd"):
            svd = decompose(
                blocks,
                max_rank=job.max_rank,
                weighting=weighting,
                noise=_heard(noise, job.repeat),
                seed=job.seed,
            )
        with job.timing("choose"):
            table = compare_ranks(reference, svd.largest, range(1, svd.max_rank + 1))
        score = max(each.weights_score for each in table.fidelities)
        if best is None or score > nearest + TOLERANCE:
            best, nearest = (svd, table, weighting), score
        if nearest > 1 - TOLERANCE:
            break
    assert best is not None
    return best


def _round(job: Job, blocks: HankelBlocks, table: FidelityTable) -> HankelRound:
    nearest = max(each.score for each in table.fidelities)
    return HankelRound(_counts(job, blocks)["questions"], *_sizes(blocks.basis), nearest)


# Which words to ask about -------------------------------------------------------------------------


def _grows(job: Job) -> bool:
    """Whether the basis is to be grown: it was asked for, or the box cannot be sampled."""
    if job.basis is None:
        return job.method != "paper" and not predicts(job.asked)
    return isinstance(job.basis, str) and job.basis == "grown"


def _drawn(job: Job, rng: np.random.Generator) -> Basis:
    """Return the basis that was given, or draw one."""
    box, basis, alphabet = job.asked, job.basis, job.asked.alphabet
    if isinstance(basis, Basis):
        return _fitting(basis, job.limit)
    sizes = _affordable_sizes(job)
    if basis is None:
        basis = "uniform" if job.method == "paper" else "sampled"
    split = "whole" if job.method == "paper" else "halves"
    if not isinstance(basis, str):
        return data_basis(alphabet.words(basis), *sizes, seed=rng, split=split, limit=job.limit)
    if basis == "uniform":
        longest = job.max_length
        return uniform_basis(alphabet, *sizes, seed=rng, max_length=longest, limit=job.limit)
    if not predicts(box):
        raise ArgumentError(
            "basis: this box cannot be sampled, it does not predict next symbols: use 'grown' or "
            "'uniform'"
        )
    longest, limit = job.longest, job.limit
    return sampled_basis(box, *sizes, seed=rng, max_length=longest, split=split, limit=limit)


def _fitting(basis: Basis, limit: int | None) -> Basis:
    """Return a basis whose words the box can read, or say why it cannot read them."""
    longest = int(basis.prefixes.lengths.max() + 1 + basis.suffixes.lengths.max())
    if limit is not None and longest > limit:
        raise ArgumentError(
            f"basis: a prefix, a symbol and a suffix of it have up to {longest} symbols, and the "
            f"box reads words of at most {limit}: give shorter prefixes and suffixes"
        )
    return basis


def _grown(job: Job, rng: np.random.Generator, held_out_rng: np.random.Generator) -> _Way:
    """Fill ever larger blocks, until the next one has the sizes wanted, or there is enough.

    That is where two in a row reach the target: small blocks do not show what they do not know.
    Where asking has to end before, the last blocks that are known are taken. A budget is planned
    with anew before each step, by what the steps before it cost.
    """
    ask, meter = partial(query_weights, job.asked), job.meter
    known: HankelBlocks | None = None
    limit, alphabet = job.limit, job.asked.alphabet
    size, *larger = _sizes_to_come(job)
    basis = uniform_basis(alphabet, *size, seed=rng, max_length=job.max_length, limit=limit)
    rounds: list[HankelRound] = []
    reached, stopped = False, None
    dearer = 1.0  # than expected, to find the last basis
    while larger:
        job.begin(f"looking for words that weigh much, {len(basis.prefixes)} prefixes", "answers")
        try:
            known, cut = fill_within(job.asked, basis, meter, progress=job.progress)
            if cut:
                stopped = cut
                break
            larger = _sizes_to_come(job, size, dearer)
            if not larger:
                stopped = meter.no_more()
                break
            if job.target is None:
                svd = decompose(known, max_rank=job.max_rank, seed=job.seed)
            else:
                with meter.validating():
                    reference = validation_words(job, basis, known, held_out_rng).query(job.asked)
                svd, table, _ = _decomposed(job, known, reference, SURE)
                rounds.append(_round(job, known, table))
                if len(rounds) > 1 and min(r.score for r in rounds[-2:]) >= job.target:
                    reached = True
                    break
            size, *larger = larger
            n_before = meter.n_asked
            n_wrong = max(1, size[0] // HANKEL.prefixes_per_counterexample)
            guess = svd.largest.weights
            wrong = counterexamples(known, ask, guess, n_wrong, seed=rng, limit=limit)
            basis = grown_basis(
                *(known, ask, *size),
                seed=rng,
                max_length=job.longest,
                extra_words=wrong,
                limit=limit,
            )
            dearer = (meter.n_asked - n_before) / _growth_cost(job, size)
        except Stopped as reason:
            if known is None:
                raise
            stopped = reason
            break
    way = _Way(basis, size, known, tuple(rounds), reached, stopped)
    return way._replace(basis=known.basis) if known is not None and way.ended else way


def _sizes_to_come(
    job: Job, known: tuple[int, int] = (0, 0), dearer: float = 1.0
) -> list[tuple[int, int]]:
    """Return the sizes of the bases to grow to: up to the largest that what is left allows.

    Parameters
    ----------
    job
        What to extract, within which budget.
    known
        The sizes of the blocks that are filled. Where there are none, the first sizes are those of
        a uniform basis.
    dearer
        How many times as much as expected it cost to find the last basis.

    Returns
    -------
    sizes
        None at all where no basis can be found that is larger by enough to be worth it.
    """
    wanted, least = _wanted_sizes(job), WORTHWHILE * math.prod(known)
    left = math.inf if _is_free(job) else job.meter.left - _validation_cost(job)
    for share in np.linspace(1, 0, 200, endpoint=False).tolist():
        steps = [size for size in sizes_up_to(*_scaled(wanted, share)) if math.prod(size) >= least]
        if not steps:
            return []
        found = steps if least else steps[1:]
        growth = dearer * sum(_growth_cost(job, size) for size in found)
        if growth + _fill_cost(job, steps[-1]) <= left:
            break
    if not least and len(steps) == 1:
        return [_affordable_sizes(job)]  # enough for a uniform basis only
    return steps


def _growth_cost(job: Job, size: tuple[int, int]) -> float:
    """Return about how many questions it costs to find a basis of a size.

    Of more than `HankelSettings.max_independent_rows` suffixes only some are compared; words of
    larger bases are longer.
    """
    n_cells = math.prod(size)
    if (steps := _steps_a_word(job)) > 1:
        return float(steps * GROWTH * n_cells * (n_cells / HANKEL.max_independent_rows**2) ** 0.2)
    return float(GROWTH * n_cells * min(1.0, HANKEL.max_independent_rows**2 / n_cells) ** 0.35)


def _fill_cost(job: Job, size: tuple[int, int]) -> float:
    """Return about how many questions it costs to fill the blocks of a basis that was grown."""
    return NEW * _steps_a_word(job) * math.prod(size) * max(1, len(job.asked.alphabet) - 1)


def _validation_cost(job: Job) -> float:
    """Return about how many questions are for words to compare on."""
    cost = (
        _steps_a_word(job) * 2 * N_HELD_OUT * (HANKEL.n_continuations + HANKEL.n_long_continuations)
    )
    return min(cost, (job.meter.allowance or math.inf) / 12)


def _steps_a_word(job: Job) -> int:
    """Return about how many questions it takes to ask about one word more."""
    return 1 if isinstance(job.asked, QueriedBox) else STEPS_A_WORD


def _is_free(job: Job) -> bool:
    """Whether any number of questions may be asked."""
    return job.meter.allowance is None or isinstance(job.asked, WeightedAutomaton)


def _affordable_sizes(job: Job) -> tuple[int, int]:
    """Return how many prefixes and suffixes a budget allows if it is for their blocks alone.

    Each prefix is asked with about every symbol and suffix; a basis that cannot be asked need not
    be found first, which costs questions itself where the box is sampled.
    """
    wanted = _wanted_sizes(job)
    if job.meter.allowance is None or _is_free(job):
        return wanted
    n_cells = job.meter.allowance / max(1, len(job.asked.alphabet) - 1)
    return _scaled(wanted, min(1.0, math.sqrt(n_cells / math.prod(wanted))))


def _scaled(size: tuple[int, int], share: float) -> tuple[int, int]:
    return max(1, math.ceil(share * size[0])), max(1, math.ceil(share * size[1]))


def _wanted_sizes(job: Job) -> tuple[int, int]:
    if isinstance(job.basis, Basis):
        return _sizes(job.basis)
    return job.n_prefixes or N_PREFIXES, job.n_suffixes or N_SUFFIXES


def _sizes(basis: Basis) -> tuple[int, int]:
    return len(basis.prefixes), len(basis.suffixes)


# Which words to compare on, and to probe ----------------------------------------------------------


def _in_time(box: BlackBox, held_out: ValidationWords, meter: Meter) -> ValidationWords:
    """Return the words that can be asked in a quarter of the time; their answers are kept."""
    if meter.seconds is None or not isinstance(box, QueriedBox | QueriedModel):
        return held_out
    for end in range(25, len(held_out.words), 25):
        box.weights(held_out.words[end - 25 : end])
        if meter.elapsed > meter.seconds / 4:
            return held_out.first(end)
    return held_out


def _heard(noise: Noise, repeat: int) -> Noise:
    """Return the noise of a mean; measured on few words it may be larger: two standard errors."""
    sure = (1 + 2 / math.sqrt(2 * N_PROBED)) / math.sqrt(repeat)
    return Noise(noise.level * sure, noise.relative)
