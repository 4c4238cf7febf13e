"""An extraction under way: what both ways to extract know of it, and do.

The two ways are `seqray.extraction.hankel.method` and `seqray.extraction.conditional.method`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import PredictingStepper
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import BlackBox, allowed_length, max_length_of, name_of, query_weights
from seqray.blackbox.queried import QueriedBox
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.cache_check import ask_in_groups, mixed_groups
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.noise import SURE, Noise, measure_noise
from seqray.blackbox.queries.oracle import NOISE, CachingBackend, KeptBlocks, MeteredBox, uncached
from seqray.extraction.basis import Basis
from seqray.fidelity.reference import Reference
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.memory import memory_limit
from seqray.util.progress import PhasedProgress, Progress

logger = logging.getLogger(__name__)

N_HELD_OUT = 1000
"""Words on which automata are compared."""

N_PROBED = 16
"""Words that are asked once more, to see whether a box changes its mind."""

PROBE_SHARE = 16
"""They take one in so many of a budget, at most."""

UNUSED = 0.5
"""Where less than this share of a budget was used, it is said why."""

FEWEST = 10
"""Words that are drawn from a box however little may be asked, and then twice as many."""


@dataclass(frozen=True, eq=False)
class Job:
    """What to extract, from what, and how far to go for it; see `seqray.extract`.

    Parameters
    ----------
    box, asked
        The box as it is, and as `seqray.blackbox.queries.oracle.attended` returned it.
    spent
        Seconds by phase, counted as it goes.
    """

    box: BlackBox
    asked: BlackBox
    method: str
    basis: Basis | Words | Iterable[Word] | str | None
    n_prefixes: int | None
    n_suffixes: int | None
    max_rank: int
    max_length: int | None
    target: float | None
    counterexamples: int
    repeat: int
    seed: int
    meter: Meter
    kept: AnswerStore | None
    progress: Progress | None
    spent: dict[str, float] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """Where words that are drawn from the box are cut."""
        return allowed_length(self.box, self.max_length, 100)

    @property
    def limit(self) -> int | None:
        """The length of the longest word that the box can be asked about; None: any length."""
        return max_length_of(self.box)

    def rngs(self) -> list[np.random.Generator]:
        """Return random generators for the words to ask about, and for those held out."""
        return np.random.default_rng(self.seed).spawn(2)

    @contextmanager
    def timing(self, phase: str) -> Iterator[None]:
        """Add the seconds that a block takes to those of a phase."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.spent[phase] = self.spent.get(phase, 0.0) + time.perf_counter() - begin

    def begin(self, name: str, unit: str) -> None:
        """Tell the progress what is done from now on, and what is counted."""
        if isinstance(self.progress, PhasedProgress):
            self.progress.phase(name, unit)


MAX_QUERIES = 100_000_000
"""How many words are asked about, at most, unless a budget allows more."""


def announce(job: Job, n_cells: int, n_queries: int) -> None:
    """Say how much is going to be asked, and refuse what is too much.

    Parameters
    ----------
    job
        The extraction.
    n_cells, n_queries
        About how many numbers the blocks hold, and how many words are asked about in all if there
        is no budget.
    """
    symbols = f"{len(job.box.alphabet):,} symbols"
    advice = "ask about fewer prefixes and suffixes (--prefixes, --suffixes), or fewer symbols"
    limit = memory_limit()
    if 16 * n_cells > limit:  # the numbers, and a copy of most of them
        raise ArgumentError(
            f"{symbols}: blocks of about {n_cells:,} numbers take {16 * n_cells / 1e9:,.3g} GB, "
            f"expected at most {limit / 1e9:.2g} GB (half of the free memory, up to 4 GB): "
            f"{advice}, or give a smaller budget"
        )
    if isinstance(job.box, WeightedAutomaton):
        return
    most = n_queries if job.meter.budget is None else min(n_queries, job.meter.budget)
    logger.info("up to about %s words are asked about (%s)", f"{most:,}", symbols)
    if job.meter.budget is None and n_queries > MAX_QUERIES:
        raise ArgumentError(
            f"{symbols}: about {n_queries:,} words would be asked about, more than "
            f"{MAX_QUERIES:,}: {advice}, or say how many it may be (--budget, budget)"
        )


def words_that_fit(n_symbols: int, length: float) -> int:
    """Return of how many words what a box says after each prefix fits into memory.

    ``length`` is the mean number of prefixes of a word. Three copies are held at once, and half of
    the memory is for other tables.
    """
    return max(FEWEST, int(memory_limit() / (2 * 3 * 8 * (n_symbols + 1) * max(1.0, length))))


def draw_within(
    box: PredictingStepper, n_words: int, max_length: int, rng: np.random.Generator, meter: Meter
) -> Reference:
    """Draw words from a box, or as many as an eighth of the budget and of the time allows."""
    n_asked, began = meter.n_asked, meter.elapsed
    known = Reference.draw(box, min(FEWEST, n_words), seed=rng, max_length=max_length)
    while (n := len(known.weights)) < n_words:
        fit = words_that_fit(len(box.alphabet), 4 * known.n_prefixes / n)  # more is measured there
        more = min(n, n_words - n, fit - n)
        for limit, used in (
            (meter.allowance, meter.n_asked - n_asked),
            (meter.seconds, meter.elapsed - began),
        ):
            if limit is not None and used > 0:
                more = min(more, int(n * (limit / 8 - used) / used))
        if more < 1:
            break
        drawn = Reference.draw(box, more, seed=rng, max_length=max_length)
        known = Reference.joined([known, drawn])
    return known


def probe_noise(job: Job, reference: Reference) -> Noise:
    """Query a few words again, beside others than before, to see whether the box says the same."""
    backend = getattr(job.box, "backend", None)
    if isinstance(job.box, WeightedAutomaton) or getattr(backend, "deterministic", False):
        return SURE
    job.meter.check()
    which = _probed(job, reference)
    words = reference.words[which]
    if isinstance(job.asked, MeteredBox):
        noise = measure_noise(reference.weights[which], ask_in_groups(job.asked.weights, words))
    else:
        job.meter.spend(_cost_again(job, words))  # in every run, so that a budget means the same
        noise = _cached_noise(job) or _measured(job, words, reference.weights[which])
    if noise.level > 0:
        logger.warning(
            "%s answers differently each time, by %s: ask more than once (repeat) for more",
            name_of(job.box),
            noise,
        )
    return noise


def note_unused(meter: Meter, known: str) -> None:
    """Say why much of a budget was not used: what was to be asked is asked, all of it."""
    if meter.budget is not None and meter.n_questions < UNUSED * meter.budget:
        logger.warning(
            "%s of the %s questions allowed were needed: %s are complete; ask for more of them to "
            "use more",
            *(f"{meter.n_questions:,}", f"{meter.budget:,}", known),
        )


def _probed(job: Job, reference: Reference) -> IntArray:
    """Return which words to query again: some with a weight, from all over, that are affordable."""
    some = np.flatnonzero(reference.weights)
    if len(some) < min(N_PROBED, len(reference.weights)):
        some = np.arange(len(reference.weights))
    which = some[np.unique(np.linspace(0, len(some) - 1, N_PROBED).round().astype(np.int64))]
    if job.meter.budget is None:
        return which
    limit = min(job.meter.budget / PROBE_SHARE, job.meter.left)
    costs = np.array([_cost_again(job, reference.words[[i]]) for i in which.tolist()])
    return which[: max(1, int((costs.cumsum() <= limit).sum()))]


def _cost_again(job: Job, words: Words) -> int:
    """Return what querying words again in groups costs: words, or else all their prefixes."""
    if isinstance(job.asked, QueriedBox):
        return len(words)
    return sum(len(PrefixTree.of(words[group])) for group in mixed_groups(len(words)))


def _cached_noise(job: Job) -> Noise | None:
    """Return the noise that an earlier run measured, unless the box is noisy only now."""
    backend = getattr(job.asked, "backend", None)
    if job.kept is None or not isinstance(backend, CachingBackend):
        return None
    found = KeptBlocks.of(job.asked, job.kept).find(NOISE)
    if found is None or (backend.trust.noisy and not found[0] > 0):
        return None
    return Noise(float(found[0]), relative=bool(found[1]))


def _measured(job: Job, words: Words, first: FloatArray) -> Noise:
    """Measure the noise of a box that is asked, and keep it."""
    again = ask_in_groups(partial(query_weights, uncached(job.asked)), words)
    noise = measure_noise(first, again, repeat=job.repeat)
    if job.kept is not None:
        KeptBlocks.of(job.asked, job.kept).add(NOISE, np.array([noise.level, noise.relative]))
    return noise
