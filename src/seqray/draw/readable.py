"""The readable style: states with names, how often words end there and how often they pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.decided import Decided, class_colour, symbols_label
from seqray.draw.geometry import Curve, Rims, half_size, head_corners
from seqray.draw.graph import (
    ISOLATE,
    MAX_NAME,
    NEGATIVE,
    DrawnEdge,
    distinct,
    drawn_edges,
    hidden_caption,
    short,
    shown_name,
)
from seqray.draw.labels import Arrangement, arrange
from seqray.draw.layout import spread
from seqray.draw.routing import OUTSIDE, Link, parted_links
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
    text_block,
)
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
from seqray.util.arrays import FloatArray
from seqray.util.formatting import short_percent, typeset

MOST_VISITED_COLOUR = np.array([0x7D, 0xBE, 0xE8])
"""The inside of the state where most time is spent; others are between it and white."""

MAX_LINES, MAX_ONE_LINE_CHARACTERS = 4, 13
CORNER, PADDING, RING = 11.0, (9.0, 6.0), 3.0
MAX_SCALE = 2.0
CERTAIN_PEN = 1.8
"""How wide edges are where all have weight 1."""

DOUBLE_RIM_SHARE = 0.5
"""A state has a double rim if its probability to end is at least this part of the largest."""

MIN_ENTRY_SHARE = 0.02
"""Beginnings that are a smaller part of the largest one have no arrow."""


@dataclass(frozen=True, eq=False)
class StateFacts:
    """What a readable drawing says of states.

    Parameters
    ----------
    names
        As they are shown.
    mass
        The share of all steps in each, None where that is not known.
    probabilities
        Whether weights are probabilities: all that can follow any state weighs 1.
    often
        The probability to end from which on a state has a double rim, inf if none has.
    begins
        Where an arrow comes in, the strongest last.
    decided
        Of an automaton that classifies, what it decides in each state; None of any other.
    """

    names: Sequence[str]
    mass: FloatArray | None
    probabilities: bool
    often: float
    begins: Sequence[int]
    decided: Decided | None = None

    @staticmethod
    def of(
        automaton: WeightedAutomaton, names: Sequence[str], mass: FloatArray | None
    ) -> StateFacts:
        """Return the facts about the states of an automaton."""
        largest = float(automaton.final.max())
        sizes = np.abs(automaton.initial)
        begins = np.flatnonzero(sizes >= max(MIN_ENTRY_SHARE * sizes.max(), np.finfo(float).tiny))
        decided = Decided.of(automaton)
        if decided is not None:
            order = begins[np.argsort(sizes[begins], kind="stable")].tolist()
            shown = [shown_name(name) for name in names]
            return StateFacts(shown, mass, False, np.inf, order, decided)
        return StateFacts(
            names=[shown_name(name) for name in names],
            mass=mass,
            probabilities=bool(np.allclose(automaton.prefix_final, 1, rtol=0, atol=1e-3)),
            often=DOUBLE_RIM_SHARE * largest if largest > 0 else np.inf,
            begins=begins[np.argsort(sizes[begins], kind="stable")].tolist(),
        )

    @property
    def is_certain(self) -> bool:
        """Whether the states are those of a DFA or Moore machine, see `Decided`."""
        return self.decided is not None and self.decided.is_certain

    def has_double_rim(self, automaton: WeightedAutomaton, state: int) -> bool:
        """Whether words end often in a state, or a DFA accepts there."""
        if self.decided is not None:
            return self.decided.is_accepting(self.decided.numbers[state])
        return bool(automaton.final[state] >= self.often)

    def edge_label(self, edge: DrawnEdge) -> tuple[tuple[str, float], ...]:
        """Return the lines beside an edge: symbols with their weights, unless all weigh 1."""
        return symbols_label(edge, MAX_LINES) if self.is_certain else edge.label(MAX_LINES, 2)

    def edge_text(self, edge: DrawnEdge) -> str:
        """Return all symbols of an edge in one line."""
        if self.is_certain:
            return ", ".join(name for name, _ in edge.weights)
        return edge.full_text

    def share(self, weight: float) -> str:
        """Write a weight: in per cent where it is a probability."""
        if not self.probabilities:
            return typeset(weight, 2)
        return short_percent(weight)


@dataclass(frozen=True, eq=False)
class Shown:
    """Everything that a readable drawing has to find a place for.

    Parameters
    ----------
    automaton
        What is drawn.
    facts
        What is said of its states.
    edges
        What a threshold leaves, the weakest first: what is drawn later lies on top.
    inside
        The lines in each state.
    labels
        The lines beside each edge, then beside each arrow into a start state, each with its weight.
    """

    automaton: WeightedAutomaton
    facts: StateFacts
    edges: Sequence[DrawnEdge]
    inside: Sequence[Sequence[str]]
    labels: Sequence[Sequence[tuple[str, float]]]

    @staticmethod
    def of(
        automaton: WeightedAutomaton,
        threshold: float,
        names: Sequence[str],
        mass: FloatArray | None = None,
    ) -> Shown:
        """Collect it."""
        facts = StateFacts.of(automaton, names, mass)
        edges = sorted(drawn_edges(automaton, threshold), key=lambda edge: abs(edge.heaviest))
        return Shown(
            automaton,
            facts,
            edges,
            _state_lines(automaton, facts),
            [facts.edge_label(edge) for edge in edges]
            + [entry_label(automaton, facts, q) for q in facts.begins],
        )

    def arranged(self) -> Arrangement:
        """Place states, edges, arrows into start states, and labels."""
        n = self.automaton.n_states
        pull = np.zeros((n, n))
        for edge in self.edges:
            pull[edge.origin, edge.target] = abs(edge.heaviest)
        half = np.array([half_size(lines) for lines in self.inside]) + PADDING + RING
        rims = Rims(half[:, 0], half[:, 1], np.full(n, CORNER))
        sizes = [label_size(lines, SMALL_FONT) if lines else None for lines in self.labels]
        widths = [size[0] for size in sizes if size is not None]
        length = 60.0 + 2 * float(np.median(widths)) if widths else 60.0
        centres = spread(pull, rims, np.abs(self.automaton.initial), length)
        ends = [(edge.origin, edge.target) for edge in self.edges]
        links = parted_links(ends, centres, sizes)
        links += [Link(OUTSIDE, q) for q in self.facts.begins]
        return arrange(lambda scale: scale * centres, rims, links, sizes, largest=MAX_SCALE)


def readable_scene(
    automaton: WeightedAutomaton,
    threshold: float,
    names: Sequence[str],
    mass: FloatArray | None,
) -> Scene:
    """Draw an automaton whose states have names.

    Parameters
    ----------
    automaton
        What to draw.
    threshold
        Smaller weights are hidden.
    names
        One a state.
    mass
        The share of all steps in each state, shape ``(n_states,)``.
    """
    shown = Shown.of(automaton, threshold, names, mass)
    arrangement, facts = shown.arranged(), shown.facts
    n_labels = sum(bool(lines) for lines in shown.labels)
    return page(
        title_of(automaton, "Deterministic" if facts.is_certain else "Weighted"),
        _reading(facts),
        count_missing(_caption(automaton, threshold, facts), n_labels, len(arrangement.labels)),
        drawn_groups(shown, arrangement),
        extent(arrangement),
        _legend(automaton, facts, shown.edges),
    )


def drawn_groups(shown: Shown, arrangement: Arrangement) -> list[Group]:
    """Return edges, then arrow heads, which lines would cut into, then states, then labels."""
    edges, facts, curves = shown.edges, shown.facts, arrangement.curves
    n, widths = len(edges), [CERTAIN_PEN] * len(edges) if facts.is_certain else pens(edges)
    tips = [_edge_tip(facts, edge) for edge in edges]
    drawn = list(map(edge_group, edges, curves, widths, tips))
    drawn += map(head_group, edges, curves, widths)
    drawn += [_state(shown, q, arrangement) for q in range(shown.automaton.n_states)]
    drawn += [
        _entry(shown, at, curve, arrangement.labels.get(at))
        for at, curve in enumerate(curves[n:], n)
    ]
    drawn += [
        label_group(edges[i], shown.labels[i], box.tolist(), SMALL_FONT, tips[i])
        for i, box in sorted(arrangement.labels.items())
        if i < n
    ]
    return drawn


# What stands where --------------------------------------------------------------------------------


def _state_lines(automaton: WeightedAutomaton, facts: StateFacts) -> list[list[str]]:
    """Return what stands in each state: its name, and its class or how often words end there."""
    if (decided := facts.decided) is not None:
        return [[*lines, decided.label(q)] for q, lines in enumerate(name_lines(facts.names))]
    return [
        [*lines, f"ends {facts.share(final)}"]
        for lines, final in zip(name_lines(facts.names), automaton.final.tolist(), strict=True)
    ]


def name_lines(names: Sequence[str]) -> list[list[str]]:
    """Write names in a line each, or in two that are as short as can be.

    Too long ones are cut; those that differ still do. Symbols that bars separate have lines of
    their own, the last two of them, or the last three where several names end with the same two.

    >>> name_lines(["after ab", "mostly after abc", "after " + "ab" * 20])
    [['after ab'], ['mostly', 'after abc'], ['after', 'ababababababababa…']]
    >>> name_lines(["mostly after take ticket | wait | close"])
    [['mostly after …', 'wait |', 'close']]
    """
    lines = [[_last_symbols(name, n) for name in names] for n in (2, 3)]
    parts = [
        next((x[at] for x in lines if x[at] and x.count(x[at]) == 1), _halves(name))
        for at, name in enumerate(names)
    ]
    first, last = (distinct([part[at] for part in parts], MAX_NAME) for at in (0, -1))
    return [
        [*([above] if len(part) > 1 else []), *(short(line) for line in part[1:-1]), below]
        for above, below, part in zip(first, last, parts, strict=True)
    ]


def _last_symbols(name: str, n: int) -> tuple[str, ...]:
    """Break a name before each of its last symbols; nothing where no bar separates them."""
    first, *others = name.split(" | ")
    if not others or ISOLATE in name:
        return ()
    words, after, symbol = first.rpartition("after ")
    head, symbols = f"{words}{after}".strip(), [symbol, *others]
    head = f"{head} …".strip() if len(symbols) > n else head
    *above, last = symbols[-n:]
    return (*filter(None, [head]), *(f"{short(each, MAX_NAME - 2)} |" for each in above), last)


def _halves(name: str) -> tuple[str, ...]:
    """Break a long name in two, so that the longer part is as short as can be."""
    if len(name) <= MAX_ONE_LINE_CHARACTERS or ISOLATE in name:
        return (name,)
    words = name.split(" ")
    breaks = range(1, len(words))
    if "after" in words:  # a prefix stays in one piece
        breaks = range(max(words.index("after"), 1), min(words.index("after") + 2, len(words)))
    pairs = [(" ".join(words[:at]), " ".join(words[at:])) for at in breaks]
    return min(pairs, key=lambda both: max(map(len, both)), default=(name,))


def entry_label(
    automaton: WeightedAutomaton, facts: StateFacts, state: int
) -> tuple[tuple[str, float], ...]:
    """Return the weight with which words begin in a state, nothing if all do."""
    weight = float(automaton.initial[state])
    if len(facts.begins) == 1 and abs(weight - 1) < 5e-3:
        return ()
    return ((facts.share(weight), weight),)


def _entry(shown: Shown, at: int, curve: Curve, box: FloatArray | None) -> Group:
    """Return the arrow into a state in which words begin."""
    state = shown.facts.begins[at - len(shown.edges)]
    weight = float(shown.automaton.initial[state])
    colour, dash = (NEGATIVE, (6.0, 4.0)) if weight < 0 else (INK, None)
    shapes: list[Shape] = [
        Line(curve.corners, PAPER, 4.3),
        Line(curve.corners, colour, 1.8, dash),
        Polygon(head_corners(curve, 1.8), colour),
    ]
    if box is not None:
        x, y, width, height = box.tolist()
        shapes.append(Box(complex(x, y), (width, height), 4.0, PAPER, opacity=(0.95, 1.0)))
        text = [(line, colour, False) for line, _ in shown.labels[at]]
        shapes += text_block(complex(x, y), text, SMALL_FONT)
    tip = f"words begin here with weight {typeset(weight)}"
    return Group("entry", shapes, {"to": state}, tip)


def _state(shown: Shown, state: int, arrangement: Arrangement) -> Group:
    automaton, facts, lines = shown.automaton, shown.facts, shown.inside[state]
    centre = complex(arrangement.centres[state])
    half = float(arrangement.rims.width[state]), float(arrangement.rims.height[state])
    shapes = _rims(centre, half, tint(facts, state), facts.has_double_rim(automaton, state))
    text = [(line, INK, at < len(lines) - 1) for at, line in enumerate(lines)]
    if facts.decided is None:
        tip = f"{facts.names[state]}: words end here with {_kind(facts)} "
        tip += typeset(float(automaton.final[state]))
    else:
        tip = f"{facts.names[state]}: {facts.decided.tip(state)}"
    if facts.mass is not None:
        tip += f"; {short_percent(float(facts.mass[state]))} of all steps are spent here"
    return Group("state", [*shapes, *text_block(centre, text)], {"state": state}, tip)


def _rims(centre: complex, half: tuple[float, float], fill: str, double: bool) -> list[Box]:
    """Return a state's outline, with a second one where words end often."""
    corner = min(CORNER, *half)
    outline = [Box(centre, half, corner, fill, INK)]
    if double:
        inner = half[0] - RING, half[1] - RING
        outline.append(Box(centre, inner, corner - RING, None, INK, 1.2))
    return outline


def tint(facts: StateFacts, state: int | None) -> str:
    """Return the inside of a state, darker where more time is spent; None is where most is."""
    if facts.decided is not None and state is not None:
        return facts.decided.colour(state)
    if facts.mass is None:
        return PAPER
    largest = float(np.max(facts.mass)) or 1.0
    share = 1.0 if state is None else max(float(facts.mass[state]), 0.0) / largest
    colour = 255 + (MOST_VISITED_COLOUR - 255) * np.sqrt(share)
    red, green, blue = np.rint(colour).astype(int).tolist()
    return f"#{red:02X}{green:02X}{blue:02X}"


def _edge_tip(facts: StateFacts, edge: DrawnEdge) -> str:
    return f"{facts.names[edge.origin]} → {facts.names[edge.target]}: {facts.edge_text(edge)}"


# What is said below -------------------------------------------------------------------------------


def _caption(automaton: WeightedAutomaton, threshold: float, facts: StateFacts) -> str:
    caption = hidden_caption(automaton, threshold)
    sizes = np.abs(automaton.initial) / (np.abs(automaton.initial).max() or 1.0)
    hidden = 1 - sizes[list(facts.begins)].sum() / (sizes.sum() or 1.0)
    return (
        f"{caption}; {short_percent(hidden)} of the beginnings are hidden"
        if hidden >= 5e-4
        else caption
    )


def _kind(facts: StateFacts) -> str:
    return "probability" if facts.probabilities else "weight"


def _reading(facts: StateFacts) -> str:
    if facts.is_certain:
        return (
            "States carry their name and their class; each symbol leads from a state to one other."
        )
    if facts.decided is not None:
        return (
            "States carry their name and the class that is decided for there, with its "
            "probability; edges are as wide as their heaviest weight, and dashed where it is "
            "negative."
        )
    return (
        f"States carry their name and the {_kind(facts)} with which words end there; edges are as "
        "wide as their heaviest weight, and dashed where it is negative."
    )


def _legend(
    automaton: WeightedAutomaton, facts: StateFacts, edges: Sequence[DrawnEdge]
) -> list[LegendEntry]:
    arrow: list[Shape] = [
        Line(np.array([-14, -6, 1, 5], complex), INK, 1.8),
        Polygon(np.array([14, 4 - 5j, 4 + 5j]), INK),
    ]
    entries = [LegendEntry(arrow, 28, "words begin here")]
    half = (15.0, 9.0)
    if (decided := facts.decided) is not None:
        for number in sorted(set(decided.numbers)):
            box = _rims(0j, half, class_colour(number), decided.is_accepting(number))
            entries.append(LegendEntry(box, 30, short(decided.classes[number])))
        return entries if decided.is_certain else entries + line_entries(edges)
    if (automaton.final >= facts.often).any():
        text = f"words end here most ({facts.share(facts.often)} or more)"
        entries.append(LegendEntry(_rims(0j, half, PAPER, double=True), 30, text))
    if facts.mass is not None:
        most = short_percent(float(np.max(facts.mass)))
        dark = [Box(0j, half, CORNER - RING, tint(facts, None), INK)]
        entries.append(LegendEntry(dark, 30, f"{most} of all steps; lighter: fewer"))
    return entries + line_entries(edges)
