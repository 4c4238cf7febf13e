"""Nothing covers anything else: geometric facts of drawings of 1 to 30 states."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

import seqray
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.blackbox.native.demo import open_demo
from seqray.draw import paper, readable
from seqray.draw.geometry import head_corners
from seqray.draw.graph import clear_threshold, drawn_edges
from seqray.draw.labels import Arrangement
from seqray.explain.naming import name_states

WIDEST = 5.0
SIZES = [*range(1, 12), 14, 19, 25, 30]
T = np.linspace(0, 1, 400)
BERNSTEIN = np.array([(1 - T) ** 3, 3 * T * (1 - T) ** 2, 3 * T**2 * (1 - T), T**3])
Ends = Sequence[tuple[int, int]]


def rounded_distance(
    points: np.ndarray, centre: complex, half: complex, corner: float
) -> np.ndarray:
    """How far points are outside a box with round corners; below 0 inside."""
    x = np.maximum(abs(points.real - centre.real) - half.real + corner, 0.0)
    y = np.maximum(abs(points.imag - centre.imag) - half.imag + corner, 0.0)
    return np.hypot(x, y) - corner


def states_touch(found: Arrangement) -> list[tuple[int, int]]:
    boxes = found.rims.boxes(found.centres)
    return [
        (q, r)
        for q, a in enumerate(boxes)
        for r, b in enumerate(boxes[:q])
        if (np.abs(a[:2] - b[:2]) < a[2:] + b[2:]).all()
    ]


def labels_touch(found: Arrangement) -> list[tuple[int, int]]:
    items = list(found.labels.items())
    return [
        (i, j)
        for at, (i, a) in enumerate(items)
        for j, b in items[:at]
        if (np.abs(a[:2] - b[:2]) < a[2:] + b[2:]).all()
    ]


def labels_on_states(found: Arrangement) -> list[tuple[int, int]]:
    hits = []
    for i, (x, y, width, height) in found.labels.items():
        for q, centre in enumerate(found.centres):
            near = complex(
                np.clip(centre.real, x - width, x + width),
                np.clip(centre.imag, y - height, y + height),
            )
            half = complex(found.rims.width[q], found.rims.height[q])
            # The nearest point of two boxes is found with the box of the state's own centre.
            inner = half - found.rims.corner[q] * (1 + 1j)
            mine = complex(
                np.clip(near.real, centre.real - inner.real, centre.real + inner.real),
                np.clip(near.imag, centre.imag - inner.imag, centre.imag + inner.imag),
            )
            if abs(near - mine) < found.rims.corner[q]:
                hits.append((i, q))
    return hits


def labels_on_heads(found: Arrangement) -> list[tuple[int, int]]:
    """Label and arrow head, by the theorem of the separating axis."""
    boxes = np.array(list(found.labels.values())).reshape(-1, 4)
    x, y, width, height = boxes.T[:, :, None]
    corners = x + np.array([1, 1, -1, -1]) * width + 1j * (y + np.array([1, -1, 1, -1]) * height)
    hits = []
    for j, curve in enumerate(found.curves):
        triangle = head_corners(curve, WIDEST)
        separate = np.zeros(len(boxes), bool)
        for axis in (1, 1j, *(1j * (np.roll(triangle, -1) - triangle))):
            head, label = (triangle * np.conj(axis)).real, (corners * np.conj(axis)).real
            separate |= (head.max() <= label.min(axis=1)) | (label.max(axis=1) <= head.min())
        hits += [(i, j) for i, clear in zip(found.labels, separate, strict=True) if not clear]
    return hits


def edges_through_states(found: Arrangement, ends: Ends) -> list[tuple[int, int]]:
    hits = []
    for i, (curve, own) in enumerate(zip(found.curves, ends, strict=True)):
        line = np.append(curve.corners @ BERNSTEIN, curve.head)
        rims = found.rims
        for q, centre in enumerate(found.centres):
            half, corner = complex(rims.width[q], rims.height[q]), float(rims.corner[q])
            near = line[abs(line - centre) < abs(half) + WIDEST]
            # At its own states an edge begins, or ends, on the rim.
            room = -1.0 if q in own else WIDEST / 2
            if (rounded_distance(near, centre, half, corner) < room).any():
                hits.append((i, q))
    return hits


def faults(found: Arrangement, ends: Ends) -> dict[str, list[tuple[int, int]]]:
    every = {
        "states touch": states_touch(found),
        "labels touch": labels_touch(found),
        "labels on states": labels_on_states(found),
        "labels on heads": labels_on_heads(found),
        "edges through states": edges_through_states(found, ends),
    }
    return {what: where for what, where in every.items() if where}


def check_readable(automaton: WeightedAutomaton, names: Sequence[str]) -> Arrangement:
    shown = readable.Shown.of(automaton, clear_threshold(automaton), names)
    found = shown.arranged()
    ends = [edge[:2] for edge in shown.edges] + [(-1, q) for q in shown.facts.begins]
    assert not faults(found, ends)
    assert len(found.labels) == sum(bool(lines) for lines in shown.labels)
    return found


def check_paper(automaton: WeightedAutomaton, threshold: float) -> Arrangement:
    edges = drawn_edges(automaton, threshold)
    found = paper.arranged(automaton, edges, paper.state_lines(automaton))
    assert not faults(found, [edge[:2] for edge in edges])
    return found


@cache
def extracted() -> seqray.Extraction:
    return seqray.extract(open_demo(), n_prefixes=60, max_rank=30, seed=0, purpose="reading")


def stochastic(n_states: int) -> WeightedAutomaton:
    """A machine whose states have some, or many, edges."""
    kind = ("dpfa", "pfa", "hmm")[n_states % 3]
    return random_machine(kind, n_states, 2 + n_states % 5, seed=np.random.default_rng(n_states))


@pytest.mark.parametrize("n_states", SIZES)
def test_nothing_covers_anything_in_drawings_of_random_machines(n_states: int) -> None:
    names = ["start", *(f"mostly after {'ab' * (q % 4)}{q}" for q in range(1, n_states))]
    check_readable(stochastic(n_states), names)


@pytest.mark.parametrize("rank", [*range(1, 13), 16, 20, 25, 30])
def test_nothing_covers_anything_in_drawings_of_extracted_automata(rank: int) -> None:
    named = name_states(extracted().automaton(rank))
    check_readable(named.automaton, named.names)


@pytest.mark.parametrize("n_states", SIZES)
def test_nothing_covers_anything_in_the_papers_style(n_states: int) -> None:
    machine = stochastic(n_states)
    check_paper(machine, max(0.05, clear_threshold(machine)))
