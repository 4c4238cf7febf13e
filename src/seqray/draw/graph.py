"""What a drawing shows of an automaton: edges, names, numbers, and how much is left out."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np

from seqray.arrays import BoolArray
from seqray.automaton import WeightedAutomaton
from seqray.errors import ArgumentError
from seqray.words import Symbol

# Okabe and Ito's blue and vermilion: told apart with every common form of colour blindness.
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
NEGATIVE_TEXT = "#A84A00"  # darker, so that it can be read in grey too
MAX_LINES = 6
MAX_NAME = 18
# Before a name written from right to left: the line runs from left to right, and the name is kept
# to itself, so that its weight stands to the right of it.
ISOLATE, CLOSE = "\u200e\u2068", "\u2069"

PAPER_THRESHOLD = 0.05
EDGES_A_STATE = 3
NEGLIGIBLE = 0.01  # of the largest weight: what is smaller is never shown unless asked for

SAME = 1e-9  # weights that differ by no more, relative to themselves, are the same


class DrawnEdge(NamedTuple):
    """All shown transitions from one state to another, the heaviest first."""

    origin: int
    target: int
    weights: tuple[tuple[str, float], ...]

    @property
    def heaviest(self) -> float:
        """The weight that is largest in size: it gives the edge its width and its sign."""
        return self.weights[0][1]

    @property
    def lines(self) -> tuple[tuple[str, float], ...]:
        """The label: a line and its weight for each symbol; the last may stand for the rest."""
        return self.label(MAX_LINES, 3)

    def label(self, n_lines: int, digits: int) -> tuple[tuple[str, float], ...]:
        """Return the label with at most so many lines, and digits in a number."""
        cut = len(self.weights) if len(self.weights) <= n_lines else n_lines - 1
        lines = tuple((f"{short(s)}: {number(w, digits)}", w) for s, w in self.weights[:cut])
        rest = len(self.weights) - cut
        return (*lines, (f"… {rest} more", 0.0)) if rest else lines

    @property
    def full_text(self) -> str:
        """Every shown symbol with its weight, on one line."""
        return ", ".join(f"{name}: {number(weight)}" for name, weight in self.weights)


def drawn_edges(automaton: WeightedAutomaton, threshold: float) -> list[DrawnEdge]:
    """Return the edges that a threshold leaves, by origin and target."""
    shown = _shown(automaton, threshold)
    names = [shown_name(symbol) for symbol in automaton.alphabet]
    edges = []
    for origin, target in np.argwhere(shown.any(axis=0)).tolist():
        weights = automaton.transitions[:, origin, target].tolist()
        codes = np.flatnonzero(shown[:, origin, target]).tolist()
        codes.sort(key=lambda code: -abs(weights[code]))
        edges.append(DrawnEdge(origin, target, tuple((names[c], weights[c]) for c in codes)))
    return edges


def clear_threshold(automaton: WeightedAutomaton) -> float:
    """Return the smallest threshold of two digits that leaves at most three edges a state.

    Weights below a hundredth of the largest one are hidden in any case: nobody wants to see them.
    Of weights that are the same none is hidden unless all are: there may be more edges then.

    Examples
    --------
    >>> clear_threshold(WeightedAutomaton("a", [1, 0], [[[0.5, 0.1], [0.003, 0.3]]], [0, 1]))
    0.005
    >>> circle = np.eye(4) / 2 + np.eye(4)[[1, 2, 3, 0]] / 4 + np.eye(4)[[2, 3, 0, 1]] / 8
    >>> clear_threshold(WeightedAutomaton("a", np.eye(4)[0], [circle + 0.0317], np.ones(4)))
    0.032
    """
    sizes = np.sort(np.abs(automaton.transitions).max(axis=0), axis=None)[::-1]
    most = EDGES_A_STATE * automaton.n_states
    largest, hidden = float(sizes[0]), float(sizes[most]) if len(sizes) > most else 0.0
    if hidden < NEGLIGIBLE * largest:
        return float(f"{NEGLIGIBLE * largest:.2g}")
    last = float(sizes[most - 1]) if len(sizes) > most else np.inf
    if hidden > 1e-300 and hidden >= (1 - SAME) * last:  # as large as the last that is left
        place = 10.0 ** (np.floor(np.log10(hidden * (1 + SAME))) - 1)
        return float(f"{np.floor(hidden * (1 + SAME) / place) * place:.2g}")
    digits, exponent = f"{hidden:.1e}".replace(".", "").split("e")
    rounded, step = (float(f"{int(digits) + more}e{int(exponent) - 1}") for more in (0, 1))
    return min(step if rounded <= hidden else rounded, np.finfo(float).max)


def hidden_share(automaton: WeightedAutomaton, threshold: float) -> float:
    """Return the share of Σ|weight| over all transitions that a threshold hides, 0 to 1.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.3]], [[-0.1]]], [1])
    >>> hidden_share(wa, 0.2)
    0.25
    """
    sizes = np.abs(automaton.transitions)
    sizes = sizes / (sizes.max() or 1.0)  # so that the sum of huge weights does not overflow
    total = sizes.sum()
    return float(sizes[~_shown(automaton, threshold)].sum() / total) if total else 0.0


def hidden_caption(automaton: WeightedAutomaton, threshold: float) -> str:
    """Say what a threshold hides."""
    present, shown = _shown(automaton, 0.0), _shown(automaton, threshold)
    counts = [
        f"{before - after} of {before} {name}"
        for name, before, after in (
            ("transitions", present.sum(), shown.sum()),
            ("edges", present.any(axis=0).sum(), shown.any(axis=0).sum()),
        )
    ]
    share = f"{100 * hidden_share(automaton, threshold):.2g} % of the weight"
    return f"|weight| < {threshold:g} is hidden: {', '.join(counts)}, {share}"


def state_weights(automaton: WeightedAutomaton, state: int) -> str:
    """Return ``input > output`` of a state."""
    return f"{number(automaton.initial[state])} > {number(automaton.final[state])}"


def number(value: float, digits: int = 3) -> str:
    """Write a number with a few significant digits and a real minus sign.

    >>> number(-1/3), number(0.25), number(1/3, 2)
    ('−0.333', '0.25', '0.33')
    """
    return f"{value + 0.0:.{digits}g}".replace("-", "−")  # + 0.0 turns −0 into 0


def shown_name(symbol: Symbol) -> str:
    r"""Return a symbol's name as one visible line, whatever it holds.

    >>> shown_name("a\nb"), shown_name(" "), shown_name(3)
    ('a\\nb', "' '", '3')
    """
    text = str(symbol)
    if not text.strip():
        text = repr(text)
    # Control characters are forbidden in XML, and direction overrides would garble the line. The
    # joiner is kept: it holds emoji together.
    text = "".join(
        char if char.isprintable() or char == "\u200d" else ascii(char)[1:-1] for char in text
    )
    if any(unicodedata.bidirectional(char) in ("R", "AL") for char in text):
        return f"{ISOLATE}{text}{CLOSE}"
    return text


def short(name: str, most: int = MAX_NAME) -> str:
    """Cut a name that is too long to be drawn.

    >>> short("a" * 9, 5)
    'aaaa…'
    """
    if len(name) <= most:
        return name
    closing = CLOSE if name.startswith(ISOLATE) else ""
    return name[: most - 1] + "…" + closing


def _shown(automaton: WeightedAutomaton, threshold: float) -> BoolArray:
    if not 0 <= threshold < np.inf:
        raise ArgumentError(f"threshold: expected a number from 0 up, got {threshold}")
    sizes = np.abs(automaton.transitions)
    return (sizes >= (1 - SAME) * threshold) & (sizes > 0)
