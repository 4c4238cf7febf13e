"""What the paper reports, to stand beside our own figures.

Ayache, Eyraud and Goudian: *Explaining Black Boxes on Sequential Data using Weighted Automata*
(ICGI 2018). ``paper.csv`` holds its two tables of best parameters (appendix), for 47 of the 48
problems of PAutomaC: problem 39 is not there. Rank and basis are those that are best on the
evaluation words themselves; a basis of 800 has 800 prefixes and 800 suffixes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from seqray.experiments.table import problem_order
from seqray.util.csv_table import csv_dicts

SOURCE = (
    "Ayache, Eyraud and Goudian: Explaining Black Boxes on Sequential Data using Weighted "
    "Automata, ICGI 2018"
)
BASES = (300, 400, 800, 1000, 1400)
"""Sizes of basis that occur in the paper; its tables name the last three only."""
RANKS = range(1, 101)
RANK_CURVES = ("trucks", "37", "3")
"""The problems whose perplexity the paper follows over the ranks, in its order."""
BASIS_CURVES = "spice4"
"""The problem on which the paper follows NDCG₅ over rank and basis."""
POOR_RATIOS = ("9", "18")
"""Problems on which the paper's automaton and network differ much in perplexity."""


class Drawn(NamedTuple):
    """The automaton that the paper draws in its appendix, and its figures.

    Examples
    --------
    >>> DRAWN.problem, DRAWN.rank
    ('24', 5)
    """

    problem: str = "24"
    basis: int = 800
    rank: int = 5
    perplexity_ratio: float = 0.99849
    ndcg5: float = 0.99848


DRAWN = Drawn()


class Published(NamedTuple):
    """The best values of the paper for a problem on one set of words.

    Examples
    --------
    >>> published("test")["24"].ndcg5
    0.99999
    """

    set: str
    problem: str
    ratio_rank: int
    ratio_basis: int
    perplexity_ratio: float
    zeros_percent: float
    """At the parameters with the best ratio."""
    ndcg_rank: int
    ndcg_basis: int
    ndcg5: float

    @property
    def zeros(self) -> float:
        """The share of words with a weight that is not positive."""
        return self.zeros_percent / 100


class ResultsSummary(NamedTuple):
    """Results of many problems in a few figures.

    Examples
    --------
    >>> results = summary([0.5, 0.95, 0.995], [0.98, 1.0, 1.005], [0.0, 0.1, 0.2])
    >>> results.above_90, results.above_99, results.within_1_percent
    (2, 1, 2)
    """

    n_problems: int
    ndcg5_mean: float
    ndcg5_least: float
    above_90: int
    above_99: int
    within_1_percent: int
    """Problems whose perplexity ratio is from 0.99 to 1.01."""
    at_least_99_percent: int
    """Problems whose perplexity ratio is 0.99 or more."""
    zeros_mean: float


@cache
def published(which: str) -> dict[str, Published]:
    """Return the paper's results on the test words (``"test"``) or the network's (``"rnn"``).

    Examples
    --------
    >>> len(published("rnn")), published("rnn")["9"].perplexity_ratio
    (47, 0.31197)
    """
    text = (files("seqray.experiments") / "paper.csv").read_text("utf-8")
    rows: dict[str, Published] = {}
    for row in csv_dicts(text):
        if row["set"] == which:
            rows[row["problem"]] = Published(
                row["set"],
                row["problem"],
                int(row["ratio_rank"]),
                int(row["ratio_basis"]),
                float(row["perplexity_ratio"]),
                float(row["zeros_percent"]),
                int(row["ndcg_rank"]),
                int(row["ndcg_basis"]),
                float(row["ndcg5"]),
            )
    return rows


def paper_problems() -> tuple[str, ...]:
    """Return the problems of the paper's tables.

    Examples
    --------
    >>> len(paper_problems()), "39" in paper_problems()
    (47, False)
    """
    return tuple(sorted(published("test"), key=problem_order))


def paper_summary(which: str) -> ResultsSummary:
    """Return the paper's results in a few figures.

    Examples
    --------
    >>> [round(paper_summary(which).ndcg5_mean, 3) for which in ("test", "rnn")]
    [0.864, 0.86]
    """
    rows = published(which).values()
    return summary(
        [row.ndcg5 for row in rows],
        [row.perplexity_ratio for row in rows],
        [row.zeros for row in rows],
    )


def summary(
    ndcg5: Iterable[float], ratios: Iterable[float], zeros: Iterable[float]
) -> ResultsSummary:
    """Put results of many problems in a few figures.

    Parameters
    ----------
    ndcg5, ratios, zeros
        One value per problem each.

    Examples
    --------
    >>> summary([1.0], [1.0], [0.25]).zeros_mean
    0.25
    """
    gains, near, none = (np.array(list(values), float) for values in (ndcg5, ratios, zeros))
    if not len(gains):
        return ResultsSummary(0, math.nan, math.nan, 0, 0, 0, 0, math.nan)
    # The paper's ratios have five digits: what is 1 % away must not fall out for its last bit.
    return ResultsSummary(
        len(gains),
        float(gains.mean()),
        float(gains.min()),
        int((gains > 0.9).sum()),
        int((gains > 0.99).sum()),
        int((np.abs(near - 1) <= 0.01 + 1e-9).sum()),
        int((near >= 0.99 - 1e-9).sum()),
        float(none.mean()),
    )
