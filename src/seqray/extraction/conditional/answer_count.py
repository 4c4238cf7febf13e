"""Progress of queries: how many answers came, of about how many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from seqray.blackbox.queries.limits import Meter
from seqray.extraction.job import Job
from seqray.util.progress import Progress


class AnswerCount:
    """Counts answers, and reports how many came of how many."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.done, self.total = progress, 0, total

    def __call__(self, n: int) -> None:
        """Count ``n`` answers more."""
        self.done += n
        self.total = max(self.total, self.done)
        if self.progress is not None:
            self.progress(self.done, self.total)

    def expect(self, n_filled: int, n_rows: int) -> None:
        """Expect as many answers per row to come as there were per row before."""
        self.total = self.done * n_rows // n_filled


@contextmanager
def counted_answers(job: Job, meter: Meter, phase: str, total: int) -> Iterator[AnswerCount]:
    """Report the phase that begins, and then every answer that comes in the block."""
    job.begin(phase, "answers")
    meter.listener = count = AnswerCount(job.progress, total)
    try:
        yield count
    finally:
        meter.listener = None
