"""Statements of the paper about its results, and whether ours agree with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from seqray.experiments import paper
from seqray.experiments.findings import Findings, title_of
from seqray.experiments.table import SETS, Result, best, choose, problem_order
from seqray.util.formatting import decimals, percent

CLOSE_RATIO = 0.9
"""A perplexity ratio from which on automaton and network count as close."""
SMALL_RANK = 25
"""The rank at which the paper finds its automata almost optimal."""


class Statement(NamedTuple):
    """What the paper says, what we find, and whether that agrees; None: it was not measured."""

    paper: str
    ours: str
    agrees: bool | None


class UnmeasuredError(Exception):
    """What a statement is about is not in the results."""


def statements(findings: Findings) -> list[Statement]:
    """Put what the paper says beside what the results say.

    Parameters
    ----------
    findings
        The results.

    Examples
    --------
    >>> [statement.agrees for statement in statements(Findings([]))]
    [None, None, None, None, None, None, None, None, None]
    """
    made = []
    for text, check in CHECKS.items():
        try:
            ours, agrees = check(findings)
            made.append(Statement(text, ours, agrees))
        except UnmeasuredError as gap:
            made.append(Statement(text, f"not measured: {gap}", None))
    return made


def far_from_paper(
    findings: Findings, which: str, *, min_gap: float = 0.05
) -> tuple[list[str], list[str]]:
    """Return the problems where our best NDCG₅ is well above the paper's, and well below.

    Parameters
    ----------
    findings
        The results.
    which
        The set of words.
    min_gap
        The smallest difference that counts.

    Examples
    --------
    >>> rows = [Result("35", "paper", 300, 300, 7, "test", "all", ndcg5=0.9)]
    >>> far_from_paper(Findings(rows), "test")
    (['35'], [])
    """
    ours, theirs = best(findings.pautomac(which), "ndcg5"), paper.published(which)
    gaps = {p: ours[p].ndcg5 - theirs[p].ndcg5 for p in theirs if p in ours}
    order = sorted(gaps, key=problem_order)
    return [p for p in order if gaps[p] > min_gap], [p for p in order if gaps[p] < -min_gap]


def listed(problems: Iterable[str]) -> str:
    """Return problems as a text.

    Examples
    --------
    >>> listed(["9", "18"]), listed([])
    ('9, 18', 'none')
    """
    return ", ".join(sorted(problems, key=problem_order)) or "none"


# The statements -----------------------------------------------------------------------------------


def _near(findings: Findings) -> tuple[str, bool]:
    far = {
        which: {p for p, row in _best(findings, which, "perplexity_ratio").items() if _is_far(row)}
        for which in SETS
    }
    texts = [f"{SETS[which]}: {listed(far[which])}" for which in SETS]
    both = far["test"] & far["rnn"]
    return f"below {CLOSE_RATIO} on {'; '.join(texts)}", len(both) <= len(paper.POOR_RATIOS)


def _most_gain(findings: Findings) -> tuple[str, bool]:
    gains = [row.ndcg5 for row in _best(findings, "test", "ndcg5").values()]
    above = [sum(gain > level for gain in gains) / len(gains) for level in (0.9, 0.8)]
    text = f"{percent(above[0])} above 0.9, {percent(above[1])} above 0.8 on S_test"
    return text, above[0] > 0.5 and above[1] >= 0.7


def _poor_networks(findings: Findings) -> tuple[str, bool]:
    rows = _best(findings, "test", "perplexity_ratio")
    pairs = [
        (findings.boxes[problem].quality, abs(row.perplexity_ratio - 1))
        for problem, row in rows.items()
        if problem in findings.boxes and math.isfinite(findings.boxes[problem].quality)
    ]
    if len(pairs) < 10:
        raise UnmeasuredError(f"{len(pairs)} problems with networks that were measured are too few")
    quality, distance = np.array(pairs).T
    places = [values.argsort().argsort() for values in (quality, distance)]
    correlation = float(np.corrcoef(places)[0, 1])
    text = (
        f"rank correlation of the network's quality with the distance of the ratio from 1: "
        f"{decimals(correlation, 2)} over {len(pairs)} problems"
    )
    return text, abs(correlation) < 0.4


def _small_rank(findings: Findings) -> tuple[str, bool]:
    ratios = {}
    for problem in paper.RANK_CURVES:
        rows = choose(_largest(findings, problem), rank=SMALL_RANK)
        if not rows:
            raise UnmeasuredError(f"no rank {SMALL_RANK} of {title_of(problem)}")
        ratios[problem] = rows[0].perplexity_ratio
    texts = [f"{title_of(problem)} {decimals(ratio)}" for problem, ratio in ratios.items()]
    text = f"perplexity ratio at rank {SMALL_RANK}, largest basis, S_RNN: {', '.join(texts)}"
    return text, all(ratio >= CLOSE_RATIO for ratio in ratios.values())


def _basis(findings: Findings) -> tuple[str, bool]:
    rows = findings.curve(paper.BASIS_CURVES, "rnn")
    sizes = sorted({row.prefixes for row in rows})
    if not {300, 400, 800} <= set(sizes):
        raise UnmeasuredError(f"{title_of(paper.BASIS_CURVES)} with bases of 300, 400 and 800")
    means = {
        size: float(np.mean([r.ndcg5 for r in choose(rows, prefixes=size, rank=range(20, 101))]))
        for size in sizes
    }
    texts = [f"{size}: {decimals(mean)}" for size, mean in means.items()]
    step, leap = abs(means[400] - means[300]), means[800] - means[400]
    return f"mean NDCG₅ over ranks 20 to 100, S_RNN: {', '.join(texts)}", leap > max(step, 0.0)


def _zeros(  # at large ranks, with the perplexity ratio there
    problem: str, fits: Callable[[float, float], bool]
) -> Callable[[Findings], tuple[str, bool | None]]:
    def check(findings: Findings) -> tuple[str, bool]:
        rows = choose(_largest(findings, problem), rank=range(80, 101))
        if not rows:
            raise UnmeasuredError(f"no ranks 80 to 100 of {title_of(problem)}")
        share = float(np.mean([row.zeros for row in rows]))
        ratio = float(np.median([row.perplexity_ratio for row in rows]))
        text = (
            f"{percent(share)} on average over ranks 80 to 100 (largest basis, S_RNN), "
            f"at a perplexity ratio of {decimals(ratio)}"
        )
        return text, fits(share, ratio)

    return check


def _drawn(findings: Findings) -> tuple[str, bool]:
    problem, basis, rank = paper.DRAWN[:3]
    rows = choose(findings.curve(problem, "test"), prefixes=basis, rank=rank)
    if not rows:
        raise UnmeasuredError(f"no rank {rank} of PAutomaC {problem} with a basis of {basis}")
    ratio, gain = rows[0].perplexity_ratio, rows[0].ndcg5
    text = f"perplexity ratio {decimals(ratio, 5)}, NDCG₅ {decimals(gain, 5)} on S_test"
    return text, min(ratio, gain) >= 0.99


CHECKS: dict[str, Callable[[Findings], tuple[str, bool | None]]] = {
    "Network and automaton are close in perplexity on all problems but two (9 and 18).": _near,
    "A large majority of problems has NDCG₅ above 0.9, about 70 % above 0.8.": _most_gain,
    "How close they are does not depend on how well the network has learnt.": _poor_networks,
    "On trucks, PAutomaC 37 and 3, 25 states are almost optimal.": _small_rank,
    "On SPiCe 4 a basis of 400 is no better than 300, but 800 is significantly better.": _basis,
    "On PAutomaC 37 almost no weight is negative, whatever the rank.": _zeros(
        "37", lambda share, ratio: share < 0.02
    ),
    "On PAutomaC 3 the share of negative weights settles around 10 %.": _zeros(
        "3", lambda share, ratio: 0.05 <= share <= 0.2
    ),
    "On trucks it ends above 40 %, and the perplexity is not affected.": _zeros(
        "trucks", lambda share, ratio: share > 0.4 and ratio >= CLOSE_RATIO
    ),
    "At rank 5 with a basis of 800, PAutomaC 24 has a ratio of 0.99849 and NDCG₅ 0.99848.": _drawn,
}
"""What the paper says, and how to look whether it is so."""


def _best(findings: Findings, which: str, metric: str) -> dict[str, Result]:
    rows = best(findings.pautomac(which), metric)
    if not rows:
        raise UnmeasuredError(f"PAutomaC on {SETS[which]}")
    return rows


def _largest(findings: Findings, problem: str) -> list[Result]:
    """Return the curve of a problem's largest basis on the network's words."""
    rows: Sequence[Result] = findings.curve(problem, "rnn")
    return [row for row in rows if row.prefixes == rows[-1].prefixes]


def _is_far(row: Result) -> bool:
    return row.perplexity_ratio < CLOSE_RATIO
