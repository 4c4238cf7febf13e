"""The map of groups as HTML: a section of a page, and a page of its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Any

import numpy as np

from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import BlackBox
from seqray.explore.content import Subject, fidelity_content, how_made
from seqray.explore.first_look import FirstLook, spelled_states, table_html
from seqray.explore.frame import filled_frame, policy, static_text
from seqray.explore.groups import GroupMap
from seqray.explore.terms import NO_BREAK
from seqray.fidelity.reference import Reference, drawn_words
from seqray.util.errors import ArgumentError
from seqray.util.formatting import counted, page_percent

MAX_STATE_ROWS, MAX_GROUPS = 600, 300
"""Rows of states, and groups, of which a section tells."""

MAX_ROWS, N_NEXT = 12, 4
"""States of a group, and next symbols of a row."""

STYLES = ("page.css", "graph.css", "tables.css", "groups.css", "screens.css")
SCRIPTS = ("tools.js", "groups.js", "groups_page.js")


def groups_section(automaton: StructuredAutomaton, title: str) -> str:
    """Return the map of an automaton's groups, each of which opens, as HTML.

    Examples
    --------
    >>> from seqray import Grouping
    >>> wa = StructuredAutomaton(
    ...     "a", Grouping.by_last_symbol([2]), [1], [[0.5, 0.5]] * 3, [1, 0.5, 0.5]
    ... )
    >>> groups_section(wa, "A map").count("<details")
    2
    """
    groups = GroupMap(automaton)
    drawing = groups.drawing()
    n_groups = automaton.grouping.n_groups
    rows = int(np.clip(MAX_STATE_ROWS // n_groups, 1, MAX_ROWS))
    shown = set(np.argsort(-groups.group_mass, kind="stable")[:MAX_GROUPS].tolist())
    opened = "\n".join(_place(groups, place, rows, shown) for place in range(groups.n_places))
    intro = (
        f"{counted(automaton.n_states, 'state')} in {counted(n_groups, 'group')}: after any word "
        "exactly one group is active, and the states in it are mixed. A circle stands for "
        f"{'one group' if groups.n_places == n_groups else 'all groups with the same last symbol'}"
        ", an arrow for what happens there on average. Choose a circle to open it."
    )
    return (
        f'<section id="groups" aria-labelledby="groups-title">'
        f'<h2 id="groups-title">{escape(title)}</h2><p class="intro">{escape(intro)}</p>'
        f'<p class="graph-tools muted">{escape(drawing.caption())}</p>'
        f'<div class="card graph-card"><div class="graph-frame">{drawing.to_svg()}</div></div>'
        f'<div class="groups">{opened}</div></section>'
    )


def _place(groups: GroupMap, place: int, rows: int, shown: set[int]) -> str:
    members = [group for group in groups.places[place] if group in shown]
    left_out = len(groups.places[place]) - len(members)
    many = counted(len(groups.places[place]), "group")
    inside = f"{many}, " if len(groups.places[place]) > 1 else ""
    size = f"{inside}{counted(groups.n_states(place), 'state')}"
    note = f'<p class="caption">And {counted(left_out, "group")} more.</p>' if left_out else ""
    time = page_percent(float(groups.mass[place])).replace(" ", NO_BREAK)
    return (
        f'<details class="card group" id="group-{place}"><summary><b>{escape(groups.names[place])}'
        f"</b> <span>{size} · {time} of the time</span></summary>"
        f"<h3>What comes next</h3>{_next_table(groups, place)}"
        f"{''.join(_group(groups, group, rows) for group in members)}{note}"
        '<p><a href="#groups">Back to the map</a></p></details>'
    )


def _next_table(groups: GroupMap, place: int) -> str:
    row, alphabet = groups.next_symbol(place), groups.automaton.alphabet
    names = [*map(str, alphabet), "end"]
    best = [code for code in np.argsort(-row, kind="stable")[:MAX_ROWS].tolist() if row[code] > 0]
    return table_html(
        ["symbol", "probability", "leads to"],
        [(names[c], page_percent(float(row[c])), _target(groups, place, c)) for c in best],
    )


def _target(groups: GroupMap, place: int, code: int) -> str:
    """Return where a symbol leads from a place."""
    if code == len(groups.automaton.alphabet):
        return "–"
    targets = groups.automaton.next_group[groups.places[place], code]
    places = np.unique(groups.place_of_group[targets]).tolist()
    return groups.names[places[0]] if len(places) == 1 else f"one of {len(places)} places"


def _group(groups: GroupMap, group: int, rows: int) -> str:
    states = groups.automaton.grouping.states(group)
    mass, flows = groups.state_mass[states], np.maximum(groups.flows[states], 0)
    order = np.argsort(-mass, kind="stable")[:rows].tolist()
    names = [*map(str, groups.automaton.alphabet), "end"]
    listed = []
    for state in order:
        row = flows[state] / (flows[state].sum() or 1.0)
        best = np.argsort(-row, kind="stable")[:N_NEXT].tolist()
        said = ", ".join(f"{names[c]} {page_percent(float(row[c]))}" for c in best if row[c] > 0)
        listed.append((f"state {state + 1}", page_percent(float(mass[state])), said or "–"))
    rest = len(mass) - len(order)
    note = f'<p class="caption">And {counted(rest, "state")} more.</p>' if rest else ""
    title = f"States {groups.group_name(group)}"
    return f"<h3>{escape(title)}</h3>{table_html(['state', 'time', 'mostly next'], listed)}{note}"


# A page of its own --------------------------------------------------------------------------------


def groups_html(
    automaton: StructuredAutomaton,
    *,
    box: BlackBox | None = None,
    words: Words | Iterable[Word] | None = None,
    name: str | None = None,
    max_length: int | None = None,
    seed: int = 0,
) -> str:
    """Return a page about a structured automaton, as one HTML file that needs nothing else.

    The parameters are those of `seqray.to_html`.
    """
    called = name or "black box"
    fidelity = None
    if box is not None:
        box = as_box(box)
        if box.alphabet != automaton.alphabet:
            raise ArgumentError(
                f"the automaton reads {automaton.alphabet}, the box {box.alphabet}: "
                "expected the same symbols in the same order"
            )
        if words is None:
            rng = np.random.default_rng(seed + 1)
            drawn, source = drawn_words(box, seed=rng, max_length=max_length)
        else:
            drawn = box.alphabet.words(words)
            source = f"{counted(len(drawn), 'given word')}"
        compared = Reference.query(box, drawn).compare(automaton)
        fidelity = fidelity_content({automaton.n_states: compared}, source)
    made = how_made(Subject.of(automaton), automaton.n_states, called, None)
    document: dict[str, Any] = {
        "queries": None,
        "alphabet": {"names": list(map(str, automaton.alphabet)), "separator": " "},
        "chosen": automaton.n_states,
        "largest": 1,
        "fidelity": fidelity,
        "facts": {"words": []},
        "made": made,
    }
    states = counted(automaton.n_states, "state")
    parts = {
        "TITLE": escape(f"{called} in {states} · seqray"),
        "HEADLINE": f'<span class="box-name">{escape(called)}</span>, seen as '
        + spelled_states(automaton.n_states),
        "GROUPS": groups_section(automaton, "What it does, as a map of groups"),
        "CONTENT": "",
        "STYLE": _style(),
        "SCRIPT": _script(),
        "POLICY": policy([_script()], [_style()], False),
        **FirstLook(document, None).parts(),
    }
    return filled_frame("groups.html", parts)


@cache
def _style() -> str:
    return "\n".join(map(static_text, STYLES))


@cache
def _script() -> str:
    own = "".join(map(static_text, SCRIPTS))
    return f'(() => {{\n"use strict";\n{own}}})();\n'
