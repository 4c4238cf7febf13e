"""The copies that seqray's own method makes, beside the rank that it chooses."""

from __future__ import annotations

import math

from seqray.experiments.findings import Findings, title_of
from seqray.experiments.own import count_cell, value_cells
from seqray.experiments.table import SETS, choose, held_out, problem_order
from seqray.experiments.tables import markdown, marked
from seqray.util.formatting import decimals


def copies_table(findings: Findings) -> str:
    """Return each problem's chosen rank beside its largest copy: size, and fidelity on both sets.

    Examples
    --------
    >>> from seqray.experiments.table import Result
    >>> own = [Result("3", "auto", 1500, 50, 7, "rnn", "held-out", ndcg5=0.9, kl_per_symbol=0.2)]
    >>> copies = [Result("3", "copy", 1500, 50, 900, "rnn", "held-out", kl_per_symbol=0.1)]
    >>> print(copies_table(Findings([], own=own, copies=copies)).splitlines()[2])
    | 3 | 7 | – | 0.9000 | 0.2000 | 900 | – | – | – | – | 0.1000 |
    """
    sizes = {
        problem: known[-1]
        for about in findings.about.values()
        for problem, known in about.get("copies", {}).items()
        if known
    }
    dense = {which: findings.dense_choices(which) for which in SETS}
    larger = {which: held_out(choose(findings.copies, set=which)) for which in SETS}
    lines = []
    for problem in sorted({*dense["test"], *dense["rnn"]}, key=problem_order):
        rank, copy = (
            next((of[problem] for of in some.values() if problem in of), None)
            for some in (dense, larger)
        )
        size = sizes.get(problem, {})
        lines.append(
            [
                marked(problem) if problem.isdecimal() else title_of(problem),
                "–" if rank is None else str(rank.rank),
                *value_cells(dense.values(), problem, "ndcg5"),
                *value_cells([dense["rnn"]], problem, "kl_per_symbol"),
                "–" if copy is None else f"{copy.rank:,}",
                count_cell(size.get("cost", math.nan)),
                decimals(size.get("bytes", math.nan) / 1e6, 1),
                *value_cells(larger.values(), problem, "ndcg5"),
                *value_cells([larger["rnn"]], problem, "kl_per_symbol"),
            ]
        )
    header = ["problem", "rank", "NDCG₅ S_test", "S_RNN", "bits per symbol S_RNN"]
    header += ["copy: states", "cost", "MB", "NDCG₅ S_test", "S_RNN", "bits per symbol S_RNN"]
    return markdown(header, lines)
