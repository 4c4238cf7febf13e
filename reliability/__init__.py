"""Reliability campaigns: seqray under faults, hostile input, load and odd numbers.

``python -m reliability`` runs the campaigns of the folder ``campaigns/``. Each is a module with a
docstring, a function ``run`` and, where it found something, the defects:

    \"\"\"What is tried, in one sentence.\"\"\"

    FOUND = ("a defect that this campaign found, and that is fixed",)

    def run(scale: Scale, seed: int) -> Iterator[Row]:
        n = 1000 if scale == "long" else 10
        failures = [line for i in range(n) if (line := trial(seed + i))]
        yield Row("what was tried", n, failures)

``scale`` is ``"short"``, a few seconds, part of ``make test`` (tests/reliability/), or ``"long"``,
part of ``make soak``. A list of rows does, too; rows that are yielded are saved as they come.
A campaign that takes long has ``RESUMABLE = True``, and ``run`` a third parameter, ``done``: the
names of rows that an interrupted run has saved; ``python -m reliability NAME --resume`` goes on
after them. All rows of one run have the time when it started. Modules whose names begin with an
underscore are no campaigns. ``NOTES``, a tuple of texts, goes to the end of a campaign's part of
the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Scale: TypeAlias = Literal["short", "long"]


@dataclass(frozen=True)
class Row:
    """What came of one part of a campaign.

    Parameters
    ----------
    name
        What was tried, in a few words; no two rows of a campaign have the same.
    n
        How many trials there were.
    failures
        One line per failure: what went wrong, and the seed that repeats it.
    figures
        What was measured, by name, units in the names: ``{"peak memory (MB)": 103}``.
    skipped
        Why this could not be tried here; then ``n`` is 0.
    """

    name: str
    n: int
    failures: Sequence[str] = ()
    figures: Mapping[str, float | str] = field(default_factory=dict)
    skipped: str = ""
