"""Plots of extractions, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqray.extraction.structured.copies import Copy
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.util.arrays import FloatArray
from seqray.util.plots import BLUE, GREY, ORANGE, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_SCALE_RATIO = 30.0
"""An axis is logarithmic where its largest value is so many times the smallest."""


def plot_fidelity(
    table: FidelityTable,
    copies: Sequence[Copy],
    chosen: int,
    *,
    metric: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot fidelity against the number of states; see `Extraction.plot_fidelity`."""
    by_size = [(copy.n_states, copy.fidelity) for copy in copies if _has(copy.fidelity, metric)]
    with axes(ax) as on:
        ranks = np.array(table.ranks)
        values = np.array([_value(each, metric) for each in table.fidelities])
        on.plot(ranks, values, color=BLUE, marker=".", ms=4, lw=1.2, label="ranks")
        _intervals(on, list(table.items()), metric, BLUE)
        if by_size:
            sizes, ours = [n for n, _ in by_size], [_value(each, metric) for _, each in by_size]
            on.plot(sizes, ours, color=ORANGE, marker="s", ms=4, ls="--", lw=1.0, label="copies")
            _intervals(on, by_size, metric, ORANGE)
            values = np.append(values, ours)
        at = table.ranks.index(chosen)
        on.axvline(chosen, color=GREY, lw=0.8, ls=":")
        on.plot([chosen], [values[at]], "o", mfc="none", mec=GREY, ms=9, label=f"chosen: {chosen}")
        if by_size or ranks[-1] / ranks[0] > LOG_SCALE_RATIO:
            on.set_xscale("log")
            on.xaxis.set_major_formatter("{x:g}")
        else:
            on.locator_params(axis="x", integer=True)
        if metric is not None and _is_wide(values):
            on.set_yscale("log")
        on.set_xlabel("states")
        on.set_ylabel(metric or "fidelity score")
        on.set_title(f"fidelity on {table.fidelities[0].n_words:,} held-out words")
        on.legend()
    return on


def plot_singular_values(values: FloatArray, chosen: int, *, ax: Axes | None = None) -> Axes:
    """Plot singular values, largest first; see `Extraction.plot_singular_values`."""
    positive = values[values > 0]
    with axes(ax) as on:
        on.plot(range(1, len(positive) + 1), positive, color=BLUE, marker=".", ms=4, lw=1.2)
        on.axvline(chosen, color=GREY, lw=0.8, ls=":", label=f"chosen: {chosen}")
        on.set_yscale("log")
        on.set_xlabel("rank")
        on.set_ylabel("singular value")
        on.set_title("singular values of the block")
        on.legend()
    return on


def _has(fidelity: Fidelity, metric: str | None) -> bool:
    return metric is None or metric in fidelity


def _value(fidelity: Fidelity, metric: str | None) -> float:
    return fidelity.score if metric is None else fidelity[metric]


def _is_wide(values: FloatArray) -> bool:
    return bool(values.min() > 0 and values.max() / values.min() > LOG_SCALE_RATIO)


def _intervals(
    ax: Axes, fidelities: Sequence[tuple[int, Fidelity]], metric: str | None, colour: str
) -> None:
    """Draw the confidence intervals of those that have one."""
    for n_states, fidelity in fidelities:
        if metric is not None and metric in fidelity.intervals:
            low, high = fidelity.intervals[metric]
            ax.plot([n_states, n_states], [low, high], color=colour, alpha=0.5, lw=1.5)
