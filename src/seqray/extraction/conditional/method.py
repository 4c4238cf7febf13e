"""Extraction by contexts: from a box that predicts, by how the prefixes of its words go on.

Words are drawn from the box, and how their contexts go on is compared. Two kinds of automata come
of that, and of each rank the one that is nearer to the box on held-out words is kept: that of the
SVD of the conditional blocks, of every rank, and at some ranks one whose weights are probabilities,
fitted along whole words.

Where questions or time may run out, or enough be reached, a small part is asked first, and then
ever larger ones.

What hardly ever comes up is not in words that are drawn. If that matters, words are searched for on
which box and automaton disagree; half of them are learnt from, and the others count too where
automata are compared, so that one which has learnt nothing of them is not taken.
"""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.automata.words import Symbol, Words
from seqray.blackbox.queried import QueriedModel
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.oracle import MeteredModel
from seqray.extraction.basis import WORDS_CUT_WARNING, Basis
from seqray.extraction.conditional.blocks import (
    N_COLUMNS,
    N_CONTEXTS,
    ConditionalBlocks,
    decompose_conditional,
    fill_conditional,
    frequent_endings,
)
from seqray.extraction.conditional.fit import fit, reachable
from seqray.extraction.request import (
    FEWEST,
    N_HELD_OUT,
    Job,
    draw_within,
    note_unused,
    probe_noise,
    words_that_fit,
)
from seqray.extraction.result import Extraction, ExtractionSettings
from seqray.fidelity.compare import Fidelity, FidelityTable, Reference
from seqray.fidelity.disagreements import (
    beginnings,
    disagreements,
    mean_total_variation,
    total_variation,
)
from seqray.util.errors import ArgumentError, Stopped
from seqray.util.progress import Progress

logger = logging.getLogger(__name__)

WORDS_A_CONTEXT = 40 / 3
"""How many words to learn from: 20,000 for as many contexts as there are by default."""

FEWEST_WORDS = 20
"""How many words to learn from, however little may be asked."""

FITTED = (2, 3, 5, 10, 20, 30, 50, 100)
"""The ranks at which an automaton is fitted too, and the largest that is asked for."""

WORDS_A_STATE = 200
"""How many words an automaton is fitted to, at least 1,000 and at most all."""

PARTS = (1 / 64, 1 / 16, 1 / 4, 1.0)
"""Where one may have to stop: how large a part is asked first, and next, and last."""

SMALLEST = 1e-6
"""The smallest part: a few words and one context."""

WORTHWHILE = 1.5
"""A part that is not so many times as large as the one before is not asked any more."""

N_WORST, LONGEST, SMALL = 20, 30, 0.01
"""Words on which box and automaton disagree: how many of each way to find them, how long they are
at most, and how much of the probability both have to see differently."""

CONTEXTS_A_WORD = 10
"""One of them is learnt from for so many contexts, and at least eight."""

N_ENDINGS = 12
"""Of what most of them have in common before they first disagree, so many endings are futures."""

LOSS = 1e-3
"""What is learnt from them may not cost more of NDCG₅ on held-out words."""

KNOWN = 0.1
"""What is further apart than this after words on which a smaller automaton fails was not learnt."""

EXACT = 1e-6
"""Where score is as near to 1, nothing is left to fit."""


class Round(NamedTuple):
    """One part: what was asked until then, and how near the automaton of largest rank came."""

    questions: int
    words: int
    contexts: int
    ndcg5: float


class Search(NamedTuple):
    """A search for words on which the box and an automaton of so many states disagree.

    Until then ``questions`` were asked; ``apart`` is how far apart they are at most, and ``after``
    which word; on ``words`` of those found they are at least half as far. ``then`` says what came
    of it. ``nothing to learn``: there are none. ``learnt``: from half of them. ``no nearer``: that
    brought no automaton nearer to the box. ``stopped``: asking had to end. ``counts``: they count
    where the rank is chosen. ``stays``: none of that.
    """

    questions: int
    states: int
    apart: float
    after: str
    words: int
    then: str


class Sizes(NamedTuple):
    """How much is asked: words, contexts of theirs, and columns of their blocks."""

    words: int
    contexts: int
    columns: int

    def share(self, share: float) -> Sizes:
        """Return the sizes of a part that costs such a share of the questions.

        A smaller part looks less far ahead, and so keeps more of the contexts.
        """
        return Sizes(
            max(FEWEST_WORDS, math.ceil(share * self.words)),
            math.ceil(share**0.75 * self.contexts),
            math.ceil(share**0.25 * self.columns),
        )


class _Part(NamedTuple):
    """What is known after a part of all was asked."""

    share: float
    known: Reference
    blocks: ConditionalBlocks
    svd: RankedAutomata


def by_contexts(job: Job) -> Extraction:
    """Extract automata of every rank from what a box says comes next."""
    box, meter = _counted(job)
    rng, held_out_rng = job.rngs()
    words = _data_set(job, rng)
    longest = job.longest
    try:
        said = _reported(job, meter, "drawing words to compare on", N_HELD_OUT)
        with job.timing("choose"), said, meter.validating():
            held_out = draw_within(box, N_HELD_OUT, longest, held_out_rng, meter)
            longest = min(longest, 2 * held_out.n_prefixes // len(held_out.weights))
            noise = probe_noise(job, held_out)
        search = _Search(job, box, meter, held_out, words, rng)
        part = search.ask()
        part = search.go_on(part)
    except Stopped as stopped:
        if meter.left > 0:
            raise
        least = max(_least(len(box.alphabet), longest), 2 * (meter.budget or 0))
        raise Stopped(f"{stopped}: about {least:,} are enough, fewer for shorter words") from None
    fitted, table = search.compare(part)
    if job.counterexamples:
        search.warn(table.best_rank())
    counts = meter.counts()
    settings = ExtractionSettings(
        columns=part.blocks.features.shape[1],
        fitted_ranks=search.fitted_ranks,
        questions=counts["questions"],
        validation_questions=counts["validation_questions"],
        queries_sent=counts["queries_sent"],
        steps=meter.n_questions,
        rounds=[each._asdict() for each in search.rounds],
        counterexamples=[each._asdict() for each in search.searches],
        stopped=search.stopped,
        noise=noise,
    )
    automata = dataclasses.replace(part.svd, fitted=fitted)
    return Extraction(automata, _basis(job, part, words), table, settings)


def _counted(job: Job) -> tuple[QueriedModel | MeteredModel, Meter]:
    """Return the box to ask, and what counts its questions; an automaton is free."""
    if isinstance(job.asked, QueriedModel | MeteredModel):
        return job.asked, job.meter
    meter = dataclasses.replace(job.meter, budget=None)
    return MeteredModel(job.asked, meter), meter


def _data_set(job: Job, rng: np.random.Generator) -> Words | None:
    """Return the words to learn from, in any order; None: words of the box's own."""
    assert not isinstance(job.basis, Basis)
    if job.basis is None or isinstance(job.basis, str):
        return None
    words = job.asked.alphabet.words(job.basis)
    if not len(words):
        raise ArgumentError("basis: expected words to learn from, got none")
    words = _readable(words, job.limit)
    return words[rng.permutation(len(words))]


def _readable(words: Words, limit: int | None) -> Words:
    """Leave out the words that are too long for the box."""
    if limit is None or words.lengths.max() <= limit:
        return words
    kept = words[np.flatnonzero(words.lengths <= limit)]
    if not len(kept):
        raise ArgumentError(
            f"basis: every word is longer than {limit} symbols, and the box reads no longer ones: "
            "give shorter words"
        )
    logger.warning(
        "%d of %d words of the data set are left out: the box reads words of at most %d symbols",
        *(len(words) - len(kept), len(words), limit),
    )
    return kept


def _basis(job: Job, part: _Part, words: Words | None) -> Basis:
    """Return the contexts and futures that were asked about, and say where they come from."""
    blocks, learnt = part.blocks, part.known.words
    n_cut = int((learnt.lengths >= job.longest).sum()) if words is None else 0
    if n_cut:
        logger.warning(WORDS_CUT_WARNING, n_cut, job.longest)
    source = f"words {'drawn from the box' if words is None else 'of a data set'}"
    contexts = blocks.rows.words(blocks.contexts)
    if part.share == 1 and job.n_prefixes is not None and len(contexts) < job.n_prefixes:
        found = (job.n_prefixes, len(contexts), source)
        logger.warning("asked for %d prefixes, found only %d (%s)", *found)
    return Basis(contexts, blocks.futures, f"contexts of {len(learnt):,} {source}", n_cut)


def _most_steps(n_symbols: int, sizes: Sizes) -> int:
    """Return how many steps blocks can take, if nothing is rare: mostly there are far fewer."""
    n_rows = sizes.contexts * (1 + n_symbols)
    return n_rows * (1 + n_symbols + max(1, sizes.columns // (1 + n_symbols)))


def _least(n_symbols: int, longest: int) -> int:
    """Return a budget that is enough for the smallest part."""
    n_words = FEWEST + FEWEST_WORDS
    smallest = Sizes(1, 1, N_COLUMNS).share(SMALLEST)
    return n_words * (1 + longest) + _most_steps(n_symbols, smallest)


class _Count:
    """Counts answers, and tells how many came of how many."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.done, self.total = progress, 0, total

    def __call__(self, n: int) -> None:
        self.done += n
        self.total = max(self.total, self.done)
        if self.progress is not None:
            self.progress(self.done, self.total)

    def expect(self, n_filled: int, n_rows: int) -> None:
        """Expect as many answers for the rows to come as there were for those before."""
        self.total = self.done * n_rows // n_filled


@contextmanager
def _reported(job: Job, meter: Meter, name: str, total: int) -> Iterator[_Count]:
    """Tell what is done in a block, and how many answers came."""
    job.begin(name, "answers")
    meter.listener = count = _Count(job.progress, total)
    try:
        yield count
    finally:
        meter.listener = None


class _Search:
    """Asks ever larger parts, and makes automata of them."""

    def __init__(
        self,
        job: Job,
        box: QueriedModel | MeteredModel,
        meter: Meter,
        held_out: Reference,
        words: Words | None,
        rng: np.random.Generator,
    ) -> None:
        self.job, self.box, self.meter = job, box, meter
        self.held_out, self.words, self.rng = held_out, words, rng
        self.length = held_out.n_prefixes / len(held_out.weights)  # of a word, its end included
        n_contexts = job.n_prefixes or N_CONTEXTS
        n_words = math.ceil(WORDS_A_CONTEXT * n_contexts)
        if words is not None:
            n_words = min(n_words, len(words))
        if n_words > (fit := words_that_fit(len(box.alphabet), self.length)):
            logger.warning("only %d words of %d to learn from fit into memory", fit, n_words)
            n_words = fit
        self.sizes = Sizes(n_words, n_contexts, job.n_suffixes or N_COLUMNS)
        self.known: Reference | None = None
        self.n_followed = 0  # questions about how contexts go on
        self.besides: Reference | None = None  # on which both disagreed, to learn from
        self.telling: Words | None = None  # what leads there
        self.judged: Reference | None = None  # and to compare on
        self.fitted: WeightedAutomaton | None = None  # of the largest rank
        self.fitted_ranks: list[int] = []  # whether the fitted automaton was nearer or not
        self.searches: list[Search] = []
        self.ended = ""  # why there are no more of them
        self.rounds: list[Round] = []
        self.stopped = ""

    # Asking ---------------------------------------------------------------------------------------

    def ask(self) -> _Part:
        """Ask until there is enough, or until one has to stop."""
        job, meter, part = self.job, self.meter, None
        judges = not (job.target is None and meter.budget is None and meter.seconds is None)
        share = self._first_share()
        while share:
            began = meter.elapsed
            try:
                part = self._ask_part(share)
            except Stopped as reason:
                if part is None:
                    raise
                self._stop(reason, part)
                break
            enough = judges and self._round(part) >= (job.target or np.inf)
            if share == 1 and not (enough or self.stopped):
                note_unused(meter, f"{self.sizes.contexts:,} contexts")
            if enough or share == 1 or self.stopped:
                break
            share = self._next_share(part, meter.elapsed - began)
        assert part is not None
        if not self.rounds:
            self._round(part)
        return part

    def _round(self, part: _Part) -> float:
        """Return how near the automata of the largest rank come, and add a round."""
        best = self._judge(part).score
        n_words, n_contexts = len(part.known.weights), len(part.blocks.contexts)
        self.rounds.append(Round(self.meter.n_questions, n_words, n_contexts, best))
        return best

    def _stop(self, reason: object, part: _Part) -> None:
        self.stopped = str(reason)
        n_asked, n_wanted = len(part.blocks.contexts), self.sizes.contexts
        logger.warning("%s: %d contexts of %d were asked", reason, n_asked, n_wanted)

    @property
    def _pace(self) -> tuple[float, float]:
        """Return how large the first part is, and how many times as large each next, at most."""
        hurries = self.job.target is not None or self.meter.seconds is not None
        if hurries or (self.meter.limits and isinstance(self.box, QueriedModel)):
            return PARTS[0], 4  # what is known is not asked again
        return (PARTS[1], 16) if self.meter.stop is not None else (1.0, math.inf)

    @property
    def _first(self) -> float:
        """How much of budget and time is for the first asking; the rest is for counterexamples."""
        return 1 / 6 if self.job.counterexamples else 1.0

    @property
    def _left(self) -> float:
        """How many questions are left for the first asking."""
        return self.meter.left - (1 - self._first) * (self.meter.allowance or 0)

    def _first_share(self) -> float:
        first, _ = self._pace
        cost = self.sizes.words * self.length + _most_steps(len(self.box.alphabet), self.sizes)
        affordable = self._left / cost
        return first if affordable >= 1 else max(SMALLEST, min(first, affordable / 4))

    def _next_share(self, part: _Part, seconds: float) -> float:
        """Return how large a part can be asked next, or 0 where no larger one can."""
        meter, n_read = self.meter, len(part.known.tree)
        both = n_read + self.n_followed
        growth, why = self._pace[1], ""
        if meter.budget is not None:
            known = both if isinstance(self.box, QueriedModel) else n_read  # not asked again
            growth = min(growth, (0.9 * self._left + known) / both)
            why = f"the budget of {meter.budget:,} questions allows no more"
        if meter.seconds is not None:
            in_time = 0.7 * (self._first * meter.seconds - meter.elapsed) / seconds
            if in_time < growth:
                growth, why = in_time, f"the time of {meter.seconds:g} s allows no more"
        if growth * part.share < min(1, WORTHWHILE * part.share):
            self._stop(why, part)
            return 0
        return min(1, growth * part.share)

    def _ask_part(self, share: float) -> _Part:
        """Ask about words and their contexts."""
        sizes = self.sizes.share(share)
        with self.job.timing("fill"):
            known, n_asked = self._learn(sizes.words), self.meter.n_asked
            total = sizes.contexts * sizes.columns // 2
            with _reported(self.job, self.meter, "following contexts", total) as count:
                blocks = fill_conditional(
                    self.box,
                    known,
                    n_contexts=sizes.contexts,
                    n_columns=sizes.columns,
                    besides=self.besides,
                    telling=self.telling,
                    progress=count.expect,
                )
            n_before = self.n_followed if isinstance(self.box, QueriedModel) else 0
            self.n_followed = n_before + self.meter.n_asked - n_asked
        with self.job.timing("svd"):
            svd = decompose_conditional(blocks, max_rank=self.job.max_rank)
        return _Part(share, known, blocks, svd)

    def _learn(self, n_words: int) -> Reference:
        """Return what the box says of so many words, those of before and new ones."""
        bounds = [self.sizes.share(part).words for part in PARTS]  # the same words at any pace
        n_words = min(n_words, bounds[-1] if self.words is None else len(self.words))
        n_known = 0 if self.known is None else len(self.known.weights)
        total = int((n_words - n_known) * self.length)
        with _reported(self.job, self.meter, "drawing words", total):
            while n_known < n_words:
                end = min(n_words, *(bound for bound in bounds if bound > n_known))
                if self.words is None:
                    more, longest = end - n_known, self.job.longest
                    new = Reference.draw(self.box, more, seed=self.rng, max_length=longest)
                else:
                    new = Reference.ask(self.box, self.words[n_known:end])
                self.known = _joined(self.known, new)
                n_known = end
        assert self.known is not None
        return self.known

    # Automata -------------------------------------------------------------------------------------

    def _judge(self, part: _Part) -> Fidelity:
        """Fit an automaton of the largest rank, and return how near that or the SVD's comes."""
        svd = part.svd
        found = self._compare(svd.automaton(svd.max_rank))
        if _is_exact(found):
            self.fitted = None
            return found
        if (fitted := self._fit(part, svd.max_rank)) is not None:
            self.fitted = fitted  # if one has to stop, that of the part before
        if self.fitted is None:
            return found
        return max(found, self._compare(self.fitted), key=lambda each: each.score)

    def _nearest(self, part: _Part) -> tuple[WeightedAutomaton, Fidelity]:
        """Return the nearer of the two automata of the largest rank, and how near it is."""
        both = [part.svd.automaton(part.svd.max_rank)]
        if self.fitted is not None:
            both.append(self.fitted)
        compared = [(each, self._compare(each)) for each in both]
        return max(compared, key=lambda each: each[1].score)

    def _compare(self, automaton: WeightedAutomaton) -> Fidelity:
        """Compare on held-out words, and on some on which both disagreed, if there are any."""
        return self._with_apart(self.held_out.compare(automaton), automaton)

    def _with_apart(self, found: Fidelity, automaton: WeightedAutomaton) -> Fidelity:
        if self.judged is None:
            return found
        apart = mean_total_variation(self.judged, automaton)
        return dataclasses.replace(found, metrics={**found, "apart": apart})

    def _fit(self, part: _Part, rank: int, n_words: int | None = None) -> WeightedAutomaton | None:
        """Fit an automaton, unless one has to stop."""
        self.job.begin(f"fitting {rank} states", "steps")

        def step(done: int, total: int) -> None:
            if self.job.progress is not None:
                self.job.progress(done, total)
            self.meter.check()

        try:
            self.meter.check()
            with self.job.timing("fit"):
                return fit(
                    part.blocks,
                    part.known,
                    rank,
                    n_words=n_words,
                    besides=self.besides,
                    seed=self.job.seed,
                    progress=step,
                )
        except Stopped as reason:
            if not self.stopped:
                logger.warning("%s: no automaton of %d states was fitted", reason, rank)
            self.stopped = str(reason)
            return None

    # Counterexamples ------------------------------------------------------------------------------

    def go_on(self, part: _Part) -> _Part:
        """Learn from words on which box and automaton disagree, while that brings them nearer."""
        n_searches = self.job.counterexamples + 1 if self.job.counterexamples else 0
        for number in range(n_searches):
            before = self.besides, self.telling, self.judged, self.fitted
            n_before = len(self.searches)
            try:
                words = self._disagreements(self._nearest(part)[0], part)
                if not words or number + 1 == n_searches:
                    break
                another, then = self._learn_from(words, part), "no nearer"
            except Stopped as reason:
                self.ended = self.stopped = str(reason)
                another, then = None, "stopped"
            if len(self.searches) > n_before:
                self._conclude("learnt" if another else then)
            if another is None:
                self.besides, self.telling, self.judged, self.fitted = before
                break
            part = another
        return part

    def warn(self, rank: int) -> None:
        """Say so, if nothing was searched, or if an automaton is far from the box somewhere."""
        if self.ended:
            what = "the search for counterexamples ended early"
            none = "no counterexamples were searched for"
            logger.warning("%s: %s", self.ended, what if self.searches else none)
        last = [each for each in self.searches if each.states == rank][-1:]
        for each in last:
            if each.apart > KNOWN and each.then != "learnt":
                logger.warning(
                    "after %s box and automaton (%d states) give %.0f %% of the probability to different"
                    " symbols, and that was not learnt",
                    *(each.after, rank, 100 * each.apart),
                )

    def _conclude(self, then: str) -> None:
        self.searches[-1] = self.searches[-1]._replace(then=then)

    def _disagreements(self, automaton: WeightedAutomaton, part: _Part) -> list[tuple[Symbol, ...]]:
        """Search for words on which box and automaton disagree much."""
        self.meter.check()
        name = "searching for disagreements"
        with self.job.timing("fill"), _reported(self.job, self.meter, name, 0):
            found = disagreements(
                self.box,
                automaton,
                n_words=N_WORST,
                n_drawn=int(max(10, min(500, self.meter.left / (12 * self.length)))),
                max_length=min(self.job.longest, LONGEST),
                seed=self.job.seed + len(self.searches),
            )
        apart = {each.word: each.apart for each in found}
        known = total_variation(part.known, automaton)
        worst_known = np.argsort(-known, kind="stable")[:N_WORST]
        apart |= zip(part.known.tree.words(worst_known), known[worst_known].tolist(), strict=True)
        apart = self._possible(apart)
        most = max(apart.values())
        worst = min((word for word in apart if apart[word] >= 0.99 * most), key=len)
        words = [word for word in apart if apart[word] > max(most / 2, SMALL)]
        then = "stays" if words else "nothing to learn"
        after = self.box.alphabet.show(worst)
        where = (self.meter.n_questions, automaton.n_states, apart[worst], after)
        self.searches.append(Search(*where, len(words), then))
        return words

    def _possible(self, apart: dict[tuple[Symbol, ...], float]) -> dict[tuple[Symbol, ...], float]:
        """Leave out words that the box says cannot be."""
        asked = Reference.ask(self.box, [*apart])
        possible = reachable(asked)[asked.tree.node_of_word].tolist()
        kept = {word: apart[word] for word, can in zip(apart, possible, strict=True) if can}
        return kept or dict.fromkeys([()], 0.0)

    def _learn_from(self, words: list[tuple[Symbol, ...]], part: _Part) -> _Part | None:
        """Learn from half of some words; return None if that brings no automaton nearer."""
        most = max(8, len(part.blocks.contexts) // CONTEXTS_A_WORD)
        self.besides = self._asked(self.besides, words[::2][:most])
        self.judged = self._asked(self.judged, words[1::2] or words)
        automaton, before = self._nearest(part)
        leads = frequent_endings(beginnings(self.besides, automaton, SMALL), N_ENDINGS)
        known = self.telling
        self.telling = leads if known is None else Words.concatenate([known, leads])
        another = self._ask_part(part.share)
        after = self._judge(another)
        better = after.score > before.score and after["ndcg5"] > before["ndcg5"] - LOSS
        return another if better else None

    def _asked(self, known: Reference | None, words: list[tuple[Symbol, ...]]) -> Reference:
        """Ask about some more words."""
        with self.job.timing("fill"):
            return _joined(known, Reference.ask(self.box, words))

    def compare(self, part: _Part) -> tuple[dict[int, WeightedAutomaton], FidelityTable]:
        """Fit automata of smaller ranks too, and keep of each rank what is nearer to the box."""
        svd, job = part.svd, self.job
        table: dict[int, Fidelity] = {}
        job.begin("comparing automata", "automata")
        with job.timing("choose"):
            for rank in range(1, svd.max_rank + 1):
                table[rank] = self._compare(svd.automaton(rank))
                if job.progress is not None:
                    job.progress(rank, svd.max_rank)
        kept: dict[int, WeightedAutomaton] = {}

        def offer(automaton: WeightedAutomaton) -> None:
            rank, fidelity = automaton.n_states, self._compare(automaton)
            self.fitted_ranks = sorted({*self.fitted_ranks, rank})
            if rank in table and fidelity.score > table[rank].score:
                kept[rank], table[rank] = automaton, fidelity

        if self.fitted is not None:
            offer(self.fitted)
        for rank in FITTED:
            if rank < svd.max_rank and not _is_exact(table[rank]):
                fitted = self._fit(part, rank, max(1000, WORDS_A_STATE * rank))
                if fitted is None:
                    break
                offer(fitted)
        if job.counterexamples:
            self._judge_choices(part, kept, table)
        return kept, FidelityTable(tuple(table), tuple(table.values()))

    def _judge_choices(
        self, part: _Part, kept: Mapping[int, WeightedAutomaton], table: dict[int, Fidelity]
    ) -> None:
        """Let what an automaton of smaller rank gets wrong count, before that one is chosen."""

        def automaton(rank: int) -> WeightedAutomaton:
            return kept[rank] if rank in kept else part.svd.automaton(rank)

        judged = {part.svd.max_rank}
        for _ in range(self.job.counterexamples):
            rank = FidelityTable(tuple(table), tuple(table.values())).best_rank()
            if rank in judged:
                break
            judged.add(rank)
            try:
                words = self._disagreements(automaton(rank), part)
                found = self._asked(None, words) if words else None
            except Stopped as reason:
                self.ended = self.stopped = str(reason)
                break
            if found is None or mean_total_variation(found, automaton(part.svd.max_rank)) > KNOWN:
                break
            self._conclude("counts")
            self.judged = _joined(self.judged, found)
            for each, fidelity in table.items():
                table[each] = self._with_apart(fidelity, automaton(each))


def _joined(known: Reference | None, new: Reference) -> Reference:
    return new if known is None else Reference.joined([known, new])


def _is_exact(fidelity: Fidelity) -> bool:
    return fidelity.score > 1 - EXACT
