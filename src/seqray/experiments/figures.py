"""The paper's figures from our results: rows of the tidy table in, matplotlib figures out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from seqray.experiments import paper
from seqray.experiments.findings import Findings, title_of
from seqray.experiments.plots import (
    MATH,
    Drawing,
    NothingToDrawError,
    legend,
    line,
    mark,
    needed,
    panels,
    values_of,
)
from seqray.experiments.table import SETS, Result, best, held_out, matching
from seqray.util.arrays import FloatArray
from seqray.util.plots import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE_COLOURS = ("#8FBFDD", "#6BAED6", "#3F93C6", "#1F6AA5", "#08306B")
"""From light to dark, for sizes that grow."""
SIZE_DASHES = ((0, (1, 1)), (0, (3, 1)), (0, (5, 1, 1, 1)), (0, (6, 1)), "solid")
Rungs: TypeAlias = dict[int, tuple[str, Any]]
"""The colour and dashes of each size of basis."""
DECILES = np.linspace(0, 1, 11)
SET_MARKS = (("test", BLUE, "o"), ("rnn", ORANGE, "s"))
LABELS = {
    "ndcg1": "NDCG₁",
    "ndcg5": "NDCG₅",
    "perplexity_ratio": "perplexity ratio",
    "kl": "the paper's KL, in bits",
    "wer": "word error rate",
    "zeros": "weights not positive, %",
}


# The figures --------------------------------------------------------------------------------------


def overview(findings: Findings) -> Figure:
    """Draw the best ratio and NDCG₅ over the problems, on both sets of words."""
    ratios = {which: best(findings.pautomac(which), "perplexity_ratio") for which in SETS}
    gains = {which: best(findings.pautomac(which), "ndcg5") for which in SETS}
    return _four_panels(findings, ratios, gains, {which: paper.published(which) for which in SETS})


def at_best(criterion: str, which: str) -> Callable[[Findings], Figure]:
    """Return what draws both metrics on both sets at the best parameters of one criterion."""

    def make(findings: Findings) -> Figure:
        chosen = best(findings.pautomac(which), criterion).values()
        there = {other: matching(chosen, findings.pautomac(other)) for other in SETS}
        return _four_panels(findings, there, there, {other: {} for other in SETS})

    return make


def beside_paper(findings: Findings) -> Figure:
    """Draw our NDCG₅ and ratio and the paper's, problem by problem, by the paper's NDCG₅."""
    figure, axes = panels(2, 2, width=11, height=6.4)
    for row, which in enumerate(SETS):
        theirs = paper.published(which)
        order = sorted(theirs, key=lambda problem: theirs[problem].ndcg5)
        for column, metric in enumerate(("ndcg5", "perplexity_ratio")):
            ours = needed(best(findings.pautomac(which), metric), f"PAutomaC on {SETS[which]}")
            ax = axes[row][column]
            there = values_of([theirs[problem] for problem in order], metric)
            none = Result("", "", 0, 0, 0, which, "all")
            here = values_of([ours.get(problem, none) for problem in order], metric)
            at = np.arange(len(order))
            ax.vlines(at, there, here, color="#BBBBBB", lw=1, zorder=1)
            ax.plot(at, there, "D", color=GREY, ms=4, mfc="white", mew=1, zorder=2)
            ax.plot(at, here, "o", color=BLUE, ms=4, zorder=3)
            ax.set_title(f"{LABELS[metric]} on {MATH[which]}")
            ax.set_xticks(at, order, fontsize=6, rotation=90)
            ax.set_xlim(-1, len(order))
            ax.grid(axis="x", visible=False)
            if metric == "perplexity_ratio":
                _ratio_axis(ax)
    for ax in axes[1]:
        ax.set_xlabel("problem, in the order of the paper's NDCG₅")
    legend(
        figure,
        mark("o", BLUE, "here, best rank and basis"),
        mark("D", GREY, "paper, best rank and basis", hollow=True),
    )
    return figure


def rank_curves(findings: Findings) -> Figure:
    """Draw the perplexity of the automata over their rank, on the network's own words."""
    figure, axes = panels(1, len(paper.RANK_CURVES), width=11, height=3.5)
    curves, rungs = _from_rank_5(findings)
    for ax, (problem, rows) in zip(axes[0], curves.items(), strict=True):
        level = findings.boxes[problem].perplexity_rnn if problem in findings.boxes else np.nan
        ax.set_ylabel("perplexity" if np.isfinite(level) else "perplexity, the RNN's is 1")
        level = level if np.isfinite(level) else 1.0
        _ladder(ax, rungs, rows, level / values_of(rows, "perplexity_ratio"))
        ax.axhline(level, color=ORANGE, lw=1.4, ls="--", zorder=4)
        _above(ax, level)
        ax.set_title(title_of(problem))
        ax.set_xlabel("rank")
    legend(figure, *_rung_lines(rungs), line(ORANGE, "the RNN itself", "--"))
    return figure


def basis_curves(findings: Findings) -> Figure:
    """Draw NDCG₅ over rank on SPiCe 4, a curve for each size of basis."""
    figure, axes = panels(1, 2, width=11, height=3.8, sharey=True)
    curves = {which: _curve(findings, paper.BASIS_CURVES, which) for which in SETS}
    rungs = _rungs(row.prefixes for rows in curves.values() for row in rows)
    for ax, (which, rows) in zip(axes[0], curves.items(), strict=True):
        _ladder(ax, rungs, rows, values_of(rows, "ndcg5"))
        ax.set_title(f"{title_of(paper.BASIS_CURVES)} on {MATH[which]}")
        ax.set_xlabel("rank")
    axes[0][0].set_ylabel(LABELS["ndcg5"])
    legend(figure, *_rung_lines(rungs))
    return figure


def zeros_curves(findings: Findings) -> Figure:
    """Draw perplexity ratio, KL and the share of zeros over rank, on the network's own words.

    The smallest and the largest basis only: more would hide each other.
    """
    metrics = ("perplexity_ratio", "kl", "zeros")
    figure, axes = panels(3, len(paper.RANK_CURVES), width=11, height=7, sharex=True)
    curves, rungs = _from_rank_5(findings)
    rungs = {size: look for size, look in rungs.items() if size in (min(rungs), max(rungs))}
    for column, (problem, rows) in enumerate(curves.items()):
        for ax, metric in zip(axes[:, column], metrics, strict=True):
            _ladder(ax, rungs, rows, (100 if metric == "zeros" else 1) * values_of(rows, metric))
            ax.set_ylabel(LABELS[metric] if column == 0 else "")
        _ratio_axis(axes[0, column])
        _above(axes[1, column], 0.0)
        axes[2, column].set_ylim(0, max(1.0, axes[2, column].get_ylim()[1]))
        axes[0, column].set_title(title_of(problem))
        axes[-1, column].set_xlabel("rank")
    legend(figure, *_rung_lines(rungs))
    return figure


def errors(findings: Findings) -> Figure:
    """Draw the best word error rate beside the network's, and NDCG₁ in deciles."""
    figure, axes = panels(2, 2, width=11, height=6, ratios=(2, 1))
    for row, which in enumerate(SETS):
        rates = needed(best(findings.pautomac(which), "wer"), f"PAutomaC on {SETS[which]}")
        ax = axes[row][0]
        boxes = {problem: box for problem, box in findings.boxes.items() if problem in rates}
        _points(ax, boxes, f"wer_box_{which}", "s", ORANGE, hollow=True)
        _points(ax, rates, "wer", "o", BLUE)
        ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
        ax.set_title(f"word error rate on {MATH[which]}")
        gains = best(findings.pautomac(which), "ndcg1")
        _deciles(axes[row][1], {"here": values_of(list(gains.values()), "ndcg1")})
        axes[row][1].set_title(f"NDCG₁ on {MATH[which]}")
    axes[1][0].set_xlabel("problem")
    axes[1][1].set_xlabel("NDCG₁")
    handles = [mark("o", BLUE, "automaton, best rank and basis")]
    legend(figure, *handles, mark("s", ORANGE, "the RNN itself", hollow=True))
    return figure


def selections(findings: Findings) -> Figure:
    """Draw what choosing the rank on held-out words costs, against the best on the words."""
    figure, axes = panels(1, 2, width=9, height=4.6)
    for ax, metric in zip(axes[0], ("ndcg5", "perplexity_ratio"), strict=True):
        for which, colour, marker in SET_MARKS:
            top, fair = best(findings.pautomac(which), metric), held_out(findings.pautomac(which))
            needed(fair, f"a rank chosen on held-out words, on {SETS[which]},")
            shared = sorted(set(top) & set(fair))
            x, y = (
                values_of([rows[problem] for problem in shared], metric) for rows in (top, fair)
            )
            ax.plot(x, y, marker, color=colour, ms=5, mfc="none", mew=1.2)
        low = min(ax.get_xlim()[0], ax.get_ylim()[0])
        high = max(ax.get_xlim()[1], ax.get_ylim()[1])
        ax.plot([low, high], [low, high], color=GREY, lw=0.8, zorder=0)
        ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        ax.set_title(LABELS[metric])
        ax.set_xlabel("best on the evaluation words")
    axes[0][0].set_ylabel("chosen on held-out words")
    legend(figure, *(mark(m, c, MATH[w], hollow=True) for w, c, m in SET_MARKS))
    return figure


DRAWINGS = (
    Drawing(
        "overview",
        "Figure 2",
        "Perplexity ratio and NDCG₅ of the best automaton of each PAutomaC problem, rank and basis "
        "picked on the evaluation words, as the paper does. Left: above, Perp(target, RNN) / "
        "Perp(target, WA), and as squares how good the RNN is, Perp(target, target) / Perp(target, "
        "RNN); below, Perp(RNN, RNN) / Perp(RNN, WA). Right: problems in each tenth of NDCG₅.",
        overview,
    ),
    Drawing(
        "beside-paper",
        "Tables of best parameters",
        "Each problem's best NDCG₅ and perplexity ratio, ours and the paper's. The networks are "
        "not the same: only the method and the data are.",
        beside_paper,
    ),
    Drawing(
        "ranks",
        "Figure 3",
        "Perplexity(RNN, WA) on the RNN's own words over the rank, from rank 5 on as in the paper. "
        "What is far above is cut. Both sides are normalised over the words, as in PAutomaC; the "
        "paper's levels (1.25 for its RNN on trucks) seem not to be, so that shapes can be "
        "compared, not levels.",
        rank_curves,
    ),
    Drawing(
        "basis",
        "Figure 4",
        "Influence of rank and size of basis on NDCG₅, SPiCe 4.",
        basis_curves,
    ),
    Drawing(
        "zeros",
        "Appendix, negative weights",
        "Perplexity ratio, KL divergence and share of words whose weight is not positive, over "
        "the rank, on the RNN's own words.",
        zeros_curves,
    ),
    Drawing(
        "errors",
        "Appendix, WER and NDCG₁",
        "The best word error rate of each problem, beside that of the RNN, and the best NDCG₁ in "
        "tenths.",
        errors,
    ),
    *(
        Drawing(
            f"at-best-{short}-{which}",
            "Appendix, metrics for best parameters",
            f"As the first figure, but at the parameters with the best {LABELS[metric]} on "
            f"{SETS[which]} alone.",
            at_best(metric, which),
        )
        for which in SETS
        for short, metric in (("ratio", "perplexity_ratio"), ("ndcg", "ndcg5"))
    ),
    Drawing(
        "selections",
        "not in the paper",
        "The price of an honest choice: each problem's NDCG₅ and ratio with the rank chosen on "
        "held-out words and the largest basis, against the best of all ranks and bases on the "
        "evaluation words themselves.",
        selections,
    ),
)
"""Every figure, in the order of the report."""


# What figures share -------------------------------------------------------------------------------


def _four_panels(
    findings: Findings,
    ratios: Mapping[str, Mapping[str, Result]],
    gains: Mapping[str, Mapping[str, Result]],
    theirs: Mapping[str, Mapping[str, paper.Published]],
) -> Figure:
    figure, axes = panels(2, 2, width=11, height=6, ratios=(2, 1))
    handles = [mark("o", BLUE, "RNN / automaton")]
    for row, which in enumerate(SETS):
        ours = needed(ratios[which], f"PAutomaC on {SETS[which]}")
        ax = axes[row][0]
        if which == "test":
            boxes = {problem: box for problem, box in findings.boxes.items() if problem in ours}
            _points(ax, boxes, "quality", "s", ORANGE, hollow=True)
        _points(ax, theirs[which], "perplexity_ratio", "D", GREY, hollow=True)
        _points(ax, ours, "perplexity_ratio", "o", BLUE)
        _ratio_axis(ax)
        ax.set_title(f"perplexity ratio on {MATH[which]}")
        shown = {"here": values_of(list(gains[which].values()), "ndcg5")}
        if theirs[which]:
            shown["paper"] = values_of(list(theirs[which].values()), "ndcg5")
        _deciles(axes[row][1], shown)
        axes[row][1].set_title(f"NDCG₅ on {MATH[which]}")
    axes[1][0].set_xlabel("problem")
    axes[1][1].set_xlabel("NDCG₅")
    if findings.boxes:
        handles.append(mark("s", ORANGE, "target / RNN", hollow=True))
    if theirs["test"]:
        handles.append(mark("D", GREY, "RNN / automaton in the paper", hollow=True))
        axes[0][1].legend(loc="upper left")
    legend(figure, *handles)
    return figure


def _points(
    ax: Axes, rows: Mapping[str, Any], name: str, marker: str, colour: str, *, hollow: bool = False
) -> None:
    """Draw a value for each numbered problem."""
    at = sorted(int(problem) for problem in rows)
    values = values_of([rows[str(number)] for number in at], name)
    face = "none" if hollow else colour
    ax.plot(at, values, marker, color=colour, mfc=face, ms=5 if hollow else 4, mew=1.1)
    if at:
        last = int(max(at[-1], ax.dataLim.x1))
        ax.set_xlim(0, last + 1)
        ax.set_xticks([1, *range(4, last + 1, 4)] if last > 12 else range(1, last + 1))


def _ladder(ax: Axes, rungs: Rungs, rows: Sequence[Result], values: FloatArray) -> None:
    """Draw a curve over the ranks for each size of basis, the largest darkest."""
    ranks, sizes = (values_of(rows, name) for name in ("rank", "prefixes"))
    for size, (colour, dashes) in rungs.items():
        if (here := sizes == size).any():
            ax.plot(ranks[here], values[here], color=colour, ls=dashes, lw=1.3)


def _rungs(sizes: Iterable[int]) -> Rungs:
    """Say how the curve of each size looks: the larger, the darker."""
    order = sorted(set(sizes))[-len(SIZE_COLOURS) :]
    steps = np.linspace(len(SIZE_COLOURS) - 1, 0, len(order)).round().astype(int)[::-1]
    return {
        size: (SIZE_COLOURS[at], SIZE_DASHES[at]) for size, at in zip(order, steps, strict=True)
    }


def _rung_lines(rungs: Rungs) -> list[Any]:
    return [line(colour, f"basis {size}", dashes) for size, (colour, dashes) in rungs.items()]


def _from_rank_5(findings: Findings) -> tuple[dict[str, list[Result]], Rungs]:
    """Return the curves of the paper's three problems on the network's words, and their looks."""
    curves = {
        problem: [row for row in _curve(findings, problem, "rnn") if row.rank >= 5]
        for problem in paper.RANK_CURVES
    }
    return curves, _rungs(row.prefixes for rows in curves.values() for row in rows)


def _deciles(ax: Axes, values: Mapping[str, FloatArray]) -> None:
    """Count problems in each tenth, side by side."""
    width = 0.088 / len(values)
    for at, (name, numbers) in enumerate(values.items()):
        counts, _ = np.histogram(np.clip(numbers, 0, 1), DECILES)
        look: dict[str, Any] = {"color": BLUE}
        if at:
            look = {"color": "white", "edgecolor": GREY, "hatch": "///"}
        left = DECILES[:-1] + 0.006 + at * width
        label = f"{name}, {len(numbers)} problems"
        bars = ax.bar(left, counts, width, align="edge", label=label, lw=0.8, **look)
        ax.bar_label(bars, [str(n) if n else "" for n in counts], fontsize=7, padding=1)
    ax.set_xticks(DECILES[::2])
    ax.set_xlim(0, 1)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("problems")
    ax.locator_params(axis="y", integer=True)


def _ratio_axis(ax: Axes) -> None:
    """Keep a ratio's axis around 1, and mark 1."""
    low, high = ax.get_ylim()
    ax.axhline(1, color="black", lw=0.7, zorder=0)
    ax.set_ylim(max(0.0, min(low, 0.97)), max(min(high, 1.3), 1.01))


def _above(ax: Axes, level: float) -> None:
    """Show curves that come down to a level; what is far above is cut, or the scale is bent."""
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.get_lines()])
    usual = np.quantile(values[np.isfinite(values)], 0.9)
    if level > 0 and usual > 20 * level:
        ax.set_yscale("log")
        ax.set_ylim(level / 1.5, min(float(np.nanmax(values)), 1e6 * level))
        return
    room = max(usual - level, 1e-3 * max(abs(level), 1e-3))
    ax.set_ylim(level - 0.08 * room, level + 1.35 * room)


def _curve(findings: Findings, problem: str, which: str) -> list[Result]:
    if rows := findings.curve(problem, which):
        return rows
    raise NothingToDrawError(f"no results of {title_of(problem)} on {SETS[which]} in the table")
