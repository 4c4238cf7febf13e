"""An automaton as Graphviz text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.graph import (
    NEGATIVE,
    POSITIVE,
    DrawnEdge,
    heaviest_weight,
    hidden_caption,
    iter_edges,
    state_weights,
)
from seqray.draw.readable import CERTAIN_PEN, StateFacts, entry_label, tint
from seqray.draw.styles import checked, chosen_threshold, subject
from seqray.formats.automaton_file import AutomatonLike
from seqray.util.formatting import typeset


def to_dot(
    automaton: AutomatonLike,
    *,
    threshold: float | None = None,
    names: Sequence[str] | None = None,
    mass: ArrayLike | None = None,
) -> str:
    r"""Return an automaton as Graphviz text.

    Parameters
    ----------
    automaton
        What to draw: an automaton, or what one is in: an extraction, a named automaton, which is
        drawn with its names, or the path of a run folder.
    threshold
        Transitions with ``|weight| < threshold`` are hidden; the caption says how much that is.
        By default 0.05; with names, see `clear_threshold`.
    names
        What to call each state. With names states carry them and the probability to end there,
        without them ``input > output``.
    mass
        The share of all steps that is spent in each state, shape ``(n_states,)``.

    Returns
    -------
    str
        A ``digraph``. An edge carries all its symbols, is as wide as its heaviest weight,
        and is dashed where that weight is negative.

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
    automaton, names, mass = subject(automaton, names, mass)
    limit = chosen_threshold(automaton, threshold, names)
    facts = None
    if names is not None:
        facts = StateFacts.of(automaton, *checked(automaton, names, mass))
    return "".join(dot_lines(automaton, limit, facts))


def dot_lines(
    automaton: WeightedAutomaton, threshold: float, facts: StateFacts | None = None
) -> Iterator[str]:
    """Yield the lines of an automaton as Graphviz text; without facts its states have numbers."""
    caption = hidden_caption(automaton, threshold)
    states: Iterable[str]
    if facts is None:
        shape = "shape=circle"
        weights = (state_weights(automaton, q) for q in range(automaton.n_states))
        states = (f'    {q} [label="{q}\\n{weight}"];' for q, weight in enumerate(weights))
    else:
        shape = 'shape=box, style="rounded,filled", fillcolor="#FFFFFF"'
        states = _named_states(automaton, facts)
    head = (
        f"// {caption}",
        "digraph automaton {",
        '    graph [charset="UTF-8", rankdir=LR, fontname=Helvetica, fontsize=11];',
        f'    graph [labelloc=b, label="{caption}"];',
        f"    node [{shape}, fontname=Helvetica];",
        "    edge [fontname=Helvetica, fontsize=11];",
    )
    largest = heaviest_weight(automaton)
    edges = (_edge_line(edge, facts, largest) for edge in iter_edges(automaton, threshold))
    return (f"{line}\n" for line in chain(head, states, edges, "}"))


def _edge_line(edge: DrawnEdge, facts: StateFacts | None, largest: float) -> str:
    written = edge.lines if facts is None else facts.edge_label(edge)
    full_text = edge.full_text if facts is None else facts.edge_text(edge)
    label = "".join(f"{_quoted(line)}\\l" for line, _ in written)
    width = 1 + 3 * abs(edge.heaviest) / largest
    if facts is not None and facts.is_certain:
        width = CERTAIN_PEN
    sign = f'"{NEGATIVE}", style=dashed' if edge.heaviest < 0 else f'"{POSITIVE}"'
    return (
        f'    {edge.origin} -> {edge.target} [label="{label}", '
        f'tooltip="{_quoted(full_text)}", penwidth={width:.2f}, color={sign}];'
    )


def _named_states(automaton: WeightedAutomaton, facts: StateFacts) -> list[str]:
    """Return states with their names, and arrows into those where words begin."""
    lines = []
    for q, (name, final) in enumerate(zip(facts.names, automaton.final.tolist(), strict=True)):
        rims = ", peripheries=2" if facts.has_double_rim(automaton, q) else ""
        second = f"ends {facts.share(final)}"
        if facts.decided is not None:
            second = _quoted(facts.decided.label(q))
        lines.append(
            f'    {q} [label="{_quoted(name)}\\n{second}", fillcolor="{tint(facts, q)}"{rims}];'
        )
    for q in sorted(facts.begins):
        weight = float(automaton.initial[q])
        style = f'color="{NEGATIVE}", style=dashed, ' if weight < 0 else ""
        label = "".join(line for line, _ in entry_label(automaton, facts, q))
        lines += [
            f'    in{q} [shape=point, style=invis, label=""];',
            f'    in{q} -> {q} [{style}label="{label}", '
            f'tooltip="words begin here with weight {typeset(weight)}"];',
        ]
    return lines


def _quoted(text: str) -> str:
    """Escape text for a quoted Graphviz string, where entities such as ``&lt;`` are read too."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
