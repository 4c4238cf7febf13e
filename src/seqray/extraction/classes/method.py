"""Extraction from a classifier: rounds of vector-valued Hankel blocks, until decisions agree.

Each round fills blocks over a larger basis. Their cells hold the answers for all classes, so that
one automaton with several outputs comes of one SVD. It is compared with the box on validation
words, for each question: decisions, probabilities and logits are three readings of the same
answers, and cost no further query. Parts of words that it decides wrongly enlarge the basis.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.protocol import allowed_length
from seqray.blackbox.queries.steppers import CountedClassifier
from seqray.extraction.basis import Basis
from seqray.extraction.classes.blocks import ClassBlocks, class_words, fill_class_blocks
from seqray.extraction.classes.candidates import (
    ClassCandidate,
    class_candidates,
    nearest_question,
    tolerance,
)
from seqray.extraction.classes.drawn_words import balanced_words
from seqray.extraction.classes.growth import (
    MIN_PIECES,
    block_words,
    grown_class_basis,
    longest_piece,
    round_sizes,
)
from seqray.extraction.estimate import log_estimate
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.hankel.sizes import Size
from seqray.extraction.job import N_HELD_OUT, Job
from seqray.extraction.result import Extraction, ExtractionSettings
from seqray.fidelity.decisions import DecisionReference
from seqray.fidelity.table import FidelityTable
from seqray.util.arrays import BoolArray, FloatArray
from seqray.util.errors import ArgumentError, Stopped
from seqray.util.parameter_names import parameters

logger = logging.getLogger(__name__)

DEFAULT_LENGTH = 30
"""The longest word that is drawn, unless the caller says otherwise."""

WORDS_PER_REPORT = 4096
"""Words that are queried between two reports of progress."""

MIN_GIVEN_WORDS = 2
"""The fewest words to draw from: half of them are for validation."""

VALIDATION_SHARE = 8
"""One word in so many of a budget is for validation, and as many for the pool."""

MIN_NEW_WORDS = 100
"""With fewer words that are in no block, those of blocks count for validation, too."""

MAX_IDLE_ROUNDS = 2
"""After so many rounds in a row without a better automaton there is no other."""

MAX_RANK_FACTOR = 1.5
"""Automata are made up to this many times the states of the best."""


@dataclass(frozen=True, eq=False)
class _Progress:
    """The best automata so far, and how they were found."""

    blocks: ClassBlocks
    candidates: tuple[ClassCandidate, ...]
    best: ClassCandidate
    rounds: tuple[HankelRound, ...]
    n_idle: int = 0


def class_method(job: Job) -> Extraction:
    """Extract automata with one output per class."""
    box = _classifier(job)
    rng, held_out_rng = job.rngs()
    longest = allowed_length(job.oracle, job.request.max_length, DEFAULT_LENGTH)
    sizes = _sizes(job)
    data = _data(job)
    n_each = N_HELD_OUT
    if job.meter.allowance is not None:
        n_each = max(20, min(n_each, job.meter.allowance // VALIDATION_SHARE))
    n_enough = 2 * n_each + block_words(sizes[0], len(job.oracle.alphabet))
    job.begin("querying the box", "answers")
    with _saying_what_is_enough(job, n_enough), job.timing("choose"), job.meter.validating():
        held_out = None if data is None else data[::2]
        drawn = balanced_words(box, n_each, held_out_rng, max_length=longest, data=held_out)
    reference = DecisionReference(drawn[0], box.classes, box.threshold, drawn[1])
    _estimate(job, sizes)
    _warn_of_missing_classes(reference)
    learnt, stopped = None, None
    pool = drawn[0][:0], drawn[1][:0]
    own = None if data is None else data[1::2]
    for size in sizes:
        try:
            with job.timing("basis"):
                more = balanced_words(box, n_each, rng, max_length=longest, data=own)
                pool = Words.concatenate([pool[0], more[0]]), np.concatenate([pool[1], more[1]])
                basis = _basis(job, size, learnt, pool)
            with job.timing("fill"):
                blocks = _filled(job, basis, box)
        except Stopped as reason:
            if learnt is None:
                raise _with_advice(reason, job, n_enough) from None
            stopped = reason
            break
        with job.timing("choose"):
            learnt = _compared(job, blocks, (reference, reference.joined(*pool)), learnt)
        if _is_enough(job, learnt, pool):
            break
    assert learnt is not None
    return _extraction(job, learnt, reference, stopped)


@contextmanager
def _saying_what_is_enough(job: Job, n_words: int) -> Iterator[None]:
    """Say how many words are enough, where there were fewer."""
    try:
        yield
    except Stopped as stopped:
        raise _with_advice(stopped, job, n_words) from None


def _with_advice(stopped: Stopped, job: Job, n_words: int) -> Stopped:
    """Return why there is no automaton, with the number of words that are enough for one."""
    n_queries = job.meter.n_queries
    message = f"{stopped} after {n_queries:,} queries, about {job.repeat * n_words:,} are enough"
    return Stopped(stopped.reason, message)


def _estimate(job: Job, sizes: list[Size]) -> None:
    """Log how many words there are in the first round and at most, at the speed of those so far."""
    n_round = [N_HELD_OUT + block_words(size, len(job.oracle.alphabet)) for size in sizes]
    speed = job.meter.seconds_per_query
    log_estimate(job, N_HELD_OUT + sum(n_round), "words", speed, n_first=n_round[0])


def _warn_of_missing_classes(reference: DecisionReference) -> None:
    """Warn of classes that no drawn word got: an automaton cannot learn them."""
    seen = set(reference.decisions.tolist())
    missing = [name for number, name in enumerate(reference.classes) if number not in seen]
    if missing:
        logger.warning(
            "none of %s words got the class %s: an automaton learns nothing of it. Give words, "
            "some of them of that class, as the basis (%s)",
            *(f"{len(reference.words):,}", " or ".join(missing), parameters("basis")),
        )


def _classifier(job: Job) -> CountedClassifier:
    classifier = job.oracle.classifier
    assert classifier is not None  # `Request.for_box` saw to it
    return classifier


def _data(job: Job) -> Words | None:
    """Return the words to draw from, if the caller gave some."""
    basis = job.request.basis
    if basis is None or isinstance(basis, str | Basis):
        return None
    words = job.oracle.alphabet.words(basis)
    if job.limit is not None:
        words = words[np.flatnonzero(words.lengths <= job.limit)]
    if len(words) < MIN_GIVEN_WORDS:
        raise ArgumentError(
            f"basis: expected at least {MIN_GIVEN_WORDS} words to draw from that the box can "
            f"read, got {len(words) or 'none'}: leave it out, and words are random"
        )
    return words


def _sizes(job: Job) -> list[Size]:
    """Return the sizes of the rounds; those that a budget does not allow are smaller."""
    n_symbols, request = len(job.oracle.alphabet), job.request
    sizes = round_sizes(n_symbols, request.n_prefixes, request.n_suffixes)
    allowed = job.meter.allowance
    if allowed is None or job.oracle.is_free:
        return sizes
    within: list[Size] = []
    left = allowed - 2 * (allowed // VALIDATION_SHARE)
    for size in sizes:
        share = min(1.0, (max(0, left) / 2 / block_words(size, n_symbols)) ** 0.5)
        smaller = max(MIN_PIECES, int(share * size[0])), max(MIN_PIECES, int(share * size[1]))
        if within and block_words(smaller, n_symbols) <= block_words(within[-1], n_symbols):
            break
        within.append(smaller)
        left -= block_words(smaller, n_symbols)
    return within


def _basis(job: Job, size: Size, learnt: _Progress | None, pool: tuple[Words, FloatArray]) -> Basis:
    """Return the basis of the next round: parts of words that are decided wrongly come first."""
    words, scores = pool
    order = np.arange(len(words))
    if learnt is not None:
        guess = learnt.best.chosen.scores(words)
        distance = np.abs(guess - scores).sum(axis=1)
        wrong = _wrong(learnt, pool)
        # wrong decisions first, short words before long ones; then what differs most
        order = np.lexsort((np.where(wrong, words.lengths, -distance), ~wrong))
    sources = (words[int(at)] for at in order)
    before = None if learnt is None else learnt.blocks.basis
    piece = longest_piece(job.limit)
    return grown_class_basis(job.oracle.alphabet, size, before, sources, piece)


def _wrong(learnt: _Progress, pool: tuple[Words, FloatArray]) -> BoolArray:
    """Return on which words of a pool the automaton decides otherwise than the box."""
    words, scores = pool
    best, threshold = learnt.best.chosen, learnt.blocks.threshold
    known = DecisionReference(words, learnt.blocks.classes, threshold, scores)
    return np.asarray(known.decisions != best.decisions(words))


def _filled(job: Job, basis: Basis, box: CountedClassifier) -> ClassBlocks:
    """Query the blocks of a basis, and report progress."""

    def scores_of(words: Words) -> FloatArray:
        parts = []
        for begin in range(0, len(words), WORDS_PER_REPORT):
            parts.append(box.scores(words[begin : begin + WORDS_PER_REPORT]))
            if job.progress is not None:
                job.progress(min(len(words), begin + WORDS_PER_REPORT), len(words))
            job.meter.check()
        return np.concatenate(parts)

    return fill_class_blocks(basis, scores_of, box.classes, box.threshold)


def _compared(
    job: Job,
    blocks: ClassBlocks,
    references: tuple[DecisionReference, DecisionReference],
    learnt: _Progress | None,
) -> _Progress:
    """Compare the automata of a round with the box, and with those of the rounds before.

    ``references`` are its answers to validation words, and to all drawn words.
    """
    reference, drawn = references
    candidates = tuple(class_candidates(blocks, reference, drawn, job.request.max_rank))
    best = nearest_question(candidates, drawn)
    n_prefixes, n_suffixes = len(blocks.basis.prefixes), len(blocks.basis.suffixes)
    n_queries = job.meter.n_queries
    this = HankelRound(n_queries, n_prefixes, n_suffixes, best.agreement)
    if learnt is None:
        return _Progress(blocks, candidates, best, (this,))
    rounds = (*learnt.rounds, this)
    is_better = best.agreement > learnt.best.agreement + tolerance(reference)
    n_idle = 0 if is_better else learnt.n_idle + 1
    if best.agreement < learnt.best.agreement:
        # The larger basis goes on; the better automata of the smaller one are kept.
        return _Progress(blocks, learnt.candidates, learnt.best, rounds, n_idle)
    return _Progress(blocks, candidates, best, rounds, n_idle)


def _is_enough(job: Job, learnt: _Progress, pool: tuple[Words, FloatArray]) -> bool:
    """Whether decisions agree on all words, or on enough of them, or agree no better than before.

    Where they agree on all, the blocks must have room for more states.
    """
    target = job.request.target
    if target is not None and learnt.best.agreement >= target:
        return True
    has_room = 2 * learnt.best.rank <= len(learnt.blocks.basis.prefixes)
    if has_room and learnt.best.agreement == 1.0 and not _wrong(learnt, pool).any():
        return True
    return target is None and learnt.n_idle >= MAX_IDLE_ROUNDS


def _extraction(
    job: Job, learnt: _Progress, reference: DecisionReference, stopped: Stopped | None
) -> Extraction:
    """Return the automata of every rank for the best question, with their fidelity."""
    best = learnt.best
    n_ranks = min(best.automata.max_rank, max(best.rank + 5, int(MAX_RANK_FACTOR * best.rank)))
    automata = replace(
        best.automata,
        largest=best.automata.largest.truncate(n_ranks),
        singular_values=best.automata.singular_values[:n_ranks],
    )
    new = _outside(reference, learnt.blocks.basis)
    with job.timing("choose"):
        ranks = tuple(range(1, n_ranks + 1))
        fidelities = [new.compare(best.at(rank)) for rank in ranks]
    table = FidelityTable(ranks, tuple(fidelities))
    scores = [
        replace(each.score, states=table.best_rank()) if each is best else each.score
        for each in learnt.candidates
    ]
    if stopped is not None:
        logger.warning("%s: the automaton is that of the rounds before", stopped)
    settings = ExtractionSettings(
        **job.meter.counts(),
        steps=0,
        rounds=learnt.rounds,
        stopped=str(stopped or ""),
        stop_reason=None if stopped is None else stopped.reason,
        classes=list(reference.classes),
        threshold=reference.threshold,
        question=best.question,
        question_scores=tuple(scores),
        held_out_length=int(new.words.lengths.max()),
    )
    return Extraction(automata, learnt.blocks.basis, table, settings)


def _outside(reference: DecisionReference, basis: Basis) -> DecisionReference:
    """Leave out validation words that blocks hold, unless there are hardly any others."""
    known = set(class_words(basis).unique()[0])
    new = np.array([i for i, word in enumerate(reference.words) if word not in known], np.int64)
    if len(new) < MIN_NEW_WORDS:
        return reference
    return replace(reference, words=reference.words[new], scores=reference.scores[new])
