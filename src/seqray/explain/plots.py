"""Plots of explanations, with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqray.automata.words import Symbol
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.plots import BLUE, COLOURS, GREY, ORANGE, axes, name_positions, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vPX"
LINES = ("-", "--", "-.", ":")

MAX_SHOWN_BITS = 12
"""Surprise from which on the colour is the darkest: a probability of one in 4,096."""


def plot_additions(
    word: Sequence[Symbol], values: FloatArray, unit: str, *, ax: Axes | None = None
) -> Axes:
    """Plot what each symbol of a word adds, as bars above and below 0."""
    with axes(ax, width=_width(word), height=2.6) as on:
        colours = np.where(values < 0, ORANGE, BLUE).tolist()
        on.bar(range(1, len(word) + 1), values, color=colours, width=0.7)
        on.axhline(0, color=GREY, lw=0.8)
        name_positions(on, [*map(str, word)], 1)
        on.set_ylabel(f"adds, {unit}")
        on.set_title("what each symbol adds to the weight")
    return on


def plot_profiles(
    positions: IntArray, profiles: Mapping[str, FloatArray], unit: str, *, ax: Axes | None = None
) -> Axes:
    """Plot the effect of each motif against its position."""
    with axes(ax, height=3.0) as on:
        on.axhline(0, color=GREY, lw=0.8)
        for place, (name, profile) in enumerate(profiles.items()):
            on.plot(
                positions,
                profile,
                label=plain_label(name, 24),
                color=COLOURS[place % len(COLOURS)],
                ls=LINES[place % len(LINES)],
                lw=1.5,
            )
        on.set_xlabel("position of the first symbol")
        on.set_ylabel(f"change of the {unit}")
        on.set_title("what a motif does, and where")
        on.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return on


def plot_class_path(
    word: Sequence[Symbol],
    scores: FloatArray,
    classes: Sequence[str],
    decided_at: int,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot the probability of each class after each prefix, and where the decision is made."""
    with axes(ax, width=_width(word), height=2.8) as on:
        largest = np.argsort(-scores.max(axis=0), kind="stable")[: len(COLOURS)]
        for place, number in enumerate(sorted(largest.tolist())):
            on.plot(
                range(len(word) + 1),
                scores[:, number],
                label=plain_label(classes[number], 24),
                color=COLOURS[place],
                marker=MARKERS[place],
                ms=4,
                lw=1.3,
            )
        on.axvline(decided_at, color=GREY, lw=0.9, ls=":", label="decided here")
        on.set_ylim(-0.03, 1.03)
        name_positions(on, ["start", *map(str, word)], 0)
        on.set_ylabel("probability")
        on.set_title("class after each prefix")
        on.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return on


def plot_surprise(
    words: Sequence[Sequence[str]], bits: Sequence[Sequence[float]], *, ax: Axes | None = None
) -> Axes:
    """Plot words as rows of symbols, each coloured by its surprise in bits."""
    labels = [[plain_label(symbol) for symbol in word] for word in words]
    wide = max(len(label) for row in labels for label in row)
    longest = max(map(len, words))
    cell = 0.1 + 0.075 * max(wide, 2)
    with axes(ax, width=min(1.6 + cell * longest, 16), height=1.1 + 0.26 * len(words)) as on:
        grid = np.full((len(words), longest), np.nan)
        for i, row in enumerate(bits):
            grid[i, : len(row)] = np.minimum(row, MAX_SHOWN_BITS)
        image = on.imshow(grid, cmap="Oranges", vmin=0, vmax=MAX_SHOWN_BITS, aspect="auto")
        for i, names in enumerate(labels):
            for j, label in enumerate(names):
                shade = "white" if grid[i, j] > 0.6 * MAX_SHOWN_BITS else "black"
                on.text(j, i, label, ha="center", va="center", size=7.5, color=shade)
        on.set_yticks(range(len(words)), [str(i + 1) for i in range(len(words))])
        on.set_xticks([])
        on.grid(visible=False)
        on.spines[:].set_visible(False)
        bar = on.figure.colorbar(image, ax=on, pad=0.01, ticks=range(0, MAX_SHOWN_BITS + 1, 4))
        bar.set_label(f"bits, {MAX_SHOWN_BITS} and more")
        on.set_title("surprise of each symbol and of the end")
    return on


def _width(word: Sequence[Symbol]) -> float:
    return max(4.0, min(1.8 + 0.3 * len(word), 12.0))
