"""The conditional method: extraction from a box that predicts, by how contexts go on.

Words are drawn from the box, and the next symbols after their contexts are compared. Two kinds of
automata come of that: those of the SVD of the conditional blocks, of every rank, and at some ranks
a probabilistic automaton, fitted along whole words. Of each rank the one that is nearer to the box
on held-out words is kept.

Where there is a limit or a target, a small part is queried first, and then ever larger ones. If
wanted, a search for counterexamples follows, which shows rare behaviour.
"""

from __future__ import annotations

import dataclasses
import logging
from functools import partial

import numpy as np

from seqray.automata.guide import Guide
from seqray.automata.purpose import Purpose
from seqray.automata.words import Words
from seqray.blackbox.queries.limits import Meter
from seqray.blackbox.queries.oracle import QueryMode
from seqray.extraction.basis import WORDS_CUT_WARNING, Basis
from seqray.extraction.conditional.answer_count import counted_answers
from seqray.extraction.conditional.copying import learn_copies
from seqray.extraction.conditional.counterexamples import (
    learn_from_counterexamples,
    warn_of_unlearnt,
)
from seqray.extraction.conditional.default_cost import max_prefixes
from seqray.extraction.conditional.learner import (
    ConditionalLearner,
    learn_in_parts,
    mean_word_length,
)
from seqray.extraction.conditional.pacer import Pacer, sufficient_budget, whole_sizes
from seqray.extraction.conditional.parts import Learning, LearntPart, PartSizes
from seqray.extraction.conditional.rank_table import RankTable, rank_table
from seqray.extraction.conditional.spectral_copy import compared_copy
from seqray.extraction.estimate import log_estimate
from seqray.extraction.job import N_HELD_OUT, Job, compared_for, draw_within, probe_noise
from seqray.extraction.restricted_copies import restricted_copies
from seqray.extraction.result import Extraction, ExtractionSettings
from seqray.extraction.settings import CONDITIONAL, STRUCTURED
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.table import EXACT_TOLERANCE
from seqray.util.errors import ArgumentError, Stopped, StopReason

logger = logging.getLogger(__name__)

SETTINGS = CONDITIONAL
"""The settings that the method uses."""


def conditional_method(job: Job) -> Extraction:
    """Extract automata of every rank from the next-symbol distributions of a box."""
    oracle = job.oracle.counted()  # an automaton has no budget, but its steps count
    meter = oracle.meter
    rng, held_out_rng = job.rngs()
    data_set = _data_set(job, rng)
    max_length = job.longest
    try:
        progress = counted_answers(job, meter, "drawing words to compare on", N_HELD_OUT)
        with job.timing("choose"), progress, meter.validating():
            held_out = draw_within(oracle.predictor, N_HELD_OUT, max_length, held_out_rng, meter)
            held_out = compared_for(job, held_out)
            max_length = min(max_length, 2 * held_out.n_prefixes // len(held_out.weights))
            noise = probe_noise(job, held_out)
        sizes = whole_sizes(job, mean_word_length(held_out), data_set, SETTINGS)
        _estimate(job, meter, sizes, mean_word_length(held_out))
        learner = ConditionalLearner(job, oracle, held_out, data_set, rng, sizes, SETTINGS)
        learning = learn_in_parts(learner, _pacer(learner))
        learning = learn_from_counterexamples(learner, learning)
    except Stopped as stopped:
        raise _with_advice(stopped, meter, len(job.oracle.alphabet), max_length) from None
    table, learning = rank_table(learner, learning)
    if job.request.counterexamples:
        warn_of_unlearnt(learner, learning, table.fidelity.best_rank())
    copies: tuple[Copy, ...] = ()
    if _wants_copies(job, table, learning):
        within = STRUCTURED.within_cost(job.request.max_cost)
        copies, learning = learn_copies(learner, learning, table.fidelity.best, within)
    part = learning.part
    automata = dataclasses.replace(part.svd, fitted=table.fitted)
    rank = table.fidelity.best_rank(EXACT_TOLERANCE)
    best = Copy(automata.automaton(rank), table.fidelity.at(rank))
    copies = restricted_copies(job, copies, best, partial(compared_copy, learner, part))
    stopped_early = learning.stopped
    settings = ExtractionSettings(
        columns=part.blocks.features.shape[1],
        fitted_ranks=sorted(table.fitted_ranks),
        **meter.counts(),
        steps=meter.n_queries,
        rounds=learning.rounds,
        counterexamples=learning.searches,
        stopped=str(stopped_early or ""),
        stop_reason=None if stopped_early is None else stopped_early.reason,
        noise=noise,
    )
    basis = _basis(job, part, is_drawn=data_set is None)
    return Extraction(automata, basis, table.fidelity, settings, copies)


def _estimate(job: Job, meter: Meter, sizes: PartSizes, word_length: float) -> None:
    """Log how many prefixes are queried at most, at the speed of those that were."""
    is_copying = job.request.purpose is Purpose.COPYING
    is_cheap = job.oracle.mode is QueryMode.STATES or meter.budget is not None
    n_most = max_prefixes(sizes, word_length, with_copies=is_copying and is_cheap)
    unit = "steps" if job.oracle.mode is QueryMode.STATES else "prefixes"
    log_estimate(job, n_most, unit, meter.seconds_per_query, "automata are fitted after that")


def _wants_copies(job: Job, table: RankTable, learning: Learning) -> bool:
    """Whether larger automata are wanted and allowed: no rank is near enough, and there is time."""
    request, stopped = job.request, learning.stopped
    if stopped is not None and stopped.reason is not StopReason.BUDGET:
        return False
    if request.max_states is not None and request.max_states <= request.max_rank:
        return False
    best, target = table.fidelity.best, request.target
    is_near = best["kl_per_symbol"] < STRUCTURED.exact_bits
    is_near |= target is not None and best.score >= target
    return request.purpose is Purpose.COPYING and not is_near


def _with_advice(stopped: Stopped, meter: Meter, n_symbols: int, max_length: int) -> Stopped:
    """Say which budget is enough, where the budget was too small to learn anything."""
    if meter.left > 0:
        return stopped
    enough = sufficient_budget(n_symbols, max_length, SETTINGS)
    enough = max(enough, 2 * (meter.budget or 0))
    message = f"{stopped}: about {enough:,} are enough, fewer for shorter words"
    return Stopped(stopped.reason, message)


def _pacer(learner: ConditionalLearner) -> Pacer:
    job, settings = learner.job, learner.settings
    searches = job.request.counterexamples > 0
    pacer = Pacer(
        learner.meter,
        learner.sizes,
        len(job.oracle.alphabet),
        learner.word_length,
        caches=learner.oracle.caches,
        has_target=job.request.target is not None,
        share_of_limits=settings.first_share_of_limits if searches else 1.0,
        settings=settings,
    )
    if searches or job.request.n_prefixes is not None:  # contexts count, and not words alone
        return pacer
    return dataclasses.replace(
        pacer,
        max_block_share=settings.max_block_share,
        block_share_of_budget=settings.block_share_of_budget,
    )


def _data_set(job: Job, rng: np.random.Generator) -> Words | None:
    """Return the words to learn from, in random order; None: words drawn from the box."""
    assert not isinstance(job.request.basis, Basis)
    if job.request.basis is None or isinstance(job.request.basis, str):
        return None
    words = job.oracle.alphabet.words(job.request.basis)
    if not len(words):
        raise ArgumentError("basis: expected words to learn from, got none")
    words = _allowed(_readable(words, job.limit), job.oracle.guide)
    return words[rng.permutation(len(words))]


def _readable(words: Words, limit: int | None) -> Words:
    """Leave out the words that are too long for the box."""
    if limit is None or words.lengths.max() <= limit:
        return words
    readable = words[np.flatnonzero(words.lengths <= limit)]
    if not len(readable):
        raise ArgumentError(
            f"basis: every word is longer than {limit} symbols, and the box reads no longer ones: "
            "give shorter words"
        )
    logger.warning(
        "%d of %d words of the data set are left out: the box reads words of at most %d symbols",
        *(len(words) - len(readable), len(words), limit),
    )
    return readable


def _allowed(words: Words, guide: Guide | None) -> Words:
    """Leave out the words that a guide forbids."""
    if guide is None or (is_allowed := guide.allows(words)).all():
        return words
    if not is_allowed.any():
        raise ArgumentError(
            f"basis: the guide {guide} forbids every word: expected words that it allows"
        )
    logger.warning(
        "%d of %d words of the data set are left out: the guide forbids them",
        *(len(words) - is_allowed.sum(), len(words)),
    )
    return words[np.flatnonzero(is_allowed)]


def _basis(job: Job, part: LearntPart, *, is_drawn: bool) -> Basis:
    """Return the contexts and suffixes that were queried, and where they come from."""
    blocks, words = part.blocks, part.reference.words
    n_cut = int((words.lengths >= job.longest).sum()) if is_drawn else 0
    if n_cut:
        logger.warning(WORDS_CUT_WARNING, n_cut, job.longest)
    source = f"words {'drawn from the box' if is_drawn else 'of a data set'}"
    contexts = blocks.rows.words(blocks.contexts)
    wanted = job.request.n_prefixes
    if part.share == 1 and wanted is not None and len(contexts) < wanted:
        logger.warning(
            "wanted %d prefixes, got only %d (%s)",
            *(wanted, len(contexts), source),
        )
    return Basis(contexts, blocks.suffixes, f"contexts of {len(words):,} {source}", n_cut)
