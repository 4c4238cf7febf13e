"""The graph as a page first shows it: laid out here, so that it is there before any script runs.

The page draws the same shapes with the same classes (graph.js), and takes the places from here as
long as nobody moves a slider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.geometry import Curve, Points, Rims, head_corners
from seqray.draw.graph import DrawnEdge, distinct, drawn_edges
from seqray.draw.labels import Arrangement, arrange
from seqray.draw.layout import scattered, spread
from seqray.draw.routing import OUTSIDE, Link, parted_links
from seqray.draw.strokes import extent, label_size, pen
from seqray.explore.opening import MOST_EVER, ArrowUse, readable_arrows, slider_threshold
from seqray.explore.packing import rounded
from seqray.util.arrays import FloatArray
from seqray.util.formatting import counted, page_percent, typeset

MAX_LABELLED_STATES = 40
"""Graphs with more, or with more arrows than can be read, have no labels at their arrows."""

CROWDED_ARROWS = 24
"""Labels of more arrows have two lines at most."""

MAX_STATES, MAX_BEGINNINGS = 150, 8
FAINT = 0.05
FONT, MARGIN, MAX_SCALE = 12.0, 12.0, 1.15
LETTER, SMALL_LETTER = 7.4, 5.8  # about the width of a letter in a state, in pixels


@dataclass(frozen=True, eq=False)
class FirstGraph:
    """A graph in the page's style.

    Parameters
    ----------
    automaton
        What is drawn.
    names
        Of each state: how it is meant, and what is meant; see `state_names`.
    mass
        The share of the time in each state, or None.
    links
        Of each state: where it leads, and a text that says so; None where it is no link.
    """

    automaton: WeightedAutomaton
    names: Sequence[tuple[str, str]]
    mass: Sequence[float | None] | None
    links: Sequence[tuple[str, str]] | None = None

    @classmethod
    def of(
        cls,
        automaton: WeightedAutomaton,
        names: Sequence[tuple[str, str]],
        mass: Sequence[float | None] | None,
        n_bytes: int = 8,
    ) -> FirstGraph | None:
        """Return the graph of the numbers that a page has; None where it has too many states."""
        if automaton.n_states > MAX_STATES:
            return None
        transitions = rounded(automaton.transitions, n_bytes)
        drawn = WeightedAutomaton(
            automaton.alphabet, automaton.initial, transitions, automaton.final
        )
        return cls(drawn, names, mass)

    # What is drawn --------------------------------------------------------------------------------

    @cached_property
    def use(self) -> ArrowUse:
        """How much each arrow is used."""
        return ArrowUse(self.automaton, self.mass)

    @property
    def position(self) -> int:
        """Where the slider of thresholds stands."""
        return self.use.opening

    @cached_property
    def threshold(self) -> float:
        """What is lighter is hidden."""
        return slider_threshold(self._largest, self.position)

    @property
    def _largest(self) -> float:
        return self.use.largest

    @cached_property
    def edges(self) -> list[DrawnEdge]:
        """The arrows, the lightest first: what is drawn later lies on top."""
        edges = drawn_edges(self.automaton, self.threshold)
        return sorted(edges, key=lambda edge: abs(edge.heaviest))[-MOST_EVER:]

    @cached_property
    def begins(self) -> list[int]:
        """The states in which words begin, none where they are too many to be drawn."""
        sizes = np.abs(self.automaton.initial)
        share = max(FAINT, self.threshold / (self._largest or 1.0))
        states: list[int] = np.flatnonzero(sizes >= share * (sizes.max() or 1.0)).tolist()
        return states if len(states) <= MAX_BEGINNINGS else []

    @property
    def _are_probabilities(self) -> bool:
        return self.use.are_probabilities

    @property
    def _radius(self) -> float:
        n = self.automaton.n_states
        if not self.names[0][0] and self.names[0][1] == "1":  # numbers, not names
            return 15.0 if n > 40 else 19.0
        return 33.0 if n <= 12 else 28.0 if n <= 30 else 22.0

    @cached_property
    def _labels(self) -> list[list[tuple[str, str, float]]]:
        """The lines at each arrow, then at each beginning: a symbol, its weight as text, and it."""
        n = self.automaton.n_states
        if n > MAX_LABELLED_STATES or len(self.edges) > readable_arrows(n):
            return [[] for _ in (*self.edges, *self.begins)]
        labels = []
        for edge in self.edges:
            room = 2 if len(self.edges) > CROWDED_ARROWS else 4
            most = room if len(edge.weights) <= room else room - 1
            shown = zip(edge.names[:most], edge.weights, strict=False)
            lines = [(name, self._write(weight), weight) for name, (_, weight) in shown]
            rest = len(edge.weights) - most
            labels.append(lines + ([("", f"+ {rest} more", 0.0)] if rest > 0 else []))
        for state in self.begins:
            weight = float(self.automaton.initial[state])
            is_only = len(self.begins) == 1 and abs(weight - 1) < 5e-3
            labels.append([] if is_only else [("", self._write(weight), weight)])
        return labels

    def _write(self, weight: float) -> str:
        return page_percent(weight) if self._are_probabilities else typeset(weight, 2)

    # Where it stands ------------------------------------------------------------------------------

    @cached_property
    def arrangement(self) -> Arrangement:
        """Where states, arrows and labels are."""
        n = self.automaton.n_states
        pull = np.zeros((n, n))
        for edge in self.edges:
            pull[edge.origin, edge.target] = abs(edge.heaviest)
        rims = Rims.discs(self._radius, n)
        sizes = [_size(lines) for lines in self._labels]
        widths = [size[0] for size in sizes if size is not None]
        length = 60.0 + 2 * float(np.median(widths)) if widths else 26.0
        place = spread if n <= MAX_LABELLED_STATES else scattered
        centres = place(pull, rims, np.abs(self.automaton.initial), length)
        ends = [(edge.origin, edge.target) for edge in self.edges]
        links = parted_links(ends, centres, sizes)
        links += [Link(OUTSIDE, q) for q in self.begins]
        largest = 1.6 if widths else 1.0
        return arrange(lambda scale: scale * centres, rims, links, sizes, largest=largest)

    def to_json(self) -> dict[str, Any]:
        """Return the places for the page: of states, and of arrows with their ends and labels."""
        arrangement, n = self.arrangement, self.automaton.n_states
        ends = [(edge.origin, edge.target) for edge in self.edges]
        ends += [(n, state) for state in self.begins]
        return {
            "position": self.position,
            "states": _flat(arrangement.centres),
            "arrows": [
                {
                    "ends": list(both),
                    "points": _flat(np.append(curve.corners, curve.head[1])),
                    "label": _label_place(arrangement.labels.get(at)),
                }
                for at, (both, curve) in enumerate(zip(ends, arrangement.curves, strict=True))
            ],
        }

    # As a picture ---------------------------------------------------------------------------------

    def to_svg(self) -> str:
        """Return it as SVG for the page: it has the page's classes and no style of its own."""
        arrangement = self.arrangement
        corners = extent(arrangement)
        left, top = corners.real.min() - MARGIN, corners.imag.min() - MARGIN
        width = float(np.ptp(corners.real)) + 2 * MARGIN
        height = float(np.ptp(corners.imag)) + 2 * MARGIN
        states = counted(self.automaton.n_states, "state")
        arrows = counted(len(self.edges), "arrow")
        role = "img" if self.links is None else "group"
        parts = [
            f'<svg class="graph first" role="{role}" viewBox="{left:.1f} {top:.1f} {width:.1f} '
            f'{height:.1f}" width="{MAX_SCALE * width:.0f}" '
            f'height="{MAX_SCALE * height:.0f}" aria-label="Graph of {states} and {arrows}.">',
            *(self._arrow(at, curve) for at, curve in enumerate(arrangement.curves)),
            *(self._state(state, text) for state, text in enumerate(self._short_names)),
            *(self._label(at, box) for at, box in arrangement.labels.items()),
            "</svg>",
        ]
        return "".join(parts)

    @cached_property
    def _is_tiny(self) -> bool:
        """Whether names are so long that all states have smaller letters."""
        longest = max(len(what) for _, what in self.names)
        return self._radius < 16 or longest * LETTER > 1.75 * self._radius

    @cached_property
    def _short_names(self) -> list[str]:
        letter = SMALL_LETTER if self._is_tiny else LETTER
        return distinct([what for _, what in self.names], int(1.8 * self._radius / letter))

    def _arrow(self, at: int, curve: Curve) -> str:
        is_start = at >= len(self.edges)
        if is_start:
            heaviest, width = float(self.automaton.initial[self.begins[at - len(self.edges)]]), 1.5
        else:
            heaviest = self.edges[at].heaviest
            width = pen(heaviest, self._largest)
        kinds = ["arrow"] + ["negative"] * (heaviest < 0) + ["start"] * is_start
        path = "M{}C{} {} {}".format(*map(_xy, curve.corners))
        dash = f' stroke-dasharray="{4 + 2 * width:.1f} {3 + width:.1f}"' if heaviest < 0 else ""
        tail = complex(curve.corners[0])
        dot = f'<circle class="begin" cx="{tail.real:.1f}" cy="{tail.imag:.1f}" r="6"/>'
        return (
            f'<g class="{" ".join(kinds)}">'
            f'<path class="halo" d="{path}" stroke-width="{width + 4:.2f}"/>'
            f'<path class="line" d="{path}" stroke-width="{width:.2f}"{dash}/>'
            f'<path class="tip" d="M{"L".join(map(_xy, head_corners(curve, width)))}Z"/>'
            f"{dot if is_start else ''}</g>"
        )

    def _state(self, state: int, text: str) -> str:
        how, what = self.names[state]
        radius = self._radius
        mass = None if self.mass is None else self.mass[state]
        final = float(self.automaton.final[state])
        shapes = [
            f'<circle class="disc" r="{radius:g}"/>',
            f'<circle class="tint" r="{radius:g}" fill-opacity="{tint(mass):.3f}"/>',
        ]
        if self._are_probabilities and final > 0.002:
            around = 2 * np.pi * (radius - 3.5)
            shapes.append(
                f'<circle class="ending" r="{radius - 3.5:g}" transform="rotate(-90)" '
                f'stroke-dasharray="{around * min(1.0, final):.2f} {around:.2f}"/>'
            )
        if radius <= 30:
            how = how.removeprefix("mostly").removeprefix("partly").strip()
        if how and radius > 20:
            shapes.append(f'<text class="how" y="-4">{escape(how)}</text>')
        small = " tiny" if self._is_tiny else ""
        y = 12 if how and radius > 20 else 5
        shapes.append(f'<text class="what{small}" y="{y}">{escape(text)}</text>')
        title = escape(f"{self.names[state][0]} {what}".strip())
        at = _xy(complex(self.arrangement.centres[state]))
        if self.links is not None:
            address, title = (escape(text) for text in self.links[state])
        group = (
            f'<g class="state" transform="translate({at})">{"".join(shapes)}'
            f"<title>{title}</title></g>"
        )
        if self.links is None:
            return group
        return f'<a href="{address}" aria-label="{title}">{group}</a>'

    def _label(self, at: int, box: FloatArray) -> str:
        x, y, half, tall = box.tolist()
        lines = self._labels[at]
        top = y - (15 * len(lines) + 4) / 2 + 13
        signs = ["negative" if weight < 0 else "positive" for *_, weight in lines]
        texts = [
            f'<text class="{signs[line]}" x="{x:.1f}" y="{top + 15 * line:.1f}">'
            f'<tspan class="symbol">{escape(symbol)}</tspan> {escape(text)}</text>'
            for line, (symbol, text, _) in enumerate(lines)
        ]
        back = (
            f'<rect class="back" x="{x - half:.1f}" y="{y - tall:.1f}" width="{2 * half:.1f}" '
            f'height="{2 * tall:.1f}"/>'
        )
        return f'<g class="label">{back}{"".join(texts)}</g>'

    def caption(self) -> str:
        """Return a sentence about what the picture leaves out."""
        return self.use.drawn_sentence(self.threshold)


def state_names(prefixes: Sequence[str], shares: Sequence[float]) -> list[tuple[str, str]]:
    """Return names in two parts, as in content.js: how they are meant, and what is meant.

    >>> state_names(["λ", "ab", "b"], [1, 0.7, 0.2])
    [('', 'start'), ('mostly after', 'ab'), ('partly after', 'b')]
    """
    names = []
    for prefix, share in zip(prefixes, shares, strict=True):
        how = "" if share >= 0.99 else "mostly" if share >= 0.5 else "partly"
        is_start = prefix == "λ"
        names.append((how, "start") if is_start else (f"{how} after".strip(), prefix))
    return names


def tint(mass: float | None) -> float:
    """Return the opacity of a state's colour, from the share of time spent there."""
    return 0.04 + 0.26 * (0.1 if mass is None else min(1.0, 1.6 * mass))


def _size(lines: Sequence[tuple[str, str, float]]) -> tuple[float, float] | None:
    """Return half the width and height of a label, None where there is none."""
    if not lines:
        return None
    width, _ = label_size([(f"{symbol} {text}", weight) for symbol, text, weight in lines], FONT)
    return width, (15 * len(lines) + 4) / 2


def _label_place(box: FloatArray | None) -> list[float] | None:
    return None if box is None else [round(float(value), 1) for value in box[:2]]


def _flat(points: Points) -> list[float]:
    """Return x and y of all points, one after the other."""
    return np.column_stack([points.real, points.imag]).ravel().round(1).tolist()


def _xy(point: complex) -> str:
    return f"{point.real:.1f} {point.imag:.1f}"
