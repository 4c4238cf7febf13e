"""How plots look, and the axes that they are drawn on.

Colours are those of Okabe and Ito, which people with any kind of colour vision can distinguish.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from seqray.util.errors import MissingExtraError, install_hint
from seqray.util.formatting import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MAX_TICKS = 60
"""The most names below an axis."""

STYLE = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "seqray",
    "figure.dpi": 100,
}


def styled() -> Any:
    """Return a block in which figures look alike, whatever style files the user has."""
    try:
        importlib.import_module("matplotlib")
    except ImportError as error:
        raise MissingExtraError(f"figures need matplotlib: {install_hint('plots')}") from error
    return importlib.import_module("matplotlib.style").context(["default", STYLE])


def plain_label(text: str, width: int = 14) -> str:
    r"""Return a text as matplotlib shows it unchanged: no mathematics, no hidden label.

    >>> plain_label("$x$"), plain_label("_a"), plain_label("abcdefgh", 5)
    ('\\$x\\$', ' _a', '…efgh')
    """
    safe = shortened(text, width).replace("$", r"\$")
    return f" {safe}" if safe.startswith("_") else safe


def name_positions(ax: Axes, names: Sequence[str], first: int) -> None:
    """Write names below the axis from a position on, upright where they are long.

    Of many names some are left out.
    """
    every = max(1, math.ceil(len(names) / MAX_TICKS))
    shown = [plain_label(name) for name in names[::every]]
    is_long = max(map(len, shown[1 - first :]), default=0) > 2 or every > 1
    ax.set_xticks(range(first, first + len(names), every), shown, rotation=90 if is_long else 0)


@contextmanager
def axes(given: Axes | None, *, width: float = 6.0, height: float = 3.2) -> Iterator[Axes]:
    """Yield axes to plot on: the given ones, or those of a new figure in seqray's style.

    A new figure belongs to ``matplotlib.pyplot``, so that a notebook shows it below the cell.
    """
    with styled():
        if given is not None:
            yield given
            return
        _, fresh = importlib.import_module("matplotlib.pyplot").subplots(
            figsize=(width, height), layout="constrained"
        )
        library = importlib.import_module("matplotlib")
        is_interactive = library.is_interactive()
        yield fresh
    # The first figure of a notebook makes matplotlib interactive, and the block undid that.
    library.interactive(is_interactive)
