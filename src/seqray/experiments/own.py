"""Seqray's own method beside the paper's: what it reaches, and with how many queries.

The paper's published values are its best: rank and basis picked on the evaluation words. Its method
on the networks here stands there twice: picked like that, and with the rank chosen on held-out
words at the largest basis. Seqray's own method chooses a rank, or a copy where one is nearer to the
network, on words that it holds out.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from seqray.experiments import paper
from seqray.experiments.findings import Findings, title_of
from seqray.experiments.statements import listed
from seqray.experiments.table import SETS, Result, best, choose, held_out, problem_order
from seqray.experiments.tables import markdown, marked
from seqray.util.arrays import FloatArray
from seqray.util.formatting import decimals, percent

REFERENCE_SIZE = 800
"""The size of the paper's basis with whose steps of the network ours are compared."""
REFERENCE_BASIS = f"{REFERENCE_SIZE} × {REFERENCE_SIZE}"
MAX_STEPS_SHARE, REACHING_STEPS_SHARE = 0.2, 0.02
"""The share of these steps to take at most, and to be enough for the paper's NDCG₅."""
MIN_MEAN_NDCG5, MIN_NDCG5 = 0.993, 0.95
"""NDCG₅ to reach on average, and on every problem."""
MAX_ZEROS = 0.02
"""The share of weights that may be not positive."""
MAX_BELOW_PAPER, MAX_RATIO_MISSES = 1, {"test": 3, "rnn": 1}
"""On how many problems NDCG₅ may be below the paper's, and the ratio not within 1 % of 1."""
PUBLISHED, OWN = "paper", "seqray's own"
BEST, HELD_OUT = "its method here, best", "its method here, held-out"
"""The methods that are compared."""


class MethodResults(NamedTuple):
    """What a method reaches on one set of words: one value per problem of `compared`."""

    ndcg5: FloatArray
    ratios: FloatArray
    zeros: FloatArray
    steps: FloatArray
    """Of the network; not a number where nobody says."""

    @property
    def summary(self) -> paper.ResultsSummary:
        """All but the steps in a few figures."""
        return paper.summary(self.ndcg5, self.ratios, self.zeros)


class Criterion(NamedTuple):
    """What seqray's own method should reach, what it reaches, and whether that is enough."""

    text: str
    reached: str
    holds: bool


def compared(findings: Findings) -> list[str]:
    """Return the problems that the paper has, and both methods here, on both sets of words.

    Examples
    --------
    >>> theirs, own = (
    ...     [Result("3", method, 800, 800, 7, which, selection) for which in SETS]
    ...     for method, selection in (("paper", "all"), ("auto", "held-out"))
    ... )
    >>> compared(Findings(theirs, own=own)), compared(Findings(theirs))
    (['3'], [])
    """
    names = set(paper.paper_problems())
    for which in SETS:
        names &= {row.problem for row in findings.pautomac(which)} & set(
            findings.own_choices(which)
        )
    return sorted(names, key=problem_order)


def methods(findings: Findings, which: str) -> dict[str, MethodResults]:
    """Return what each method reaches on one set of words.

    Parameters
    ----------
    findings
        The results.
    which
        The set of words, ``"test"`` or ``"rnn"``.

    Examples
    --------
    >>> list(methods(Findings([]), "test"))
    ['paper', 'its method here, best', 'its method here, held-out', "seqray's own"]
    """
    names, rows, theirs = compared(findings), findings.pautomac(which), paper.published(which)
    gains, ratios = best(rows, "ndcg5"), best(rows, "perplexity_ratio")
    fair, own = held_out(rows), findings.own_choices(which)
    return {
        PUBLISHED: MethodResults(
            np.array([theirs[name].ndcg5 for name in names]),
            np.array([theirs[name].perplexity_ratio for name in names]),
            np.array([theirs[name].zeros for name in names]),
            np.full(len(names), math.nan),
        ),
        BEST: _method(names, gains, ratios),
        HELD_OUT: _method(names, fair, fair),
        OWN: _method(names, own, own),
    }


def paper_steps(findings: Findings) -> dict[str, int]:
    """Return the steps of the network that the paper's method takes at 800 × 800, by problem.

    Examples
    --------
    >>> paper_steps(Findings([Result("3", "paper", 800, 800, 1, "test", "all", steps=5000)]))
    {'3': 5000}
    """
    return {
        row.problem: row.steps
        for row in choose(findings.rows, prefixes=REFERENCE_SIZE, suffixes=REFERENCE_SIZE)
    }


def reaching(findings: Findings) -> dict[str, float]:
    """Return with how many queries each problem reaches the best NDCG₅ that the paper published.

    Returns
    -------
    shares
        By problem, of the steps that the paper's method takes at 800 × 800; infinity where it is
        not reached. NDCG₅ is that on held-out words, drawn from the network as those of S_RNN, so
        it is compared with the paper's value there.

    Examples
    --------
    >>> rounds = [{"questions": 50, "ndcg5": 0.5}, {"questions": 250, "ndcg5": 0.99}]
    >>> rows = [Result("35", "paper", 800, 800, 1, "test", "all", steps=5000)]
    >>> reaching(Findings(rows, about={"pautomac": {"rounds": {"35": rounds}}}))
    {'35': 0.01}
    """
    theirs = {**paper.published("test"), **paper.published("rnn")}
    steps, shares = paper_steps(findings), {}
    for problem, rounds in sorted(findings.rounds.items(), key=lambda item: problem_order(item[0])):
        if problem in theirs and problem in steps:
            enough = (one.questions for one in rounds if one.ndcg5 >= theirs[problem].ndcg5)
            shares[problem] = next(enough, math.inf) / steps[problem]
    return shares


# Tables -------------------------------------------------------------------------------------------


def own_summary_table(findings: Findings) -> str:
    """Return the few figures of all methods on both sets, side by side.

    Examples
    --------
    >>> print(own_summary_table(Findings([])).splitlines()[2])
    | problems | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
    """
    reference = _reference(findings)
    header, columns = [""], []
    for which in SETS:
        sides = methods(findings, which)
        for name, method in sides.items():
            header.append(f"{SETS[which]}: {name}")
            above = int((method.ndcg5 > sides[PUBLISHED].ndcg5).sum())
            one = method.summary
            columns.append(
                [
                    str(one.n_problems),
                    *(decimals(one.ndcg5_mean), decimals(one.ndcg5_least)),
                    *(str(one.above_90), str(one.above_99)),
                    "–" if name == PUBLISHED else str(above),
                    *(str(one.within_1_percent), percent(one.zeros_mean)),
                    *(
                        count_cell(_median(method.steps)),
                        percent(_median(method.steps / reference)),
                    ),
                ]
            )
    names = [
        *("problems", "NDCG₅, mean", "NDCG₅, smallest", "NDCG₅ above 0.9", "NDCG₅ above 0.99"),
        *("NDCG₅ above the paper's", "perplexity ratio within 1 % of 1"),
        *("weights not positive, mean", "steps of the network, median"),
        f"… as a share of the paper's method at {REFERENCE_BASIS}, median",
    ]
    return markdown(header, zip(names, *columns, strict=True))


def own_table(findings: Findings) -> str:
    """Return each problem's NDCG₅ by every method, and what seqray's own method took for it.

    Examples
    --------
    >>> own = [Result("3", "auto", 1500, 50, 7, "test", "held-out", ndcg5=0.9, steps=5000)]
    >>> own_table(Findings([], own=own)).splitlines()[2].split(" | ")[5:8]
    ['7', '0.9000', '–']
    """
    steps = paper_steps(findings)
    own = {which: findings.own_choices(which) for which in SETS}
    here = {which: best(choose(findings.rows, set=which), "ndcg5") for which in SETS}
    lines = []
    for problem in sorted({*own["test"], *own["rnn"]}, key=problem_order):
        one = own["test"].get(problem) or own["rnn"][problem]
        share = one.steps / steps[problem] if problem in steps else math.nan
        theirs = [paper.published(which).get(problem) for which in SETS]
        lines.append(
            [
                marked(problem) if problem.isdecimal() else title_of(problem),
                *(decimals(row.ndcg5 if row else math.nan, 4) for row in theirs),
                *value_cells(here.values(), problem, "ndcg5"),
                str(one.rank),
                *value_cells(own.values(), problem, "ndcg5"),
                *value_cells(own.values(), problem, "perplexity_ratio"),
                *(percent(of[problem].zeros) if problem in of else "–" for of in own.values()),
                *(f"{one.steps:,}", percent(share)),
            ]
        )
    header = ["problem", "paper: S_test", "S_RNN", "its method here: S_test", "S_RNN"]
    header += ["own: states", "NDCG₅ S_test", "S_RNN", "ratio S_test", "S_RNN"]
    return markdown(
        [*header, "zeros S_test", "S_RNN", "steps", f"of {REFERENCE_BASIS}"],
        lines,
    )


def queries_text(findings: Findings) -> str:
    """Say with how many queries seqray's own method reaches the paper's published values.

    Examples
    --------
    >>> queries_text(Findings([]))
    'How its fidelity grows with the number of queries was not measured.'
    """
    shares = reaching(findings)
    if not shares:
        return "How its fidelity grows with the number of queries was not measured."
    never = [problem for problem, share in shares.items() if math.isinf(share)]
    rest = "Every problem reaches it."
    if never:
        rest = f"On {len(never)} of them ({listed(never)}) no round does, which counts as ∞."
    return (
        "It queries the network in rounds, each with about four times as many steps as the one "
        "before. The first round whose NDCG₅ on held-out words reaches the best value that the "
        f"paper published on S_RNN takes, in the median over {len(shares)} problems, "
        f"{percent(float(np.median(list(shares.values()))))} of the steps that the paper's method "
        f"takes at {REFERENCE_BASIS}, all rounds before it included. {rest}"
    )


# Criteria -----------------------------------------------------------------------------------------


def criteria(findings: Findings) -> list[Criterion]:
    """Return the criteria for seqray's own method, and whether they hold.

    Examples
    --------
    >>> criteria(Findings([]))
    []
    """
    names = compared(findings)
    if not names:
        return []
    sides = {which: methods(findings, which) for which in SETS}
    own = {which: side[OWN] for which, side in sides.items()}
    most = len(names) - MAX_BELOW_PAPER
    criteria_met = [
        Criterion(
            f"NDCG₅ is {MIN_MEAN_NDCG5} or more on average.",
            *_checked_on_both(
                {which: method.ndcg5.mean() for which, method in own.items()},
                MIN_MEAN_NDCG5,
                lambda value: decimals(value, 4),
            ),
        ),
        Criterion(f"NDCG₅ is {MIN_NDCG5} or more on every problem.", *_every(sides, names)),
        Criterion(
            f"NDCG₅ is above the paper's on all problems but {MAX_BELOW_PAPER}.",
            *_above(sides, names, most),
        ),
        Criterion(
            "The perplexity ratio is within 1 % of 1 on all problems but "
            f"{MAX_RATIO_MISSES['test']} on S_test and {MAX_RATIO_MISSES['rnn']} on S_RNN.",
            *_ratios(own, names),
        ),
        Criterion(
            f"{percent(MAX_ZEROS)} of the weights or less are not positive, on average.",
            *_checked_on_both(
                {which: method.zeros.mean() for which, method in own.items()},
                MAX_ZEROS,
                percent,
                operator.le,
            ),
        ),
    ]
    share = _median(sides["test"][OWN].steps / _reference(findings))
    if math.isfinite(share):
        criteria_met.append(
            Criterion(
                f"It takes at most {percent(MAX_STEPS_SHARE)} of the steps of the network that the "
                f"paper's method takes at {REFERENCE_BASIS}, in the median over the problems.",
                percent(share),
                share <= MAX_STEPS_SHARE,
            )
        )
    if shares := list(reaching(findings).values()):
        middle = float(np.median(shares))
        criteria_met.append(
            Criterion(
                f"{100 * REACHING_STEPS_SHARE:.0f} % of these steps are enough for the paper's "
                "NDCG₅, in the median over the problems.",
                percent(middle),
                middle <= REACHING_STEPS_SHARE,
            )
        )
    return criteria_met


Sides = Mapping[str, Mapping[str, MethodResults]]
"""All methods, by set of words."""


def _checked_on_both(
    values: Mapping[str, float],
    bound: float,
    show: Callable[[float], str],
    holds: Callable[[float, float], bool] = operator.ge,
) -> tuple[str, bool]:
    """Show a value on both sets, and say whether it holds on both."""
    text = _on_both(show(value) for value in values.values())
    return text, all(holds(value, bound) for value in values.values())


def _above(sides: Sides, names: list[str], enough: int) -> tuple[str, bool]:
    texts, holds = [], True
    for method in sides.values():
        gaps = method[OWN].ndcg5 - method[PUBLISHED].ndcg5
        below = [name for name, gap in zip(names, gaps, strict=True) if not gap > 0]
        text = f"{len(names) - len(below)} of {len(names)}"
        if below:
            text += f", not on {listed(below)} (at most {decimals(-gaps.min(), 4)} below)"
        texts.append(text)
        holds &= len(names) - len(below) >= enough
    return _on_both(texts), holds


def _ratios(own: Mapping[str, MethodResults], names: list[str]) -> tuple[str, bool]:
    """Say where the perplexity ratio is within 1 % of 1, and which are above it."""
    texts, holds = [], True
    for which, method in own.items():
        text = str(method.summary.within_1_percent)
        above = [n for n, ratio in zip(names, method.ratios, strict=True) if ratio > 1.01]
        texts.append(f"{text} (above: {listed(above)})" if above else text)
        misses = len(names) - method.summary.within_1_percent
        holds &= misses <= MAX_RATIO_MISSES[which]
    return _on_both(texts), holds


def _every(sides: Sides, names: list[str]) -> tuple[str, bool]:
    least = {which: int(method[OWN].ndcg5.argmin()) for which, method in sides.items()}
    values = [float(sides[which][OWN].ndcg5[at]) for which, at in least.items()]
    places = [names[at] for at in least.values()]
    texts = [
        f"smallest {decimals(value, 4)} (problem {name})"
        for value, name in zip(values, places, strict=True)
    ]
    return _on_both(texts), min(values) >= MIN_NDCG5


# Helpers ------------------------------------------------------------------------------------------


def _method(
    names: list[str], gains: Mapping[str, Result], ratios: Mapping[str, Result]
) -> MethodResults:
    """Return NDCG₅ and steps of some rows, ratios and zeros of others."""

    def of(rows: Mapping[str, Result], metric: str) -> FloatArray:
        return np.array([getattr(rows[n], metric) if n in rows else math.nan for n in names], float)

    return MethodResults(
        of(gains, "ndcg5"), of(ratios, "perplexity_ratio"), of(ratios, "zeros"), of(gains, "steps")
    )


def _reference(findings: Findings) -> FloatArray:
    steps = paper_steps(findings)
    return np.array([steps.get(problem, math.nan) for problem in compared(findings)], float)


def _on_both(texts: Iterable[str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in zip(SETS.values(), texts, strict=True))


def value_cells(of: Iterable[Mapping[str, Result]], problem: str, metric: str) -> list[str]:
    """Return the cells of a metric, one for each of some sets of rows."""
    return [
        decimals(getattr(rows[problem], metric) if problem in rows else math.nan, 4) for rows in of
    ]


def _median(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


def count_cell(value: float) -> str:
    """Return the cell of a count, a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:,.0f}"
