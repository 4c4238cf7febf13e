"""The section of the report that says what is missing in the results, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from seqray.experiments import paper
from seqray.experiments.cells import SMALL_BLOCK_NOTE, TARGET_NOTE
from seqray.experiments.findings import SUITES, Findings, title_of
from seqray.experiments.statements import listed
from seqray.experiments.table import SETS, choose, problem_order

Ranks: TypeAlias = dict[tuple[str, int, str], set[int]]
"""The ranks that are there, by problem, size of basis and set of words."""


def gaps_text(findings: Findings, missing: Mapping[str, str]) -> str:
    """Return what the results lack, as a list; ``missing`` are the figures that were not drawn.

    Examples
    --------
    >>> gaps_text(Findings([]), {"basis": "no results"}).splitlines()[-1]
    '- Figure basis: no results.'
    """
    lines = [
        f"The table `{suite}.csv.gz` is not in the results."
        for suite in SUITES
        if suite not in findings.about
    ]
    for suite, about in findings.about.items():
        lines += [f"{title_of(name)}: {why}." for name, why in about.get("holes", {}).items()]
        lines += [f"{suite} {name} failed: {why}." for name, why in about.get("failed", {}).items()]
        lines += _missing_rows(findings, suite)
        for name, notes in about.get("notes", {}).items():
            # That a block has a small rank is said with the ranks that are missing for it, and an
            # automaton that is not quite the box is no gap.
            others = [
                note
                for note in dict.fromkeys(notes)
                if not note.startswith((SMALL_BLOCK_NOTE, TARGET_NOTE))
            ]
            lines += [f"{suite} {name}: {note}." for note in others]
    lines += [f"Figure {name}: {why}." for name, why in missing.items()]
    whole = "Nothing: every problem, basis, rank and set is there."
    return "\n".join(f"- {line}" for line in lines) or whole


def _missing_rows(findings: Findings, suite: str) -> list[str]:
    """Say which problems, bases and ranks a table lacks, and whether that is explained."""
    about = findings.about[suite]
    ranks: Ranks = {}
    for row in choose(findings.rows, problem=SUITES[suite], selection="all"):
        ranks.setdefault((row.problem, row.prefixes, row.set), set()).add(row.rank)
    expected = set(SUITES[suite]) - set(about.get("holes", {}))
    theirs = expected & {problem for problem, _, _ in ranks}
    own = expected & {row.problem for row in findings.own}
    lines = [
        f"no rows of {what}{listed(gone)}"
        for what, gone in (
            ("", expected - theirs - own),
            ("the paper's method of ", own - theirs),
            ("seqray's own method of ", theirs - own),
        )
        if gone
    ]
    notes = about.get("notes", {})
    for size in paper.BASES:
        none, small, odd = _lacking(ranks, size, notes)
        if none:
            lines.append(f"no basis of {size} on {', '.join(none)}")
        if small:
            lines.append(
                f"at a basis of {size} the block itself has a rank below {max(paper.RANKS)}, and "
                f"no further ranks exist, on {', '.join(small)}"
            )
        if odd:
            lines.append(
                f"at a basis of {size} ranks are missing, unexplained, on {', '.join(odd)} "
                "(in brackets the largest that is there)"
            )
    return [f"{suite}: {line}." for line in lines]


def _lacking(
    ranks: Ranks, size: int, notes: Mapping[str, list[str]]
) -> tuple[list[str], list[str], list[str]]:
    """Return problems without a basis, with a block of small rank, and with other gaps."""
    none: list[str] = []
    small: list[str] = []
    odd: list[str] = []
    for problem in sorted({problem for problem, _, _ in ranks}, key=problem_order):
        both = [ranks.get((problem, size, which), set()) for which in SETS]
        last = max(both[0] | both[1], default=0)
        if not last:
            none.append(problem)
        elif both != [set(paper.RANKS)] * 2:
            whole = both == [set(range(1, last + 1))] * 2
            noted = f"{SMALL_BLOCK_NOTE} {last}" in notes.get(f"{problem}-{size}", [])
            (small if whole and noted else odd).append(f"{problem} ({last})")
    return none, small, odd
