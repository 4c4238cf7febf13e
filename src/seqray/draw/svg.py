"""An automaton as a self-contained SVG picture, laid out here: no other program is needed.

States stand on a circle, ordered so that heavy edges are short. Points are complex numbers, x to
the right and y down, so that multiplying by ``1j`` turns a direction clockwise by a right angle.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqray.arrays import BoolArray, FloatArray, IntArray
from seqray.automaton import WeightedAutomaton
from seqray.draw.dot import (
    NEGATIVE,
    POSITIVE,
    DrawnEdge,
    drawn_edges,
    hidden_caption,
    number,
    state_weights,
)

Points: TypeAlias = NDArray[np.complexfloating[Any, Any]]

PAPER, TINT, INK, MUTED = "#FFFFFF", "#F4F4F0", "#222222", "#555555"
FONT, SMALL, LEADING = 12.0, 11.0, 1.2
HEAD, HEAD_ROOM = 11.0, 8.0  # the length of an arrow head; how far labels keep from its middle
MARGIN = 14.0
MIN_WIDTH = 560.0
MAX_LABELS = 150
MAX_RADIUS = 640.0


class _Curve(NamedTuple):
    """A cubic Bézier curve from rim to rim, and the arrow head that ends it."""

    corners: Points
    head: Points  # its base and its tip
    trace: Points  # points along the curve


def to_svg(automaton: WeightedAutomaton, *, threshold: float = 0.05) -> str:
    """Return an automaton as an SVG picture.

    The picture has a view box and no fixed size, no script, no style sheet and no link. The same
    automaton gives the same text. Pointing at an edge shows all its symbols; labels that find no
    place without covering others are left out, and the caption counts them.

    Parameters
    ----------
    automaton
        What to draw: made for up to 12 states, still readable with 30.
    threshold
        Transitions with ``|weight| < threshold`` are hidden; the caption says how much that is.

    Returns
    -------
    str
        States carry ``input > output``. An edge carries all its symbols, is as wide as its
        heaviest weight asks for, and is dashed and vermilion where that weight is negative.

    Examples
    --------
    >>> svg = to_svg(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
    >>> svg.startswith("<svg "), svg.count('class="state"'), "a: 0.5" in svg
    (True, 1, True)
    """
    # The weakest come first: what is drawn later lies on top.
    edges = sorted(drawn_edges(automaton, threshold), key=lambda edge: abs(edge.heaviest))
    names = _state_lines(automaton)
    rim = max(float(np.hypot(*_half_size(lines))) for lines in names) + 1
    centres, curves, boxes = _arrange(edges, _order(automaton, edges), rim)
    largest = max((abs(edge.heaviest) for edge in edges), default=0.0)
    pens = [_pen(edge.heaviest, largest) for edge in edges]
    drawn = list(map(_edge, edges, curves, pens))
    drawn += map(_head, edges, curves, pens)  # after all lines, which would cut into them
    drawn += [_state(q, centres[q], rim, lines) for q, lines in enumerate(names)]
    drawn += [_label(edges[index], box) for index, box in sorted(boxes.items())]
    corners = [_corners(np.array([c.real, c.imag, rim, rim])) for c in centres]
    corners += [_corners(box) for box in boxes.values()]
    corners += [curve.trace for curve in curves]
    caption = hidden_caption(automaton, threshold)
    if len(boxes) < len(edges):
        caption += f"; {len(edges) - len(boxes)} of {len(edges)} labels found no room"
    title = f"Weighted automaton, {automaton.n_states} states, {len(automaton.alphabet)} symbols"
    return _page(title, caption, drawn, np.concatenate(corners), edges)


# Layout -------------------------------------------------------------------------------------------


def _order(automaton: WeightedAutomaton, edges: Sequence[DrawnEdge]) -> list[int]:
    """Return each state's place on the circle: heavy edges short, the main input first."""
    n = automaton.n_states
    pull = np.zeros((n, n))
    for edge in edges:
        if edge.origin != edge.target:
            pull[edge.origin, edge.target] = abs(edge.heaviest)
    pull /= pull.max() or 1.0
    pull = pull + pull.T
    chords = np.sin(np.pi / n * np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    place = np.arange(n)
    for _ in range(12):  # sweeps of improving swaps; a few are enough
        before = place.copy()
        for q in range(n):
            for r in range(q):
                # Every chord at q or r changes, but not the one between the two.
                change = (pull[q] - pull[r]) * (chords[place[r]] - chords[place[q]])[place]
                if change.sum() - change[q] - change[r] < -1e-9:
                    place[[q, r]] = place[[r, q]]
        if (place == before).all():
            break
    first = place[np.abs(automaton.initial).argmax()]
    return [int(p) for p in (place - first) % n]


def _arrange(
    edges: Sequence[DrawnEdge], places: Sequence[int], rim: float
) -> tuple[Points, list[_Curve], dict[int, FloatArray]]:
    """Place states, curves and labels on the smallest circle on which the labels have room.

    First choice is a circle where all labels have a place and cover no arrow head, then one where
    all have a place, then the last one tried.
    """
    n = len(places)
    radius = max(150.0, n * (2 * rim + 56) / (2 * np.pi))
    complete = None
    while True:
        centres, outward = _centres(places, radius)
        curves = _curves(edges, places, centres, outward, rim)
        boxes = _place_labels(edges, curves, centres, outward, rim)
        found = centres, curves, boxes
        if len(boxes) == len(edges):
            complete = complete or found
            placed = np.array(list(boxes.values())).reshape(-1, 4)
            if not _inside(placed, _heads(curves), HEAD_ROOM).any():
                return found
        radius *= 1.12
        if radius > MAX_RADIUS or len(edges) > MAX_LABELS:
            return complete or found


def _centres(places: Sequence[int], radius: float) -> tuple[Points, Points]:
    """Return the centre of each state and the direction that leads away from all others."""
    n = len(places)
    if n == 1:
        return np.zeros(1, complex), np.array([-1j])
    first = -1 + 0j if n == 2 else -1j  # two stand side by side, more begin at the top
    outward: Points = first * np.exp(2j * np.pi * np.array(places) / n)
    return radius * outward, outward


def _curves(
    edges: Sequence[DrawnEdge],
    places: Sequence[int],
    centres: Points,
    outward: Points,
    rim: float,
) -> list[_Curve]:
    pairs = {(edge.origin, edge.target) for edge in edges}
    n = len(places)
    curves = []
    for q, r, _ in edges:
        a, b = centres[q], centres[r]
        if q == r:
            reach = (rim + 30) / 0.65 * outward[q]
            corners = [a, a + reach * np.exp(-0.55j), a + reach * np.exp(0.55j), a]
        else:
            neighbours = (places[q] - places[r]) % n in (1, n - 1)
            middle = (a + b) / 2
            if not neighbours:
                middle *= 0.8 - min(0.4, n / 40)  # inwards, clear of the states between the two
            # Always to the left: the two directions part, and so do what leaves and what arrives.
            bend = (0.28 if neighbours else 0.16) if (r, q) in pairs else 0.12
            middle -= 1j * (b - a) * min(bend, 90 / abs(b - a))
            corners = [a, a + (middle - a) * 2 / 3, b + (middle - b) * 2 / 3, b]
        curves.append(_trim(np.array(corners), rim))
    return curves


def _trim(corners: Points, rim: float) -> _Curve:
    """Cut a curve between two centres at the rims, and leave room for the arrow head."""
    p0, p1, p2, p3 = corners
    # Steps of two pixels at most, to find the rims and the base of the head.
    t = np.linspace(0.0, 1.0, max(201, int(np.abs(np.diff(corners)).sum() / 2)))
    path = p0 * (1 - t) ** 3 + 3 * p1 * t * (1 - t) ** 2 + 3 * p2 * t**2 * (1 - t) + p3 * t**3
    slope = 3 * ((p1 - p0) * (1 - t) ** 2 + 2 * (p2 - p1) * t * (1 - t) + (p3 - p2) * t**2)
    begin = int(np.argmax(abs(path - p0) >= rim))
    tip, end = (
        len(t) - 1 - int(np.argmax(abs(path - p3)[::-1] >= rim + gap)) for gap in (1, 1 + HEAD)
    )
    ease = (t[end] - t[begin]) / 3 * slope
    inner = [path[begin], path[begin] + ease[begin], path[end] - ease[end], path[end]]
    trace = path[np.linspace(begin, end, 121).astype(int)]
    return _Curve(np.array(inner), path[[end, tip]], trace)


# Labels -------------------------------------------------------------------------------------------


def _place_labels(
    edges: Sequence[DrawnEdge],
    curves: Sequence[_Curve],
    centres: Points,
    outward: Points,
    rim: float,
) -> dict[int, FloatArray]:
    """Return the box ``(x, y, half width, half height)`` of each label that has a place.

    Each label has a few candidates, on its own curve. The heaviest edge chooses first; then all
    choose again, given what the others chose, until nothing changes.
    """
    labelled = range(len(edges))[::-1][:MAX_LABELS]
    candidates = {i: _candidates(edges[i], curves[i], outward) for i in labelled}
    heads = _heads(curves)
    traces = np.concatenate([curves[i].trace[::3] for i in labelled] or [centres[:0]])
    costs = {
        i: 1e6 * _hits(boxes, centres, rim)
        + 200.0 * _inside(boxes, heads, HEAD_ROOM)
        + 3.0 * _inside(boxes, traces, 0.0)
        + np.arange(len(boxes))
        for i, boxes in candidates.items()
    }
    chosen: dict[int, int] = {}
    for _ in range(12):
        before = dict(chosen)
        for i in labelled:
            others = [candidates[j][at] for j, at in chosen.items() if j != i]
            cost = costs[i] + _overlap(candidates[i], others).sum(axis=1)
            chosen[i] = int(cost.argmin())
        if chosen == before:
            break
    kept: dict[int, FloatArray] = {}
    for i, at in chosen.items():
        box = candidates[i][at]
        if costs[i][at] < 1e6 and not _overlap(box[None], list(kept.values())).any():
            kept[i] = box
    return kept


def _candidates(edge: DrawnEdge, curve: _Curve, outward: Points) -> FloatArray:
    """Return boxes where an edge's label may stand, the best first, shape ``(n, 4)``."""
    half = np.array(_half_size([line for line, _ in edge.lines])) + 3
    if edge.origin != edge.target:
        fractions = 0.5 + np.array([0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6]) * 0.06
        where = curve.trace[(fractions * (len(curve.trace) - 1)).astype(int)]
    else:
        turned = outward[edge.origin] * np.exp(1j * np.array([0, -1, 1, -2, 2, -3, 3]) * 0.25)
        flat = np.maximum(abs(turned.real) / half[0], abs(turned.imag) / half[1])
        where = curve.trace[len(curve.trace) // 2] + turned * (1 / flat + 4)
    return np.column_stack([where.real, where.imag, np.tile(half, (len(where), 1))])


def _heads(curves: Sequence[_Curve]) -> Points:
    return np.array([curve.head.mean() for curve in curves], complex)


def _inside(boxes: FloatArray, points: Points, margin: float) -> IntArray:
    """Count the points within ``margin`` of each box."""
    x, y, width, height = boxes.T[:, :, None]
    within = (abs(points.real - x) < width + margin) & (abs(points.imag - y) < height + margin)
    return np.asarray(np.count_nonzero(within, axis=1))


def _hits(boxes: FloatArray, centres: Points, rim: float) -> BoolArray:
    """Whether each box comes too close to a state."""
    x, y, width, height = boxes.T[:, :, None]
    dx = np.maximum(abs(centres.real - x) - width, 0)
    dy = np.maximum(abs(centres.imag - y) - height, 0)
    return np.asarray(np.hypot(dx, dy).min(axis=1) < rim + 3)


def _overlap(boxes: FloatArray, others: Sequence[FloatArray]) -> FloatArray:
    """Return a cost for each box and each other one that it overlaps, 0 where it does not."""
    x, y, width, height = boxes.T[:, :, None]
    u, v, other_width, other_height = np.array(others).reshape(-1, 4).T
    dx = width + other_width + 2 - abs(x - u)
    dy = height + other_height + 2 - abs(y - v)
    return np.where((dx > 0) & (dy > 0), 500 + np.minimum(dx, dy), 0.0)


def _half_size(lines: Sequence[str], font: float = FONT) -> tuple[float, float]:
    """Return half the width and height of centred lines, on the generous side."""
    return max(map(_width, lines)) * font / 2, len(lines) * font * LEADING / 2


def _width(text: str) -> float:
    """Estimate a text's width in ems; no font is at hand, so assume a wide one."""
    return sum(
        0.0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 1.15
        if unicodedata.east_asian_width(char) in "WF"
        else 0.95
        if char in "mwMW@%—…"
        else 0.38
        if char in " .,:;'|!ijlI"
        else 0.64
        if char.isascii() and not char.isupper()
        else 0.8
        for char in text
    )


# Drawing ------------------------------------------------------------------------------------------


def _edge(edge: DrawnEdge, curve: _Curve, pen: float) -> str:
    line = "M{}C{} {} {}".format(*map(_xy, curve.corners))
    return (
        f'<g class="edge" data-from="{edge.origin}" data-to="{edge.target}">{_tooltip(edge)}'
        # A halo in the colour of the paper, so that crossings read as over and under.
        f'<path d="{line}" fill="none" stroke="{PAPER}" stroke-width="{pen + 2.5:.2f}"/>'
        f'<path d="{line}" fill="none" {_stroke(edge.heaviest, pen)}/></g>'
    )


def _head(edge: DrawnEdge, curve: _Curve, pen: float) -> str:
    base, tip = curve.head
    side = 1j * (tip - base) / abs(tip - base) * (3.5 + 0.8 * pen)
    return (
        f'<path class="head" d="M{_xy(tip)}L{_xy(base + side)} {_xy(base - side)}Z" '
        f'fill="{_colour(edge.heaviest)}"/>'
    )


def _state(state: int, centre: complex, rim: float, lines: Sequence[str]) -> str:
    styled = [(line, "" if at else ' font-weight="bold"') for at, line in enumerate(lines)]
    return (
        f'<g class="state" data-state="{state}"><circle cx="{centre.real:.1f}" '
        f'cy="{centre.imag:.1f}" r="{rim:.1f}" fill="{TINT}" stroke="{INK}" stroke-width="1.5"/>'
        f"{_text(centre, styled)}</g>"
    )


def _label(edge: DrawnEdge, box: FloatArray) -> str:
    x, y, width, height = box.tolist()
    lines = [(line, f' fill="{NEGATIVE}"' if w < 0 else "") for line, w in edge.lines]
    return (
        f'<g class="label" data-from="{edge.origin}" data-to="{edge.target}">{_tooltip(edge)}'
        f'<rect x="{x - width:.1f}" y="{y - height:.1f}" width="{2 * width:.1f}" '
        f'height="{2 * height:.1f}" rx="4" fill="{PAPER}" fill-opacity="0.95" '
        f'stroke="{_colour(edge.heaviest)}" stroke-opacity="0.4"/>{_text(complex(x, y), lines)}</g>'
    )


def _page(
    title: str, caption: str, drawn: Sequence[str], corners: Points, edges: Sequence[DrawnEdge]
) -> str:
    """Put the drawing, the legend and the caption on a page that is just large enough."""
    width = max(MIN_WIDTH, float(np.ptp(corners.real)) + 2 * MARGIN)
    left = float(corners.real.min() + corners.real.max() - width) / 2
    top = float(corners.imag.min()) - MARGIN
    bottom = float(corners.imag.max()) + MARGIN
    legend, bottom = _legend(edges, left + MARGIN, bottom + 18, width - 2 * MARGIN)
    lines = textwrap.wrap(caption, int((width - 2 * MARGIN) / (0.58 * SMALL)))
    below = [
        f'<text class="caption" x="{left + MARGIN:.1f}" y="{bottom + 22 + 15 * at:.1f}" '
        f'font-size="{SMALL:g}" fill="{MUTED}">{escape(line)}</text>'
        for at, line in enumerate(lines)
    ]
    height = bottom + 22 + 15 * len(lines) - top
    view = f"{left:.1f} {top:.1f} {width:.1f} {height:.1f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" role="img" '
            f'font-family="sans-serif" font-size="{FONT:g}" fill="{INK}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(caption)}. States carry their input and output weight; edges are as "
            "wide as their heaviest weight, and dashed where it is negative.</desc>",
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{PAPER}"/>',
            *drawn,
            *legend,
            *below,
            "</svg>\n",
        ]
    )


def _legend(
    edges: Sequence[DrawnEdge], left: float, y: float, width: float
) -> tuple[list[str], float]:
    """Explain the signs in rows from ``y`` down; return them and where the last row stands."""
    sizes = sorted({number(abs(edge.heaviest)): abs(edge.heaviest) for edge in edges}.values())
    lines = [(size, _pen(size, sizes[-1]), f"|weight| {number(size)}") for size in sizes]
    entries = lines[:1] + lines[1:][-1:]  # the thinnest and the thickest
    if any(weight < 0 for edge in edges for _, weight in edge.weights):
        entries += [(1.0, 2.0, "positive"), (-1.0, 2.0, "negative")]
    parts = [f'<text x="{left:.1f}" y="{y + 0.35 * FONT:.1f}">states: input &gt; output</text>']
    x = left + 165
    for sign, pen, text in entries:
        room = 40 + _width(text) * FONT + 16
        if x + room > left + width:
            x, y = left, y + 20
        parts.append(
            f'<path d="M{x:.1f} {y:.1f}h32" fill="none" {_stroke(sign, pen)}/>'
            f'<text x="{x + 40:.1f}" y="{y + 0.35 * FONT:.1f}">{text}</text>'
        )
        x += room
    return ['<g class="legend">', *parts, "</g>"], y


def _state_lines(automaton: WeightedAutomaton) -> list[list[str]]:
    """Return what stands in each state; long weights take a line each, in all states alike."""
    weights = [state_weights(automaton, state) for state in range(automaton.n_states)]
    if max(map(len, weights)) > 10:
        weights = [text.replace(" > ", "\n> ") for text in weights]
    return [[str(state), *text.split("\n")] for state, text in enumerate(weights)]


def _text(centre: complex, lines: Sequence[tuple[str, str]]) -> str:
    """Draw centred lines, each with its attributes."""
    step = FONT * LEADING
    first = centre.imag - step * (len(lines) - 1) / 2 + 0.35 * FONT
    return "".join(
        f'<text x="{centre.real:.1f}" y="{first + at * step:.1f}" text-anchor="middle"{style}>'
        f"{escape(line)}</text>"
        for at, (line, style) in enumerate(lines)
    )


def _tooltip(edge: DrawnEdge) -> str:
    return f"<title>{edge.origin} → {edge.target}: {escape(edge.full_text)}</title>"


def _stroke(weight: float, pen: float) -> str:
    dash = f' stroke-dasharray="{4 + 2 * pen:.1f} {2 + 1.5 * pen:.1f}"' if weight < 0 else ""
    return f'stroke="{_colour(weight)}" stroke-width="{pen:.2f}"{dash}'


def _colour(weight: float) -> str:
    return NEGATIVE if weight < 0 else POSITIVE


def _pen(weight: float, largest: float) -> float:
    return 1.0 + 4.0 * abs(weight) / (largest or 1.0)


def _corners(box: FloatArray) -> Points:
    x, y, width, height = box
    return np.array([x - width + 1j * (y - height), x + width + 1j * (y + height)])


def _xy(point: complex) -> str:
    return f"{point.real:.1f} {point.imag:.1f}"
