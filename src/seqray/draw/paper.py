"""The style of the paper's appendix: ``input weight > output weight`` in each state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.geometry import FONT, Rims, half_size
from seqray.draw.graph import DrawnEdge, drawn_edges, hidden_caption, state_weights
from seqray.draw.labels import Arrangement, arrange
from seqray.draw.layout import circle_order, on_circle
from seqray.draw.routing import Link
from seqray.draw.scene import INK, TINT, Box, Group, LegendEntry, Scene, page, text_block
from seqray.draw.strokes import (
    count_missing,
    edge_group,
    extent,
    head_group,
    label_group,
    label_size,
    line_entries,
    pens,
    title_of,
)

MAX_RADIUS = 640.0


def paper_scene(automaton: WeightedAutomaton, threshold: float) -> Scene:
    """Draw an automaton in the paper's style, its states on a circle."""
    # The weakest come first: what is drawn later lies on top.
    edges = sorted(drawn_edges(automaton, threshold), key=lambda edge: abs(edge.heaviest))
    inside = state_lines(automaton)
    arrangement = arranged(automaton, edges, inside)
    widths = pens(edges)
    tips = [f"{edge.origin} → {edge.target}: {edge.full_text}" for edge in edges]
    drawn = list(map(edge_group, edges, arrangement.curves, widths, tips))
    drawn += map(head_group, edges, arrangement.curves, widths)  # on top of lines
    drawn += [_state(q, arrangement, lines) for q, lines in enumerate(inside)]
    drawn += [
        label_group(edges[i], edges[i].lines, box.tolist(), FONT, tips[i])
        for i, box in sorted(arrangement.labels.items())
    ]
    caption = count_missing(
        hidden_caption(automaton, threshold), len(edges), len(arrangement.labels)
    )
    return page(
        title_of(automaton),
        "States carry their input and output weight; edges are as wide as their heaviest weight, "
        "and dashed where it is negative.",
        caption,
        drawn,
        extent(arrangement),
        [LegendEntry([], 0, "states: input > output"), *line_entries(edges)],
    )


def arranged(
    automaton: WeightedAutomaton, edges: Sequence[DrawnEdge], inside: Sequence[Sequence[str]]
) -> Arrangement:
    """Place states on the smallest circle on which the labels have room."""
    n = automaton.n_states
    pull = np.zeros((n, n))
    for edge in edges:
        pull[edge.origin, edge.target] = abs(edge.heaviest)
    places = circle_order(pull, int(np.abs(automaton.initial).argmax()))
    rim = max(float(np.hypot(*half_size(lines))) for lines in inside) + 1
    radius = max(150.0, n * (2 * rim + 56) / (2 * np.pi))
    links = _links(edges, places)
    return arrange(
        lambda scale: scale * radius * on_circle(places),
        Rims.discs(rim, n),
        links,
        [label_size(edge.lines, FONT) for edge in edges],
        largest=MAX_RADIUS / radius,
    )


def _links(edges: Sequence[DrawnEdge], places: Sequence[int]) -> list[Link]:
    """Bend edges to the left, so that the two directions part, and inwards, clear of states."""
    pairs = {(edge.origin, edge.target) for edge in edges}
    points, n = on_circle(places), len(places)
    links = []
    for q, r, *_ in edges:
        if q == r:
            links.append(Link(q, q, toward=points[q] if n > 1 else -1j))
            continue
        neighbours = (places[q] - places[r]) % n in (1, n - 1)
        bend = (0.28 if neighbours else 0.16) if (r, q) in pairs else 0.12
        inwards = 0.0 if neighbours else 0.2 + min(0.4, n / 40)
        links.append(Link(q, r, bend, inwards))
    return links


def _state(state: int, arrangement: Arrangement, lines: Sequence[str]) -> Group:
    centre, rim = complex(arrangement.centres[state]), float(arrangement.rims.corner[state])
    text = text_block(centre, [(line, INK, at == 0) for at, line in enumerate(lines)])
    return Group("state", [Box(centre, (rim, rim), rim, TINT, INK), *text], {"state": state})


def state_lines(automaton: WeightedAutomaton) -> list[list[str]]:
    """Return what stands in each state; long weights take a line each, in all states alike."""
    weights = [state_weights(automaton, state) for state in range(automaton.n_states)]
    if max(map(len, weights)) > 10:
        weights = [text.replace(" > ", "\n> ") for text in weights]
    return [[str(state), *text.split("\n")] for state, text in enumerate(weights)]
