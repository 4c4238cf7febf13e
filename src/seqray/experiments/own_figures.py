"""Figures of seqray's own method beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqray.experiments.findings import Findings, RoundReached
from seqray.experiments.own import (
    BEST,
    OWN,
    PUBLISHED,
    REFERENCE_BASIS,
    REFERENCE_SIZE,
    compared,
    methods,
)
from seqray.experiments.plots import (
    MATH,
    Drawing,
    NothingToDrawError,
    legend,
    line,
    mark,
    panels,
    values_of,
)
from seqray.experiments.table import SETS, best, choose
from seqray.util.arrays import FloatArray
from seqray.util.plots import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {PUBLISHED: ("D", GREY, -0.22), BEST: ("s", BLUE, 0.22), OWN: ("o", ORANGE, 0.0)}
"""Marker, colour and offset of each method, so that none hides another; only ours is filled."""
N_PROBLEMS = 47
"""The offsets are for so many problems; with fewer they shrink in proportion."""


def own(findings: Findings) -> Figure:
    """Draw NDCG₅ of the paper, of its method here and of our own, problem by problem."""
    names = compared(findings)
    if not names:
        raise NothingToDrawError("no results of PAutomaC by both methods in the table")
    figure, axes = panels(len(SETS), 1, width=11, height=6.4)
    for (ax,), which in zip(axes, SETS, strict=True):
        sides = methods(findings, which)
        order = np.argsort(sides[PUBLISHED].ndcg5, kind="stable")
        at = np.arange(len(order))
        shown = {name: sides[name].ndcg5[order] for name in LOOKS}
        every = np.array(list(shown.values()))
        ax.vlines(at, every.min(axis=0), every.max(axis=0), color="#CCCCCC", lw=1, zorder=1)
        for layer, (name, (marker, colour, aside)) in enumerate(LOOKS.items(), 2):
            face = colour if name == OWN else "white"
            where = at + aside * len(order) / N_PROBLEMS
            ax.plot(where, shown[name], marker, color=colour, mfc=face, ms=4, mew=1, zorder=layer)
        ax.set_title(f"NDCG₅ on {MATH[which]}")
        ax.set_xticks(at, [names[place] for place in order], fontsize=7)
        ax.set_xlim(-1, len(order))
        ax.grid(axis="x", visible=False)
    axes[-1][0].set_xlabel("problem, in the order of the paper's NDCG₅")
    legend(
        figure,
        mark("D", GREY, "paper, best rank and basis", hollow=True),
        mark("s", BLUE, "its method here, best rank and basis", hollow=True),
        mark("o", ORANGE, "seqray's own method, chosen on held-out words"),
    )
    return figure


def questions(findings: Findings) -> Figure:
    """Draw how NDCG₅ on held-out words grows with the queries, beside the paper's method."""
    rounds = {
        problem: one for problem, one in findings.rounds.items() if problem.isdecimal() and one
    }
    if not rounds:
        raise NothingToDrawError("no results of PAutomaC by seqray's own method in the table")
    figure, axes = panels(1, 1, width=8.5, height=4.8)
    ax = axes[0][0]
    for one in rounds.values():
        x, y = values_of(one, "questions"), values_of(one, "ndcg5")
        ax.plot(x, y, color=ORANGE, lw=0.7, alpha=0.6, zorder=2)
    ax.plot(*middle(list(rounds.values())), "o-", color="black", lw=2.4, ms=5, zorder=4)
    rows = choose(findings.pautomac("rnn"), prefixes=REFERENCE_SIZE, problem=set(rounds))
    theirs = list(best(rows, "ndcg5").values())
    x, y = values_of(theirs, "steps"), values_of(theirs, "ndcg5")
    ax.plot(x, y, "s", color=BLUE, mfc="white", ms=4, mew=1, zorder=3)
    ax.set_xscale("log")
    ax.set_title(f"NDCG₅ on words from the network, {len(rounds)} problems")
    ax.set_xlabel("questions: steps of the network")
    legend(
        figure,
        line(ORANGE, "seqray's own, a problem", "-", width=0.8),
        line("black", "medians of each round", "-", width=2.4),
        mark(
            "s",
            BLUE,
            f"the paper's method at {REFERENCE_BASIS}, best rank",
            hollow=True,
        ),
    )
    return figure


def middle(curves: Sequence[Sequence[RoundReached]]) -> tuple[FloatArray, FloatArray]:
    """Return the medians of each round: queries, and NDCG₅.

    Where there are fewer rounds than elsewhere, the last one stands for those that are missing.

    Examples
    --------
    >>> curves = [[(10, 0.5), (40, 0.9)], [(12, 0.7)], [(9, 0.6)]]
    >>> curves = [[RoundReached(*each) for each in rounds] for rounds in curves]
    >>> middle(curves)
    (array([10., 12.]), array([0.6, 0.7]))
    """
    n_rounds = max(map(len, curves))
    whole = [[*one, *[one[-1]] * (n_rounds - len(one))] for one in curves]
    queries, reached = np.median(whole, axis=0).T
    return queries, reached


OWN_DRAWINGS = (
    Drawing(
        "own",
        "Problem by problem",
        "NDCG₅ on both sets of words: what the paper published, what its method reaches on the "
        "networks here, both with rank and basis picked on these very words, and seqray's own "
        "method, with nothing picked on them.",
        own,
    ),
    Drawing(
        "questions",
        "Fidelity and questions",
        "NDCG₅ of seqray's own method on held-out words after each round of queries, one thin line "
        "per problem, and the medians of each round over the problems. The squares are the paper's "
        f"method with a basis of {REFERENCE_BASIS}: the steps it takes, and its best NDCG₅ of all "
        "ranks on S_RNN, words that come from the network too.",
        questions,
    ),
)
"""The figures of seqray's own method, in the order of the report."""
