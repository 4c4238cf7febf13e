"""Copies of a box that predicts: structured automata, as large as the box needs them to be."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from seqray.extraction.conditional.learner import ConditionalLearner, n_fit_processes
from seqray.extraction.conditional.parts import ConditionalRound, Learning, LearntPart
from seqray.extraction.conditional.spectral_copy import compared_copy, learn_spectral_copy
from seqray.extraction.settings import STRUCTURED, StructuredSettings
from seqray.extraction.structured.build import to_automaton
from seqray.extraction.structured.copies import Copy
from seqray.extraction.structured.family import (
    Candidate,
    Structure,
    candidates,
    layout_for,
    nearest_first,
    promising_structures,
)
from seqray.extraction.structured.fit import FitWords, StructuredFit, StructuredFitter
from seqray.extraction.structured.layout import FitLayout
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity
from seqray.parallel.cores import finished_jobs
from seqray.util.errors import Stopped
from seqray.util.parameter_names import parameters

logger = logging.getLogger(__name__)

SAFE_SHARE_OF_BUDGET = 0.9
"""How much of the queries that are left more words may be expected to take."""


def learn_copies(
    learner: ConditionalLearner,
    learning: Learning,
    best: Fidelity,
    settings: StructuredSettings = STRUCTURED,
) -> tuple[tuple[Copy, ...], Learning]:
    """Return structured automata of growing size that are nearer to the box than the best rank.

    Parameters
    ----------
    learner
        Queries the box.
    learning
        What was learnt so far.
    best
        The fidelity of the best of the automata of every rank.
    settings
        How large copies are, and when they stop growing.

    Returns
    -------
    copies, learning
        The copies, smaller ones first, and the learning with the limit that was met, if any.
    """
    copies: list[Copy] = []
    try:
        spectral, part = learn_spectral_copy(learner, learning.part, best, settings)
        if spectral is not None and _is_allowed(learner, spectral):
            return (spectral,), learning
        for fitted in _fits(learner, part, settings):
            copy = _copy(learner, learning, fitted)
            learning = replace(learning, rounds=(*learning.rounds, _round(learner, fitted, copy)))
            if not _is_allowed(learner, copy):
                break
            if copy.fidelity.is_nearer_than(copies[-1].fidelity if copies else best):
                copies.append(copy)
    except Stopped as stopped:
        if learning.stopped is None:
            logger.warning("%s: no larger copy was fitted", stopped)
            learning = replace(learning, stopped=stopped)
    return tuple(copies), learning


def _is_allowed(learner: ConditionalLearner, copy: Copy) -> bool:
    """Whether a copy is no larger than the request allows; log it where not."""
    request = learner.job.request
    is_within = copy.is_within(request.max_cost, request.max_states)
    if not is_within:
        logger.warning(
            "a copy of %s states and %s multiplications per symbol is left out: allow more of "
            "them (%s) to have it",
            *(f"{copy.n_states:,}", f"{copy.cost:,}", parameters("max_states", "max_cost")),
        )
    return is_within


def _fits(
    learner: ConditionalLearner, part: LearntPart, settings: StructuredSettings
) -> Iterator[StructuredFit]:
    """Yield fits of growing size, on growing numbers of words."""
    reference = part.reference
    leaks = reference.leaks
    validation = FitWords(learner.held_out, leaks)

    def fit(size: int, structures: Sequence[Structure]) -> list[Candidate]:
        layouts = [layout_for(each, words, size, settings) for each in structures]
        fits = _fit(learner, words, validation, layouts, settings)
        return [*map(Candidate, structures, fits)]

    words = FitWords(_with_counterexamples(learner, part, reference), leaks)
    size = settings.max_states[0]
    ranked = candidates(words, partial(fit, size), settings)
    yield ranked[0].fitted
    steps = list(zip(settings.max_states, settings.word_factors, strict=True))[1:]
    for size, factor in steps:
        before = ranked[0].fitted.divergence
        if before < settings.small_share * validation.entropy:
            return
        reference = _more_words(learner, reference, factor, settings)
        words = FitWords(_with_counterexamples(learner, part, reference), leaks)
        ranked = nearest_first(fit(size, promising_structures(ranked, settings)))
        yield ranked[0].fitted
        if ranked[0].fitted.divergence > (1 - settings.min_gain) * before:
            return


def _with_counterexamples(
    learner: ConditionalLearner, part: LearntPart, reference: Reference
) -> Reference:
    """Return words to learn from, and counterexamples, which count a share of all."""
    extra = part.counterexamples.to_learn
    if extra is None:
        return reference
    share = learner.settings.counterexample_share
    n_times = round(share * len(reference.weights) / len(extra.weights))
    return Reference.joined([reference, *[extra] * max(1, n_times)])


def _more_words(
    learner: ConditionalLearner,
    reference: Reference,
    factor: float,
    settings: StructuredSettings,
) -> Reference:
    """Return words to learn from, up to a factor times as many as the ranks may learn from.

    A data set that was given has no more words. A budget may not allow as many. Of a box whose
    queries are costly, more are drawn only within a budget.
    """
    n_known, length = len(reference.weights), learner.word_length
    wanted = min(factor * learner.sizes.words, settings.max_prefixes / length)
    wanted = min(wanted, learner.words_that_fit)
    n_more = int(min(wanted - n_known, SAFE_SHARE_OF_BUDGET * learner.meter.left / length))
    is_allowed = learner.meter.budget is not None or learner.has_cheap_queries
    if n_more < 1 or learner.data_set is not None or not is_allowed:
        return reference
    with learner.job.timing("fill"):
        return learner.more_words(reference, n_more)


def _fit(
    learner: ConditionalLearner,
    words: FitWords,
    validation: FitWords,
    layouts: Sequence[FitLayout],
    settings: StructuredSettings,
) -> list[StructuredFit]:
    """Fit structured automata, several at a time; raise `Stopped` at a limit."""
    if not layouts:
        return []
    job = learner.job
    n_processes = n_fit_processes(words.reference)
    n_at_once = min(n_processes, len(layouts))
    n_each = n_processes // n_at_once
    fitter = StructuredFitter(words, validation, job.request.seed, n_each, settings)
    sizes = " and ".join(f"{layout.offsets[-1]:,}" for layout in layouts)
    several = "a copy" if len(layouts) == 1 else "copies"
    job.begin(f"fitting {several} of {sizes} states", "steps")
    learner.meter.check()
    largest_first = sorted(range(len(layouts)), key=lambda at: -layouts[at].n_moves)
    jobs = [layouts[at] for at in largest_first]
    with job.timing("fit"):
        results = finished_jobs(fitter, jobs, progress=learner.step, n_processes=n_at_once)
        fits = {largest_first[number]: fitted for number, fitted in results}
    return [fits[at] for at in range(len(layouts))]


def _round(learner: ConditionalLearner, fitted: StructuredFit, copy: Copy) -> ConditionalRound:
    """Return a record of a copy."""
    sizes = fitted.n_words, len(fitted.layout.contexts)
    score = copy.fidelity.score, copy.fidelity["ndcg5"]
    return ConditionalRound(learner.meter.n_queries, *sizes, *score)


def _copy(learner: ConditionalLearner, learning: Learning, fitted: StructuredFit) -> Copy:
    """Return the automaton of a fit, and its fidelity."""
    automaton = to_automaton(learner.box.alphabet, fitted.layout, fitted.logarithms)
    with learner.job.timing("choose"):
        return compared_copy(learner, learning.part, automaton)
