"""The learner: queries a part of all words and contexts, and makes automata of the answers."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.automata.words import Symbol, Words
from seqray.blackbox.protocol import PredictingBox
from seqray.blackbox.queries.limits import Meter
from seqray.blackbox.queries.oracle import Oracle, QueryMode
from seqray.extraction.conditional.answer_count import counted_answers
from seqray.extraction.conditional.blocks import ConditionalBlocks
from seqray.extraction.conditional.comparison import compare, is_exact, nearest
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.every_symbol import Following
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.conditional.fit import RankFitter
from seqray.extraction.conditional.pacer import SAFE_SHARE_OF_BUDGET, Pacer
from seqray.extraction.conditional.parts import (
    ConditionalRound,
    Counterexamples,
    Learning,
    LearntPart,
    PartSizes,
)
from seqray.extraction.job import N_HELD_OUT, Job, compared_for, note_unused, words_that_fit
from seqray.extraction.settings import ConditionalSettings
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity
from seqray.parallel.cores import finished_jobs, n_cores
from seqray.util.errors import Stopped, StopReason
from seqray.util.memory import memory_limit

logger = logging.getLogger(__name__)

MIN_WORD_GROWTH, MAX_WORD_GROWTH = 0.05, 4
"""Where a budget allows more words, relative to those drawn before: at least, and at once."""

MIN_SHARED_PREFIXES = 50_000
"""To fewer prefixes automata are fitted one after the other: starting a process takes longer."""

COPIES_PER_FIT = 4
"""How many times the box's predictions are in memory for a fit, with what is made of them."""

FOLLOWED_SHARE_OF_BUDGET = 0.25
"""How much of the queries that are left one part may use to follow rare symbols."""


@dataclass(frozen=True, eq=False)
class ConditionalLearner:
    """Learns from parts of all queries.

    Parameters
    ----------
    job
        The extraction.
    oracle
        Answers queries about the box, and counts them.
    held_out
        What the box predicts for the words on which automata are compared.
    data_set
        The words to learn from; None: words drawn from the box.
    rng
        The random generator of words that are drawn.
    sizes
        The sizes of the whole.
    settings
        The settings of the method.
    """

    job: Job
    oracle: Oracle
    held_out: Reference
    data_set: Words | None
    rng: np.random.Generator
    sizes: PartSizes
    settings: ConditionalSettings

    @property
    def box(self) -> PredictingBox:
        """The box to query."""
        return self.oracle.predictor

    @property
    def meter(self) -> Meter:
        """What counts queries and time."""
        return self.oracle.meter

    @property
    def has_cheap_queries(self) -> bool:
        """Whether a query costs little: the box runs in this process and has states."""
        return self.job.oracle.mode in (QueryMode.AUTOMATON, QueryMode.STATES)

    @property
    def word_length(self) -> float:
        """The mean number of prefixes of a word."""
        return mean_word_length(self.held_out)

    def learn(
        self,
        share: float,
        before: LearntPart | None = None,
        counterexamples: Counterexamples | None = None,
    ) -> LearntPart:
        """Query words and their contexts, and decompose the blocks.

        Parameters
        ----------
        share
            Which share of all queries to send.
        before
            The part before: its words are words of this part too.
        counterexamples
            Those to use; by default those of the part before.
        """
        if counterexamples is None:
            counterexamples = Counterexamples() if before is None else before.counterexamples
        sizes = self.sizes.share(share, self.settings)
        with self.job.timing("fill"):
            reference = self._words(sizes.words, None if before is None else before.reference)
            n_before, total = self.meter.n_answers, sizes.contexts * sizes.columns // 2
            with counted_answers(self.job, self.meter, "following contexts", total) as count:
                blocks = fill_conditional(
                    self.oracle,
                    reference,
                    n_contexts=sizes.contexts,
                    n_columns=sizes.columns,
                    extra_words=counterexamples.to_learn,
                    extra_suffixes=counterexamples.suffixes,
                    progress=count.expect,
                    settings=self.settings,
                )
            n_queries = self.meter.n_answers - n_before
            if self.oracle.caches and before is not None:
                n_queries += before.n_block_queries
        with self.job.timing("svd"):
            svd = self._decomposed(blocks)
        fitted = None if before is None else before.fitted
        return LearntPart(share, reference, blocks, svd, n_queries, counterexamples, fitted)

    def _decomposed(self, blocks: ConditionalBlocks) -> RankedAutomata:
        """Factor blocks; query what follows rare symbols where these are frequent together."""
        n_most = self.settings.max_followed
        n_queries = int(min(n_most, FOLLOWED_SHARE_OF_BUDGET * self.meter.left))
        if blocks.rare_matter:
            self.job.begin("following rare symbols", "answers")
        following = Following(self.box, n_queries, self.job.progress)
        max_rank = self.job.request.max_rank
        return decompose_conditional(blocks, max_rank=max_rank, following=following)

    def fit_ranks(
        self, part: LearntPart, n_words: Mapping[int, int | None], *, warn: bool = True
    ) -> tuple[dict[int, WeightedAutomaton], Stopped | None]:
        """Fit a probabilistic automaton of each rank to the first words, None: to all of them.

        Return those that were fitted, by rank, and the limit that was reached, after a warning.
        """
        job, ranks = self.job, [*n_words]
        fitter = RankFitter(
            part.blocks,
            part.reference,
            part.counterexamples.to_learn,
            job.request.seed,
            self.settings,
        )
        fitted: dict[int, WeightedAutomaton] = {}
        counts = f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
        job.begin(f"fitting {counts} states", "steps")
        try:
            self.meter.check()
            with job.timing("fit"):
                results = finished_jobs(
                    fitter,
                    [*n_words.items()],
                    progress=self.step,
                    n_processes=n_fit_processes(part.reference),
                )
                for number, automaton in results:
                    fitted[ranks[number]] = automaton
        except Stopped as stopped:
            if warn:
                missing = ", ".join(f"{rank}" for rank in ranks if rank not in fitted)
                has_one = part.fitted is not None and part.fitted.n_states in ranks
                no = "no new" if has_one else "no"
                logger.warning("%s: %s automaton of %s states was fitted", stopped, no, missing)
            return fitted, stopped
        return fitted, None

    def step(self, done: int, total: int) -> None:
        """Report the steps of a fit; raise `Stopped` at a limit."""
        if self.job.progress is not None:
            self.job.progress(done, total)
        self.meter.check()

    def ranks_to_fit(self, part: LearntPart) -> list[int]:
        """Return the ranks of automata to fit: those whose fit is not too costly.

        Over thousands of symbols, where the SVD's automaton is exact, that is none.
        """
        most = self._max_fitted_rank
        if most < max(self.settings.fitted_ranks) and self._is_exact_here(part):
            return []
        return [rank for rank in self.settings.fitted_ranks if rank <= most]

    @property
    def _max_fitted_rank(self) -> int:
        """The largest rank of a fit: its matrices are read and moved in every step."""
        return max(1, math.isqrt(self.settings.max_fitted_numbers // len(self.box.alphabet)))

    def _is_exact_here(self, part: LearntPart) -> bool:
        return is_exact(compare(part.largest, self.held_out, part.counterexamples.to_validate))

    def fit_largest(
        self, part: LearntPart, stopped: Stopped | None
    ) -> tuple[LearntPart, Stopped | None]:
        """Fit an automaton of the largest rank, unless that of the SVD is exact.

        Return the part with it, or with that of the part before where a limit was reached; and
        which limit was reached.
        """
        if self._is_exact_here(part):
            return replace(part, fitted=None), stopped
        rank = min(part.svd.max_rank, self._max_fitted_rank)
        fitted, limit = self.fit_ranks(part, {rank: None}, warn=stopped is None)
        if limit is not None:
            return part, limit
        return replace(part, fitted=fitted[rank]), stopped

    @property
    def may_end_early(self) -> bool:
        """Whether learning ends where a part is exact: nobody said how much to query."""
        return self.meter.budget is None and self.job.request.target is None

    def is_exact(self, part: LearntPart) -> bool:
        """Whether the SVD's automaton is exact: on held-out words, and on as many new ones."""
        extra = part.counterexamples.to_validate
        if not is_exact(compare(part.largest, self.held_out, extra)):
            return False
        if self.data_set is not None:
            return False
        rng, max_length = self.rng.spawn(1)[0], self.job.longest  # so that no other word changes
        with self.meter.validating():
            n_words = min(N_HELD_OUT, len(self.held_out.weights))
            words = Reference.draw(self.box, n_words, seed=rng, max_length=max_length)
        return is_exact(compare(part.largest, compared_for(self.job, words), None))

    def nearest(
        self, part: LearntPart, counterexamples: Reference | None
    ) -> tuple[WeightedAutomaton, Fidelity]:
        """Return the nearer of a part's two automata of the largest rank, and its fidelity."""
        return nearest(part, self.held_out, counterexamples)

    def needs_blocks(self, part: LearntPart) -> bool:
        """Whether the automaton of the SVD is nearer to the box than the fitted one."""
        automaton, _ = self.nearest(part, part.counterexamples.to_validate)
        return automaton is not part.fitted

    def learn_words(self, part: LearntPart, n_words: int) -> LearntPart:
        """Return a part with more words and the same blocks; raise `Stopped` if there are none."""
        reference, n_before = part.reference, len(part.reference.weights)
        total = int((n_words - n_before) * self.word_length)
        with self.job.timing("fill"), counted_answers(self.job, self.meter, "drawing words", total):
            while (n_known := len(reference.weights)) < n_words:
                n_more = min(self._portion(n_known, n_words), self._affordable(reference))
                if n_more < MIN_WORD_GROWTH * n_known:
                    break
                try:
                    reference = joined(reference, self._new_words(n_known, n_known + n_more))
                except Stopped as stopped:  # these words were longer than those before
                    if stopped.reason is not StopReason.BUDGET:
                        raise
                    break
        if reference is part.reference:
            raise self.meter.no_more()
        return replace(part, reference=reference)

    def _affordable(self, reference: Reference) -> int:
        """Return how many more words the budget allows.

        As many words as were drawn before have as many distinct prefixes. Fewer share less of them,
        and of many more it is not known. The fewer were drawn, the less is known of their lengths.
        """
        if self.meter.budget is None:
            return self.sizes.words
        drawn = max(reference, self.held_out, key=lambda each: len(each.weights))
        n_drawn = len(drawn.weights)
        left = min(SAFE_SHARE_OF_BUDGET, 1 - 2 / math.sqrt(n_drawn)) * self.meter.left
        n_alike = left * n_drawn / len(drawn.tree)
        n_more = n_alike if n_alike >= n_drawn else left / self.word_length
        return int(min(n_more, MAX_WORD_GROWTH * n_drawn))

    @property
    def words_that_fit(self) -> int:
        """How many words the box's predictions fit into memory for."""
        return words_that_fit(len(self.box.alphabet), self.word_length)

    def more_words(self, reference: Reference, n_words: int) -> Reference:
        """Draw more words from the box, and return them with those there are."""
        n_known, total = len(reference.weights), int(n_words * self.word_length)
        with counted_answers(self.job, self.meter, "drawing more words", total):
            return joined(reference, self._new_words(n_known, n_known + n_words))

    def query(self, words: list[tuple[Symbol, ...]], before: Reference | None) -> Reference:
        """Query some more words."""
        with self.job.timing("fill"):
            return joined(before, Reference.query(self.box, words))

    def _words(self, n_words: int, reference: Reference | None) -> Reference:
        """Return what the box predicts for so many words: those from before, and new ones.

        They are drawn in the same portions at any pace, so that they are always the same words.
        """
        n_words = min(n_words, self.sizes.words)
        n_known = 0 if reference is None else len(reference.weights)
        total = int((n_words - n_known) * self.word_length)
        with counted_answers(self.job, self.meter, "drawing words", total):
            while n_known < n_words:
                end = n_known + self._portion(n_known, n_words)
                reference = joined(reference, self._new_words(n_known, end))
                n_known = end
        assert reference is not None
        return reference

    def _portion(self, n_known: int, n_words: int) -> int:
        """Return how many words to draw next, where ``n_words`` are wanted in all."""
        shares = self.settings.part_shares
        bounds = [self.sizes.share(each, self.settings).words for each in shares]
        return min(n_words, *(bound for bound in bounds if bound > n_known)) - n_known

    def _new_words(self, begin: int, end: int) -> Reference:
        if self.data_set is not None:
            return Reference.query(self.box, self.data_set[begin:end])
        max_length = self.job.longest
        return Reference.draw(self.box, end - begin, seed=self.rng, max_length=max_length)


def learn_in_parts(learner: ConditionalLearner, pacer: Pacer) -> Learning:
    """Learn from ever larger parts, until the target or a limit is reached or all is learnt."""
    meter, target = learner.meter, learner.job.request.target or math.inf
    began = meter.elapsed
    learning = Learning(learner.learn(pacer.first_share))
    while True:
        if pacer.scores_each_part or learning.part.share >= pacer.max_block_share:
            learning = _scored(learner, learning)
        reached = bool(learning.rounds) and learning.rounds[-1].score >= target
        if reached or learning.stopped or _is_complete(learner, pacer, learning.part):
            break
        try:
            if learner.may_end_early and learner.is_exact(learning.part):
                break
            seconds, began = meter.elapsed - began, meter.elapsed
            learning = replace(learning, part=_larger(learner, pacer, learning.part, seconds))
        except Stopped as stopped:
            n_contexts = len(learning.part.blocks.contexts), learner.sizes.contexts
            logger.warning("%s: %d contexts of %d were queried", stopped, *n_contexts)
            learning = replace(learning, stopped=stopped)
            break
    part = learning.part
    if not (reached or learning.stopped) and _is_complete(learner, pacer, part):
        note_unused(meter, f"{len(part.blocks.contexts):,} contexts")
    return learning if learning.rounds else _scored(learner, learning)


def _is_complete(learner: ConditionalLearner, pacer: Pacer, part: LearntPart) -> bool:
    """Whether a larger part would teach nothing more: larger blocks are for the SVD alone."""
    if part.share == 1:
        return True
    n_words = len(part.reference.weights)
    is_limited = part.share >= pacer.max_block_share and n_words >= learner.sizes.words
    return is_limited and not learner.needs_blocks(part)


def _larger(
    learner: ConditionalLearner, pacer: Pacer, part: LearntPart, seconds: float
) -> LearntPart:
    """Learn from a larger part, or from more words alone; raise `Stopped` at a limit.

    Blocks grow up to the limits that they have. They grow further where the automaton of the SVD is
    the nearest one. Elsewhere the fitted one is, and fits learn from words.
    """
    if part.share < pacer.max_block_share and pacer.allows_blocks(part, seconds):
        return learner.learn(pacer.next_share(part, seconds), part)
    if not pacer.limits_blocks or learner.needs_blocks(part):
        return learner.learn(pacer.without_block_limits.next_share(part, seconds), part)
    return learner.learn_words(part, pacer.next_words(part, seconds))


def _scored(learner: ConditionalLearner, learning: Learning) -> Learning:
    """Fit an automaton of the largest rank, and add a round with its fidelity score."""
    part, stopped = learner.fit_largest(learning.part, learning.stopped)
    _, fidelity = learner.nearest(part, part.counterexamples.to_validate)
    sizes = len(part.reference.weights), len(part.blocks.contexts)
    score = fidelity.score, fidelity["ndcg5"]
    a_round = ConditionalRound(learner.meter.n_queries, *sizes, *score)
    return replace(learning, part=part, rounds=(*learning.rounds, a_round), stopped=stopped)


def n_fit_processes(reference: Reference) -> int:
    """Return how many processes fit to words at a time; each of them has a copy of the words."""
    if reference.n_prefixes < MIN_SHARED_PREFIXES:
        return 1
    assert reference.next_symbol is not None
    n_copies = memory_limit() // (COPIES_PER_FIT * reference.next_symbol.nbytes)
    return max(1, min(n_cores(), n_copies))


def mean_word_length(reference: Reference) -> float:
    """Return the mean number of prefixes of a word, itself included."""
    return reference.n_prefixes / len(reference.weights)


def joined(before: Reference | None, new: Reference) -> Reference:
    """Return what was known before and what is new as one reference."""
    return new if before is None else Reference.joined([before, new])
