"""An extraction under way: what both ways to extract know of it, and do.

The two ways are `seqray.by_blocks` and `seqray.by_contexts`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from seqray.answers import AnswerStore
from seqray.asking import NOISE, KeptBlocks, Meter
from seqray.automaton import WeightedAutomaton
from seqray.basis import Basis
from seqray.blackbox.protocol import BlackBox, allowed_length, max_length_of, name_of
from seqray.fidelity import FidelityTable, Reference
from seqray.filling import PhasedProgress, Progress, ask_all
from seqray.noise import SURE, Noise, measure_noise
from seqray.spectral import Decomposition
from seqray.stepper import PredictingStepper
from seqray.words import Word, Words

logger = logging.getLogger(__name__)

N_HELD_OUT = 1000
"""Words on which automata are compared."""

N_PROBED = 16
"""Words that are asked once more, to see whether a box changes its mind."""

FEWEST = 10
"""Words that are drawn from a box however little may be asked, and then twice as many."""


@dataclass(frozen=True, eq=False)
class Job:
    """What to extract, from what, and how far to go for it; see `seqray.extract`.

    Parameters
    ----------
    box, asked
        The box as it is, and as `seqray.asking.attended` returned it.
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
        """Return sources of chance for the words to ask about, and for those held out."""
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


class Found(NamedTuple):
    """What came of it."""

    decomposition: Decomposition
    basis: Basis
    fidelity: FidelityTable
    settings: dict[str, Any]
    fitted: Mapping[int, WeightedAutomaton] = {}


def draw_within(
    box: PredictingStepper, n_words: int, max_length: int, rng: np.random.Generator, meter: Meter
) -> Reference:
    """Draw words from a box, or as many as an eighth of the budget and of the time allows."""
    n_asked, began = meter.n_asked, meter.elapsed
    known = Reference.draw(box, min(FEWEST, n_words), rng=rng, max_length=max_length)
    while (n := len(known.weights)) < n_words:
        more = min(n, n_words - n)
        for limit, used in (
            (meter.budget, meter.n_asked - n_asked),
            (meter.seconds, meter.elapsed - began),
        ):
            if limit is not None and used > 0:
                more = min(more, int(n * (limit / 8 - used) / used))
        if more < 1:
            break
        drawn = Reference.draw(box, more, rng=rng, max_length=max_length)
        known = Reference.joined([known, drawn])
    return known


def probe_noise(job: Job, words: Words) -> Noise:
    """Ask a few words once more, to see whether the box says the same."""
    asker = getattr(job.box, "asker", None)
    if isinstance(job.box, WeightedAutomaton) or getattr(asker, "deterministic", False):
        return SURE
    job.meter.check()
    first = job.asked.weights(words)  # counted in every run, so that a budget means the same
    kept = None if job.kept is None else KeptBlocks.of(job.asked, job.kept)
    found = None if kept is None else kept.find(NOISE)
    if found is not None:
        noise = Noise(float(found[0]), relative=bool(found[1]))
    else:
        noise = measure_noise(first, ask_all(job.box, words), repeat=job.repeat)
        if kept is not None:
            kept.add(NOISE, np.array([noise.level, noise.relative]))
    if noise.level > 0:
        logger.warning(
            "%s answers differently each time, by %s: ask more than once (repeat) for more",
            name_of(job.box),
            noise,
        )
    return noise
