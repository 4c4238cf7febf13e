"""Two automata side by side: one layout for both, and colours for the edges that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.geometry import Curve
from seqray.draw.labels import Arrangement
from seqray.draw.readable import Shown, drawn_groups
from seqray.draw.scene import (
    INK,
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

# Okabe and Ito's orange, bluish green and reddish purple, darker so that thin lines are clear.
CHANGED, ONLY_HERE, SAME = "#C77700", "#007A5A", "#8A919C"

STATE_COLOUR = "#CDEBDD"
"""The inside of a state that the other automaton does not have."""

READING = (
    "States that are the same in both stand at the same place. Edges that differ have the colour "
    "of an edge in the legend; all others are grey."
)


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
    changed: Iterable[tuple[int, int]],
) -> tuple[Scene, Scene]:
    """Draw two automata with the same layout.

    Parameters
    ----------
    union
        An automaton that has every edge of both, and is laid out.
    sides
        The two automata.
    threshold
        Smaller weights are hidden.
    changed
        Which edges differ, as pairs of places. What only one side draws is a colour of its own.
    """
    names = [max(pair, key=len) for pair in zip(sides[0].names, sides[1].names, strict=True)]
    whole = Shown.of(union, threshold, names)
    layout = _Layout.of(whole)
    shown = [layout.side(side, threshold) for side in sides]
    drawn = [{(edge.origin, edge.target) for edge in each.edges} for each in shown]
    differs = set(changed)
    scenes = []
    for at, side in enumerate(sides):
        colours = {
            pair: SAME if pair not in differs else CHANGED if pair in drawn[1 - at] else ONLY_HERE
            for pair in drawn[at]
        }
        only_here = side.present & ~sides[1 - at].present
        scenes.append(layout.scene(shown[at], side.present, only_here, colours))
    return scenes[0], scenes[1]


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
        only_here: BoolArray,
        colours: Mapping[tuple[int, int], str],
    ) -> Scene:
        """Draw one automaton."""
        n, groups = len(shown.edges), drawn_groups(shown, self._placed(shown))
        pairs = [(edge.origin, edge.target) for edge in shown.edges]
        drawn = []
        for at, group in enumerate(groups):
            if at < 2 * n:  # lines, then arrow heads
                drawn.append(_coloured(group, colours[pairs[at % n]]))
            elif "from" in group.data:  # a label
                drawn.append(_coloured(group, colours[group.data["from"], group.data["to"]]))
            elif "state" not in group.data:
                drawn.append(group)
            elif present[group.data["state"]]:
                drawn.append(_filled(group) if only_here[group.data["state"]] else group)
        states = counted(int(present.sum()), "state")
        n_changed = sum(colour != SAME for colour in colours.values())
        caption = f"{states}, {counted(n, 'edge')}, {n_changed} of them different"
        corners = extent(self.arrangement)
        legend = _legend(set(colours.values()), bool(only_here.any()))
        return page(f"Automaton with {states}", READING, caption, drawn, corners, legend)

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


def _filled(group: Group) -> Group:
    """Return a state with the colour of those that only one automaton has."""
    outline, *rest = group.shapes
    assert isinstance(outline, Box)
    return replace(group, shapes=[replace(outline, fill=STATE_COLOUR), *rest])


def _legend(colours: set[str], has_own_states: bool) -> list[LegendEntry]:
    """Return what a legend says of the colours that occur."""
    texts = {CHANGED: "differs", ONLY_HERE: "only here", SAME: "the same in both"}
    line = np.array([-16, -16 / 3, 16 / 3, 16], complex)
    entries = [
        LegendEntry([Line(line, colour, 3.0)], 32, text)
        for colour, text in texts.items()
        if colour in colours
    ]
    if has_own_states:
        box = Box(0j, (15.0, 9.0), 8.0, STATE_COLOUR, INK)
        entries.append(LegendEntry([box], 30, "a state that only this one has"))
    return entries
