"""Plots of automata, with matplotlib."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from seqray.automata.probabilities import as_probabilities
from seqray.automata.words import Alphabet, Word, Words
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.display import Drawable
from seqray.util.errors import ArgumentError
from seqray.util.plots import ORANGE, axes, name_positions, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PLOTTED_SYMBOLS = 30
"""The most rows of a plot of next symbols; of more symbols the likeliest are shown."""


class _Predicting(Protocol):
    """What a plot of next symbols needs of an automaton."""

    @property
    def alphabet(self) -> Alphabet: ...

    @property
    def is_distribution(self) -> bool: ...

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray: ...


class PlottedAutomaton(Drawable):
    """The plots of an automaton, and its drawing."""

    def plot_next_symbols(self: _Predicting, word: Word, *, ax: Axes | None = None) -> Axes:
        """Plot which symbol is expected after each prefix of a word, as a map of probabilities.

        Parameters
        ----------
        word
            The word; a circle marks each of its symbols.
        ax
            The axes to plot on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            One column per prefix, one row per symbol and one for the end.
        """
        if not self.is_distribution:
            raise ArgumentError(
                f"{self!r} does not predict next symbols: expected the weights of all words to sum "
                "to 1; seqray.explain_word, or explain_decision, shows what symbols add"
            )
        codes = self.alphabet.encode(word)
        symbols = self.alphabet.decode(codes.tolist())
        prefixes = [symbols[:n] for n in range(len(symbols) + 1)]
        likely = as_probabilities(self.next_symbol(prefixes))
        path = np.array([*codes, len(self.alphabet)])
        rows = _rows(likely, path)
        names = [*map(str, self.alphabet.symbols), "end"]
        # About as much room as the labels need.
        margin = 0.07 * min(24, max(len(names[row]) for row in rows))
        width, height = 2.2 + margin + 0.3 * len(path), 1.6 + margin / 2 + 0.22 * len(rows)
        with axes(ax, width=min(width, 12.0), height=height) as on:
            image = on.imshow(likely[:, rows].T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            places = [int(np.flatnonzero(rows == code)[0]) for code in path]
            on.plot(range(len(path)), places, "o", mfc="none", mec=ORANGE, ms=8)
            on.set_yticks(range(len(rows)), [plain_label(names[row], 24) for row in rows])
            name_positions(on, ["start", *map(str, symbols)], 0)
            on.set_xlabel("after")
            on.set_title("probability of the next symbol")
            on.grid(visible=False)
            on.figure.colorbar(image, ax=on).ax.grid(visible=False)
        return on


def _rows(likely: FloatArray, path: IntArray) -> IntArray:
    """Return the columns to show as rows: the word's own symbols, and then the likeliest."""
    order = np.argsort(-likely.max(axis=0), kind="stable")
    own = np.isin(order, path)
    first = np.concatenate([order[own], order[~own]])[: max(MAX_PLOTTED_SYMBOLS, own.sum())]
    return np.sort(first)
