"""Two automata side by side, A and B: one layout for both, and colours for what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.geometry import Curve
from seqray.draw.labels import Arrangement
from seqray.draw.readable import Shown, drawn_groups
from seqray.draw.scene import (
    PAPER,
    SMALL_FONT,
    Box,
    Group,
    LegendEntry,
    Line,
    Polygon,
    Scene,
    Shape,
    page,
)
from seqray.draw.strokes import extent, label_size
from seqray.util.arrays import BoolArray, FloatArray
from seqray.util.formatting import counted

# Okabe and Ito's orange, reddish purple and bluish green, darker so that thin lines are clear.
CHANGED, SAME = "#B86E00", "#8A919C"
ONLY_HERE = "#9B3A77", "#007A5A"
"""The colours of what only A has, and of what only B has."""

OWN_STATES = "#F3DCEA", "#CDEBDD"
"""The inside of a state that only A has, and of one that only B has."""

CHANGED_RIM = 3.0
"""How wide the outline of a state is whose end or class differs."""

READING = (
    "States that are the same in both stand at the same place. What differs has the colour that "
    "the legend explains; all other edges are grey."
)


@dataclass(frozen=True, eq=False)
class DrawnChanges:
    """What differs between two automata.

    Parameters
    ----------
    edges
        Edges, as pairs of places.
    begins, ends
        Where words begin, and where they end or what is decided there, shape ``(n_states,)``.
    """

    edges: Set[tuple[int, int]]
    begins: BoolArray
    ends: BoolArray


@dataclass(frozen=True, eq=False)
class DrawnSide:
    """One of two automata, in an array of states that has a place for those of both.

    Parameters
    ----------
    automaton
        The automaton; what it has at a place where ``present`` is false is not drawn.
    names
        What to call the state at each place.
    mass
        The share of all steps that is spent at each place, shape ``(n_states,)``; None: unknown.
    present
        Whether it has a state at each place, shape ``(n_states,)``.
    """

    automaton: WeightedAutomaton
    names: Sequence[str]
    mass: FloatArray | None
    present: BoolArray


def compared_scenes(
    union: WeightedAutomaton,
    sides: tuple[DrawnSide, DrawnSide],
    threshold: float,
    changes: DrawnChanges,
) -> tuple[Scene, Scene]:
    """Draw two automata with the same layout.

    Parameters
    ----------
    union
        An automaton that has every edge of both, and is laid out.
    sides
        The two automata, A and B.
    threshold
        Smaller weights are hidden.
    changes
        What differs. What only one side draws has a colour of its own.
    """
    names = [max(pair, key=len) for pair in zip(sides[0].names, sides[1].names, strict=True)]
    whole = Shown.of(union, threshold, names)
    layout = _Layout.of(whole)
    shown = [layout.side(side, threshold) for side in sides]
    drawn = [{(edge.origin, edge.target) for edge in each.edges} for each in shown]
    scenes = []
    for at, side in enumerate(sides):
        in_other = drawn[1 - at]
        colours = {
            pair: SAME
            if pair not in changes.edges
            else (CHANGED if pair in in_other else ONLY_HERE[at])
            for pair in drawn[at]
        }
        is_shared = sides[1 - at].present
        states = {
            q: (CHANGED if is_shared[q] else ONLY_HERE[at])
            for q in np.flatnonzero(side.present & (changes.ends | ~is_shared)).tolist()
        }
        paint = _Paint(at, colours, states, changes.begins)
        scenes.append(layout.scene(shown[at], side.present, paint))
    return scenes[0], scenes[1]


@dataclass(frozen=True, eq=False)
class _Paint:
    """The colours of one side: of edges, of states that differ; and which beginnings differ."""

    side: int
    edges: Mapping[tuple[int, int], str]
    states: Mapping[int, str]
    begins: BoolArray

    def group(self, group: Group, pair: tuple[int, int] | None) -> Group:
        """Return a part of the drawing in its colour; ``pair`` is the edge that it belongs to."""
        if pair is not None:
            return _coloured(group, self.edges[pair])
        if "state" in group.data:
            colour = self.states.get(group.data["state"])
            if colour is None:
                return group
            fill = None if colour == CHANGED else OWN_STATES[self.side]
            return _outlined(group, colour, fill)
        place, own = group.data["to"], ONLY_HERE[self.side]
        if not self.begins[place]:
            return group
        return _coloured(group, own if self.states.get(place) == own else CHANGED)

    def legend(self) -> list[LegendEntry]:
        """Return what a legend says of the colours that occur."""
        used = {*self.edges.values(), *self.states.values()}
        used |= {CHANGED} if self.begins.any() else set()
        letter, other = "AB"[self.side], "BA"[self.side]
        texts = {CHANGED: "differs", SAME: "the same in both"}
        texts[ONLY_HERE[self.side]] = f"in {letter}, not in {other}"
        line = np.array([-16, -16 / 3, 16 / 3, 16], complex)
        return [
            LegendEntry([Line(line, colour, 3.0)], 32, text)
            for colour, text in texts.items()
            if colour in used
        ]


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where states, edges and labels of both automata are."""

    arrangement: Arrangement
    edges: Mapping[tuple[int, int], int]
    entries: Mapping[int, int]

    @classmethod
    def of(cls, whole: Shown) -> _Layout:
        edges = {(edge.origin, edge.target): at for at, edge in enumerate(whole.edges)}
        entries = {state: at for at, state in enumerate(whole.facts.begins, len(edges))}
        return cls(whole.arranged(), edges, entries)

    def side(self, side: DrawnSide, threshold: float) -> Shown:
        """Return what is drawn of one automaton: its own states and edges alone."""
        shown = Shown.of(side.automaton, threshold, side.names, side.mass)
        n = len(shown.edges)
        kept = [
            at
            for at, edge in enumerate(shown.edges)
            if side.present[edge.origin] and (edge.origin, edge.target) in self.edges
        ]
        begins = [q for q in shown.facts.begins if side.present[q] and q in self.entries]
        labels = [shown.labels[at] for at in kept]
        labels += [shown.labels[n + shown.facts.begins.index(q)] for q in begins]
        facts = replace(shown.facts, begins=begins)
        return replace(shown, facts=facts, edges=[shown.edges[at] for at in kept], labels=labels)

    def scene(
        self,
        shown: Shown,
        present: BoolArray,
        paint: _Paint,
    ) -> Scene:
        """Draw one automaton."""
        n, groups = len(shown.edges), drawn_groups(shown, self._placed(shown))
        pairs = [(edge.origin, edge.target) for edge in shown.edges]
        drawn = []
        for at, group in enumerate(groups):
            pair = pairs[at % n] if at < 2 * n else None  # lines, then arrow heads
            if "from" in group.data:  # a label
                pair = group.data["from"], group.data["to"]
            if "state" not in group.data or present[group.data["state"]]:
                drawn.append(paint.group(group, pair))
        states = counted(int(present.sum()), "state")
        n_changed = sum(colour != SAME for colour in paint.edges.values())
        caption = f"{states}, {counted(n, 'edge')}, {n_changed} of them different"
        corners, title = extent(self.arrangement), f"{'AB'[paint.side]}, an automaton with {states}"
        return page(title, READING, caption, drawn, corners, paint.legend())

    def _placed(self, shown: Shown) -> Arrangement:
        """Return where the parts of one automaton are."""
        places = [self.edges[edge.origin, edge.target] for edge in shown.edges]
        places += [self.entries[state] for state in shown.facts.begins]
        curves: list[Curve] = [self.arrangement.curves[place] for place in places]
        labels = {}
        for at, place in enumerate(places):
            box = self.arrangement.labels.get(place)
            if box is not None and shown.labels[at]:
                labels[at] = np.array([*box[:2], *label_size(shown.labels[at], SMALL_FONT)])
        return replace(self.arrangement, curves=curves, labels=labels)


def _coloured(group: Group, colour: str) -> Group:
    """Return lines, arrow heads and outlines in one colour; text stays as it is."""
    return replace(group, shapes=[_in_colour(shape, colour) for shape in group.shapes])


def _in_colour(shape: Shape, colour: str) -> Shape:
    if isinstance(shape, Line):
        return shape if shape.colour == PAPER else replace(shape, colour=colour)
    if isinstance(shape, Polygon):
        return replace(shape, fill=colour)
    return replace(shape, stroke=colour) if isinstance(shape, Box) else shape


def _outlined(group: Group, colour: str, fill: str | None) -> Group:
    """Return a state with an outline that marks it, and with another inside unless that is None."""
    outline, *rest = group.shapes
    assert isinstance(outline, Box)
    marked = replace(outline, stroke=colour, width=CHANGED_RIM, fill=fill or outline.fill)
    return replace(group, shapes=[marked, *rest])
