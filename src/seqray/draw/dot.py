"""An automaton as Graphviz text, and what every drawing of an automaton shows.

The style is that of the paper's appendix: a state carries ``input weight > output weight``, all
symbols between the same two states share one edge, and small weights are left out.
"""

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
MAX_LINES = 6
MAX_NAME = 18
# Before a name written from right to left: the line runs from left to right, and the name is kept
# to itself, so that its weight stands to the right of it.
ISOLATE = "\u200e\u2068"


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
        cut = len(self.weights) if len(self.weights) <= MAX_LINES else MAX_LINES - 1
        lines = tuple((f"{_short(name)}: {number(w)}", w) for name, w in self.weights[:cut])
        rest = len(self.weights) - cut
        return (*lines, (f"… {rest} more", 0.0)) if rest else lines

    @property
    def full_text(self) -> str:
        """Every shown symbol with its weight, on one line."""
        return ", ".join(f"{name}: {number(weight)}" for name, weight in self.weights)


def to_dot(automaton: WeightedAutomaton, *, threshold: float = 0.05) -> str:
    r"""Return an automaton as Graphviz text.

    Parameters
    ----------
    automaton
        What to draw.
    threshold
        Transitions with ``|weight| < threshold`` are hidden; the caption says how much that is.

    Returns
    -------
    str
        A ``digraph``. States carry ``input > output``. An edge carries all its symbols, is as
        wide as its heaviest weight asks for, and is dashed where that weight is negative.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1, 0], [[[0.5, 0], [0, 0]], [[0, -0.5], [0, 0.01]]], [0, 1])
    >>> print(to_dot(wa))
    // |weight| < 0.05 is hidden: 1 of 3 transitions, 1 of 3 edges, 0.99 % of the weight
    digraph automaton {
        ...
        0 [label="0\n1 > 0"];
        1 [label="1\n0 > 1"];
        0 -> 0 [label="a: 0.5\l", tooltip="a: 0.5", penwidth=4.00, color="#0072B2"];
        0 -> 1 [label="b: −0.5\l", tooltip="b: −0.5", penwidth=4.00, color="#D55E00", style=dashed];
    }
    """
    caption = hidden_caption(automaton, threshold)
    edges = drawn_edges(automaton, threshold)
    largest = max((abs(edge.heaviest) for edge in edges), default=1.0)
    lines = [
        f"// {caption}",
        "digraph automaton {",
        '    graph [charset="UTF-8", rankdir=LR, fontname=Helvetica, fontsize=11];',
        f'    graph [labelloc=b, label="{caption}"];',
        "    node [shape=circle, fontname=Helvetica];",
        "    edge [fontname=Helvetica, fontsize=11];",
    ]
    for state in range(automaton.n_states):
        lines.append(f'    {state} [label="{state}\\n{state_weights(automaton, state)}"];')
    for edge in edges:
        label = "".join(f"{_quoted(line)}\\l" for line, _ in edge.lines)
        width = 1 + 3 * abs(edge.heaviest) / largest
        sign = f'"{NEGATIVE}", style=dashed' if edge.heaviest < 0 else f'"{POSITIVE}"'
        lines.append(
            f'    {edge.origin} -> {edge.target} [label="{label}", '
            f'tooltip="{_quoted(edge.full_text)}", penwidth={width:.2f}, color={sign}];'
        )
    return "\n".join([*lines, "}", ""])


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


def state_weights(automaton: WeightedAutomaton, state: int) -> str:
    """Return ``input > output`` of a state."""
    return f"{number(automaton.initial[state])} > {number(automaton.final[state])}"


def number(value: float) -> str:
    """Write a number with three significant digits and a real minus sign.

    >>> number(-1/3), number(0.25)
    ('−0.333', '0.25')
    """
    return f"{value + 0.0:.3g}".replace("-", "−")  # + 0.0 turns −0 into 0


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
        return f"{ISOLATE}{text}\u2069"
    return text


def _shown(automaton: WeightedAutomaton, threshold: float) -> BoolArray:
    if not 0 <= threshold < np.inf:
        raise ArgumentError(f"threshold: expected a number from 0 up, got {threshold}")
    sizes = np.abs(automaton.transitions)
    return (sizes >= threshold) & (sizes > 0)


def _short(name: str) -> str:
    if len(name) <= MAX_NAME:
        return name
    closing = "\u2069" if name.startswith(ISOLATE) else ""
    return name[: MAX_NAME - 1] + "…" + closing


def _quoted(text: str) -> str:
    """Escape text for a quoted Graphviz string, where entities such as ``&lt;`` are read too."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
