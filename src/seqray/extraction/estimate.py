"""One line before the work: how many queries there will be at most, and how long they take."""

from __future__ import annotations

import logging
import math

from seqray.extraction.basis import Basis
from seqray.extraction.job import Job
from seqray.util.formatting import duration

logger = logging.getLogger(__name__)

TIMED_BATCHES = (4, 16, 64, 256, 1024)
"""How many words are queried before the estimate, batch by batch, until one takes long enough. The
first one does not count: it also starts processes, and loads what a box loads when it is used."""

MIN_TIMED_SECONDS, MAX_TIMED_SECONDS = 0.1, 2.0
"""A batch that takes as long as the first shows the speed, unless a larger one is faster for each
word by a third; after one that takes as long as the second, no larger one is tried."""

MANY_SECONDS = 600.0
"""Work that may take longer is a warning."""

MANY_QUERIES = 10_000_000
"""More queries are a warning where nobody knows how long they take."""


def log_estimate(
    job: Job,
    n_queries: int,
    unit: str,
    seconds_per_query: float | None,
    note: str = "",
    n_first: int | None = None,
) -> None:
    """Log how many queries there are at most, and about how long they take; nothing if free.

    Where rounds of queries end when nothing is left to learn, the most is far from what is usual:
    what the first round takes is said first, and decides whether it is a warning.

    Parameters
    ----------
    job
        The extraction.
    n_queries
        About how many queries there are at most if there is no budget.
    unit
        What is queried: words, prefixes or steps.
    seconds_per_query
        None: not known.
    note
        What else is good to know.
    n_first
        About how many queries the first round has; None: there are no rounds.
    """
    if job.oracle.is_free:
        return
    most = n_queries if job.meter.budget is None else min(n_queries, job.meter.budget)
    n_likely = most if n_first is None else min(n_first, most)
    seconds = None if seconds_per_query is None else job.repeat * seconds_per_query
    symbols = f"({len(job.oracle.alphabet):,} symbols)"
    if n_first is None:
        text = f"at most about {most:,} {unit} are queried {symbols}"
        text += "" if seconds is None else f", which takes about {duration(most * seconds)} or less"
    else:
        text = f"the first round queries about {n_likely:,} {unit} {symbols}"
        text += "" if seconds is None else f", which takes about {duration(n_likely * seconds)}"
        text += f"; rounds end where nothing is left to learn, after at most {most:,} {unit}"
        text += "" if seconds is None else f" and {duration(most * seconds)}"
    limit = job.meter.time_limit
    if limit is not None and seconds is not None and most * seconds > limit:
        text += f", but no longer than {duration(limit)}"
    is_long = n_likely > MANY_QUERIES if seconds is None else n_likely * seconds > MANY_SECONDS
    level = logging.WARNING if is_long else logging.INFO
    logger.log(level, "%s%s", text, f"; {note}" if note else "")


def measured_speed(job: Job, basis: Basis) -> float | None:
    """Return the seconds that one query takes; None where that is not known without a loss.

    Where answers are cached, some words of the basis are queried: they would be queried anyway.
    """
    meter = job.meter
    if not job.oracle.caches or meter.budget is not None:
        return None
    n_each = math.isqrt(sum(TIMED_BATCHES))
    words = basis.prefixes[:n_each].followed_by(basis.suffixes[:n_each]).unique()[0]
    speed: float | None = None
    for n_words in TIMED_BATCHES:
        n_before, begin = meter.n_sent, meter.elapsed
        job.oracle.weights(words[:n_words])
        seconds, words = meter.elapsed - begin, words[n_words:]
        previous, n_sent = speed, meter.n_sent - n_before
        speed = seconds / n_sent if n_sent else previous
        gains = previous is not None and speed is not None and speed < 2 / 3 * previous
        is_enough = seconds > (MAX_TIMED_SECONDS if gains else MIN_TIMED_SECONDS)
        is_warm = n_words > TIMED_BATCHES[0]
        if (is_warm and is_enough) or not len(words):
            break
    return speed
