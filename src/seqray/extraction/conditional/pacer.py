"""How large the next part of all queries is, within budget and time.

A small part is queried first: it is all that a small box needs. Where there is a limit or a target,
ever larger ones follow, otherwise the whole.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace

from seqray.automata.words import Words
from seqray.blackbox.queries.limits import Meter
from seqray.extraction.conditional.parts import LearntPart, PartSizes
from seqray.extraction.job import MIN_WORDS, Job, words_that_fit
from seqray.extraction.settings import CONDITIONAL, ConditionalSettings
from seqray.util.errors import Stopped, StopReason

logger = logging.getLogger(__name__)

MIN_SHARE = 1e-6
"""The share of the smallest part: a few words and one context."""

SAFE_SHARE_OF_BUDGET, SAFE_SHARE_OF_TIME = 0.9, 0.7
"""How much of what is left the next part may be expected to take."""


@dataclass(frozen=True, eq=False)
class Pacer:
    """Says how large the first part is, and the next.

    Parameters
    ----------
    meter
        What counts queries and time; it is only read.
    sizes
        The sizes of the whole.
    n_symbols, word_length
        How many symbols there are, and the mean number of prefixes of a word.
    caches
        Whether a query that was sent before costs nothing.
    has_target
        Whether learning may end early.
    share_of_limits
        Which share of budget and time may be used; the rest is for counterexamples.
    max_block_share, block_share_of_budget
        Blocks are at most this share of the whole ones, and take, with their words, at most this
        share of the budget; unless larger ones turn out to be needed.
    settings
        The shares of the parts.
    """

    meter: Meter
    sizes: PartSizes
    n_symbols: int
    word_length: float
    caches: bool = False
    has_target: bool = False
    share_of_limits: float = 1.0
    max_block_share: float = 1.0
    block_share_of_budget: float = 1.0
    settings: ConditionalSettings = CONDITIONAL

    @property
    def scores_each_part(self) -> bool:
        """Whether the fidelity of every part is of interest, and not only that of the last one."""
        meter = self.meter
        return self.has_target or meter.budget is not None or meter.time_limit is not None

    @property
    def limits_blocks(self) -> bool:
        """Whether blocks have limits of their own."""
        return self.max_block_share < 1

    @property
    def without_block_limits(self) -> Pacer:
        """The same pacer, with no limits that are for blocks alone."""
        return replace(self, max_block_share=1.0, block_share_of_budget=1.0)

    @property
    def first_share(self) -> float:
        """The share of the first part."""
        start, _ = self._pace
        cost = self.sizes.words * self.word_length + max_block_queries(self.n_symbols, self.sizes)
        affordable = self._queries_left / cost
        return start if affordable >= 1 else max(MIN_SHARE, min(start, affordable / 4))

    def next_share(self, part: LearntPart, seconds: float) -> float:
        """Return the share of the next part; raise `Stopped` where no larger part is affordable.

        ``seconds`` is how long ``part`` took.
        """
        meter, n_word_queries = self.meter, len(part.reference.tree)
        n_queries = n_word_queries + part.n_block_queries
        _, growth = self._pace
        limit = Stopped(StopReason.BUDGET, "")
        if meter.budget is not None:
            n_free = n_queries if self.caches else n_word_queries
            affordable = (SAFE_SHARE_OF_BUDGET * self._queries_left + n_free) / n_queries
            growth = min(growth, affordable)
            limit = meter.no_more()
        if (in_time := self._growth_in_time(seconds)) < growth:
            growth, limit = in_time, self._no_more_time()
        most = self.max_block_share
        if growth * part.share < min(most, self.settings.min_growth * part.share):
            raise limit
        return min(most, growth * part.share)

    def allows_blocks(self, part: LearntPart, seconds: float) -> bool:
        """Whether larger blocks are within their limits; raise `Stopped` where time is over."""
        try:
            self.next_share(part, seconds)
        except Stopped as stopped:
            if self.limits_blocks and stopped.reason is StopReason.BUDGET:
                return False
            raise
        return True

    def next_words(self, part: LearntPart, seconds: float) -> int:
        """Return how many words the next part has if it has the same blocks.

        Raise `Stopped` where the time allows no more. ``seconds`` is how long ``part`` took.
        """
        n_words, (_, growth) = len(part.reference.weights), self._pace
        in_time = self._growth_in_time(seconds)
        if in_time < self.settings.min_growth:
            raise self._no_more_time()
        return int(min(self.sizes.words, min(growth, in_time) * n_words))

    def _growth_in_time(self, seconds: float) -> float:
        """Return how many times as large the next part may be, after one that took so long."""
        if self.meter.time_limit is None:
            return math.inf
        seconds_left = self.share_of_limits * self.meter.time_limit - self.meter.elapsed
        return SAFE_SHARE_OF_TIME * seconds_left / seconds

    def _no_more_time(self) -> Stopped:
        message = f"the time of {self.meter.time_limit:g} s allows no more"
        return Stopped(StopReason.TIME, message)

    @property
    def _pace(self) -> tuple[float, float]:
        """The share of the first part, and how many times as large the next one is at most."""
        shares = self.settings.part_shares
        hurries = self.has_target or self.meter.time_limit is not None
        if hurries or (self.meter.limits and self.caches):
            return shares[0], 4
        return shares[0], 16 if self.meter.limits.stop is not None else 64

    @property
    def _queries_left(self) -> float:
        share = self.share_of_limits * self.block_share_of_budget
        return self.meter.left - (1 - share) * (self.meter.allowance or 0)


def whole_sizes(
    job: Job, word_length: float, data_set: Words | None, settings: ConditionalSettings
) -> PartSizes:
    """Return the sizes of the whole: those wanted, or as many words as there are or fit."""
    n_contexts = job.request.n_prefixes or settings.n_contexts
    n_words = math.ceil(settings.words_per_context * n_contexts)
    if data_set is not None:
        n_words = min(n_words, len(data_set))
    if n_words > (n_fit := words_that_fit(len(job.oracle.alphabet), word_length)):
        logger.warning("only %d words of %d to learn from fit into memory", n_fit, n_words)
        n_words = n_fit
    return PartSizes(n_words, n_contexts, job.request.n_suffixes or settings.n_columns)


def max_block_queries(n_symbols: int, sizes: PartSizes) -> int:
    """Return how many queries blocks take if nothing is rare: mostly there are far fewer."""
    n_rows = sizes.contexts * (1 + n_symbols)
    return n_rows * (1 + n_symbols + max(1, sizes.columns // (1 + n_symbols)))


def sufficient_budget(n_symbols: int, max_length: int, settings: ConditionalSettings) -> int:
    """Return a budget that is enough for the smallest part.

    >>> sufficient_budget(4, 10, ConditionalSettings())
    360
    """
    n_words = MIN_WORDS + settings.min_words
    smallest = PartSizes(1, 1, settings.n_columns).share(MIN_SHARE, settings)
    return n_words * (1 + max_length) + max_block_queries(n_symbols, smallest)
