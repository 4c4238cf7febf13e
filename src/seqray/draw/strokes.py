"""What both styles draw alike: lines, arrow heads, labels, and what the legend says of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.geometry import MAX_PEN, Curve, Points, box_corners, half_size, head_corners
from seqray.draw.graph import NEGATIVE_TEXT, DrawnEdge
from seqray.draw.labels import Arrangement
from seqray.draw.scene import (
    INK,
    PAPER,
    Box,
    Group,
    LegendEntry,
    Line,
    Polygon,
    sample_line,
    sign_colour,
    stroke,
    text_block,
)
from seqray.util.formatting import counted, typeset

LABEL_PADDING = 3.0


def title_of(automaton: WeightedAutomaton, kind: str = "Weighted") -> str:
    """Say what a picture is of."""
    states = counted(automaton.n_states, "state")
    return f"{kind} automaton, {states}, {counted(len(automaton.alphabet), 'symbol')}"


def pens(edges: Sequence[DrawnEdge]) -> list[float]:
    """Return how wide each edge is drawn: in proportion to its heaviest weight."""
    largest = max((abs(edge.heaviest) for edge in edges), default=0.0)
    return [pen(edge.heaviest, largest) for edge in edges]


def pen(weight: float, largest: float) -> float:
    """Return the width of a line for a weight."""
    return 1.0 + (MAX_PEN - 1.0) * abs(weight) / (largest or 1.0)


def label_size(lines: Sequence[tuple[str, float]], font: float) -> tuple[float, float]:
    """Return half the width and height of an edge's label."""
    width, height = half_size([line for line, _ in lines], font)
    return width + LABEL_PADDING, height + LABEL_PADDING


def edge_group(edge: DrawnEdge, curve: Curve, width: float, tooltip: str) -> Group:
    """Return an edge's line."""
    # A halo in the colour of the paper, so that crossings read as over and under.
    halo = Line(curve.corners, PAPER, width + 2.5)
    data = {"from": edge.origin, "to": edge.target}
    return Group("edge", [halo, stroke(curve.corners, edge.heaviest, width)], data, tooltip)


def head_group(edge: DrawnEdge, curve: Curve, width: float) -> Group:
    """Return an edge's arrow head."""
    return Group("head", [Polygon(head_corners(curve, width), sign_colour(edge.heaviest))])


def label_group(
    edge: DrawnEdge,
    lines: Sequence[tuple[str, float]],
    box: Sequence[float],
    font: float,
    tooltip: str,
) -> Group:
    """Return an edge's label."""
    x, y, width, height = box
    outline = sign_colour(edge.heaviest)
    back = Box(complex(x, y), (width, height), 4.0, PAPER, outline, 1.0, (0.95, 0.4))
    text = [(line, NEGATIVE_TEXT if weight < 0 else INK, False) for line, weight in lines]
    data = {"from": edge.origin, "to": edge.target}
    return Group("label", [back, *text_block(complex(x, y), text, font)], data, tooltip)


def extent(arrangement: Arrangement) -> Points:
    """Return points that have to be on the page."""
    boxes = [*arrangement.rims.boxes(arrangement.centres), *arrangement.labels.values()]
    traces = [curve.trace for curve in arrangement.curves]
    return np.concatenate([box_corners(box) for box in boxes] + traces)


def line_entries(edges: Sequence[DrawnEdge]) -> list[LegendEntry]:
    """Return what a legend says of lines: the thinnest and the thickest, and both signs."""
    sizes = sorted({typeset(abs(edge.heaviest)): abs(edge.heaviest) for edge in edges}.values())
    lines = [(size, pen(size, sizes[-1]), f"|weight| {typeset(size)}") for size in sizes]
    entries = lines[:1] + lines[1:][-1:]
    if any(weight < 0 for edge in edges for _, weight in edge.weights):
        entries += [(1.0, 2.0, "positive"), (-1.0, 2.0, "negative")]
    return [LegendEntry([sample_line(sign, width)], 32, text) for sign, width, text in entries]


def count_missing(caption: str, n_labels: int, n_placed: int) -> str:
    """Add to a caption how many labels have no room."""
    missing = n_labels - n_placed
    labels = counted(n_labels, "label")
    return f"{caption}; {missing} of {labels} without room" if missing else caption
