"""A running extraction: what both methods of extraction know and do.

The methods are `seqray.extraction.hankel.method` and `seqray.extraction.conditional.method`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from seqray.automata.stepper import PredictingStepper
from seqray.blackbox.protocol import allowed_length
from seqray.blackbox.queries import noise_probe
from seqray.blackbox.queries.limits import Meter
from seqray.blackbox.queries.noise import Noise
from seqray.blackbox.queries.oracle import Oracle
from seqray.extraction.request import Request
from seqray.fidelity.reference import Reference
from seqray.util.errors import ArgumentError
from seqray.util.memory import memory_limit
from seqray.util.progress import PhasedProgress, Progress

logger = logging.getLogger(__name__)

N_HELD_OUT = 1000
"""Words on which automata are compared."""

UNUSED_SHARE = 0.5
"""Where less than this share of a budget was used, a warning says why."""

MIN_WORDS = 10
"""Words that are drawn from a box whatever the budget, and then twice as many."""


@dataclass(frozen=True, eq=False)
class Job:
    """What to extract, and from what; see `seqray.extract`.

    Parameters
    ----------
    oracle
        Answers queries about the box, within limits.
    request
        What to extract.
    progress
        Called with how much is done.
    spent
        Seconds by phase.
    """

    oracle: Oracle
    request: Request
    progress: Progress | None
    spent: dict[str, float] = field(default_factory=dict)

    @property
    def meter(self) -> Meter:
        """Counts the queries."""
        return self.oracle.meter

    @property
    def repeat(self) -> int:
        """How often every query is sent, to take the mean."""
        return self.meter.repeat

    @property
    def longest(self) -> int:
        """The length at which words that are drawn from the box are cut."""
        return allowed_length(self.oracle, self.request.max_length, 100)

    @property
    def limit(self) -> int | None:
        """The length of the longest word that the box can read; None: any length."""
        return self.oracle.max_length

    def rngs(self) -> list[np.random.Generator]:
        """Return random generators for the words to learn from, and for those held out."""
        return np.random.default_rng(self.request.seed).spawn(2)

    @contextmanager
    def timing(self, phase: str) -> Iterator[None]:
        """Add the seconds that a block takes to those of a phase."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.spent[phase] = self.spent.get(phase, 0.0) + time.perf_counter() - begin

    def begin(self, name: str, unit: str) -> None:
        """Report to the progress what is done from now on, and what is counted."""
        if isinstance(self.progress, PhasedProgress):
            self.progress.phase(name, unit)


MAX_QUERIES = 100_000_000
"""The largest number of queries, unless a budget allows more."""

BYTES_PER_CELL = 16
"""What blocks take for each of their numbers, with a copy of most of them."""


def refuse_too_many(job: Job, n_queries: int) -> None:
    """Refuse too many queries if there is no budget; ``n_queries`` is about how many there are."""
    if job.oracle.is_free:
        return
    if job.meter.budget is None and n_queries > MAX_QUERIES:
        raise ArgumentError(
            f"{len(job.oracle.alphabet):,} symbols: about {n_queries:,} words would be queried, "
            f"more than {MAX_QUERIES:,}: query fewer prefixes and suffixes (--prefixes, "
            "--suffixes), or fewer symbols, or say how many it may be (--budget, budget)"
        )


def words_that_fit(n_symbols: int, length: float) -> int:
    """Return the number of words for which the box's predictions fit into memory.

    ``length`` is the mean number of prefixes of a word. Three copies are held at once, and half of
    the memory is for other tables.
    """
    return max(MIN_WORDS, int(memory_limit() / (2 * 3 * 8 * (n_symbols + 1) * max(1.0, length))))


def draw_within(
    box: PredictingStepper, n_words: int, max_length: int, rng: np.random.Generator, meter: Meter
) -> Reference:
    """Draw words from a box, or as many as an eighth of the budget and of the time allows."""
    n_before, began = meter.n_answers, meter.elapsed
    known = Reference.draw(box, min(MIN_WORDS, n_words), seed=rng, max_length=max_length)
    while (n := len(known.weights)) < n_words:
        fit = words_that_fit(len(box.alphabet), 4 * known.n_prefixes / n)  # more is measured there
        more = min(n, n_words - n, fit - n)
        for limit, used in (
            (meter.allowance, meter.n_answers - n_before),
            (meter.time_limit, meter.elapsed - began),
        ):
            if limit is not None and used > 0:
                more = min(more, int(n * (limit / 8 - used) / used))
        if more < 1:
            break
        drawn = Reference.draw(box, more, seed=rng, max_length=max_length)
        known = Reference.joined([known, drawn])
    return known


def compared_for(job: Job, reference: Reference) -> Reference:
    """Return answers on which automata are compared for the objective of the extraction."""
    return replace(reference, objective=job.request.objective)


def probe_noise(job: Job, reference: Reference) -> Noise:
    """Measure the noise of the box on some of the words to compare on."""
    return noise_probe.probe_noise(job.oracle, reference.words, reference.weights)


def note_unused(meter: Meter, known: str) -> None:
    """Warn where much of a budget was not used, as everything has been queried."""
    if meter.budget is not None and meter.n_queries < UNUSED_SHARE * meter.budget:
        logger.warning(
            "%s of the %s queries allowed were needed: %s are complete; allow more of them to "
            "use more",
            *(f"{meter.n_queries:,}", f"{meter.budget:,}", known),
        )
