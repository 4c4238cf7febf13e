"""The page of a difference: both automata side by side, and what differs, without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from html import escape
from itertools import zip_longest

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import Question
from seqray.draw.compared import DrawnChanges, DrawnSide, compared_scenes
from seqray.draw.graph import clear_threshold
from seqray.draw.scene import PAPER, Scene
from seqray.draw.svg import scene_svg
from seqray.explain.difference.distance import DistanceFigure
from seqray.explain.difference.record import Difference, SideSummary, shown_figure
from seqray.explain.difference.states import MIN_CHANGE, ChangeKind, PlacedWeights, StateComparison
from seqray.explain.text import Section
from seqray.explore.frame import filled_frame, policy, script_json, static_text
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError
from seqray.util.files import nulled
from seqray.util.formatting import counted
from seqray.util.version import __version__

MAX_DRAWN_PLACES = 40
"""With more states in both together they are listed and not drawn."""

MAX_DRAWN_CHANGES = 20
"""So many changes are drawn, however small their weights."""

FAINT_END = 1e-3
"""The probability to end at a place where an automaton has no state; it is not drawn."""

TITLE_HEIGHT = 30
"""How much room a name has above a drawing, in pixels."""

STYLES = ("page.css", "screens.css", "difference.css")


def difference_html(difference: Difference) -> str:
    """Return a page about a difference, as one HTML file that needs nothing else.

    `seqray.to_html` does this for a difference.

    Examples
    --------
    >>> import seqray
    >>> coin = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> page = difference_html(seqray.diff(coin, coin))
    >>> page.startswith("<!DOCTYPE html>"), "No difference" in page, "<script>" in page
    (True, True, False)
    """
    parts = {
        "TITLE": escape(f"{difference.a.name} → {difference.b.name} · seqray diff"),
        "STYLE": _style(),
        "POLICY": policy([], [_style()], False),
        "BODY": "\n".join(_sections(difference)),
        "CONTENT": script_json(nulled(difference.to_json(), lambda x: not np.isfinite(x))),
    }
    return filled_frame("difference.html", parts)


@cache
def _style() -> str:
    return "\n".join(map(static_text, STYLES))


def _sections(difference: Difference) -> list[str]:
    distances, words, *of_states = difference.sections()
    answers = _bars([(each.a, each.b) for each in difference.different])
    worst = _section("words", words.title, _table(words, answers))
    figures = _section("distance", "All figures", _table(distances))
    if difference.shown_states is None:
        said = [_section("states", each.title, _table(each)) for each in of_states]
        return [_head(difference), *said, worst, figures, _made(difference)]
    states, arrows = of_states
    changes = _bars([(each.a, each.b) for each in difference.changes()[: len(arrows.rows)]])
    changed = _section("arrows", arrows.title, _table(arrows, changes))
    return [
        _head(difference),
        _drawings(difference, difference.shown_states),
        f'<div class="pair">{changed}{worst}</div>',
        _section("states", "Which states are which", _table(states)),
        figures,
        _made(difference),
    ]


def _section(key: str, title: str, *contents: str) -> str:
    inner = "\n".join(contents)
    return f'<section id="{key}"><h2>{escape(title)}</h2>\n{inner}\n</section>'


def _head(difference: Difference) -> str:
    sides = zip("AB", _both(difference), strict=True)
    names = "<br>".join(_letter(letter, side) for letter, side in sides if side.name != letter)
    tiles = "".join(
        f'<div class="tile"><b class="tile-value"><span>{escape(value)}</span></b>'
        f'<span class="tile-text">{escape(text)}</span></div>'
        for value, text in _tiles(difference)
    )
    explanation = difference.explanation
    return (
        '<header class="head"><p class="kicker">seqray diff</p>'
        f"<h1>{escape(difference.headline)}</h1>"
        f'<p class="lede">{escape(explanation[:1].upper() + explanation[1:])}</p>'
        + (f'<p class="names">{names}</p>' if names else "")
        + f'<div class="tiles">{tiles}</div></header>'
    )


def _both(difference: Difference) -> tuple[SideSummary, SideSummary]:
    return difference.a, difference.b


def _letter(letter: str, side: SideSummary) -> str:
    name = "" if side.name == letter else escape(side.name)
    return f'<span class="letter {letter.lower()}">{letter}</span>{name}'


def _tiles(difference: Difference) -> list[tuple[str, str]]:
    """Return the headline figures, each with what it is."""
    distance = difference.distance
    sources = (distance.words_a, distance.words_b)
    tiles = [_measured(*each) for each in zip(distance.figures, sources, strict=False)]
    if difference.shown_states is not None:
        changes = difference.changes()
        counts = [
            f"{n} {kind.value}"
            for kind in ChangeKind
            if (n := sum(each.change is kind for each in changes))
        ]
        what = "arrow differs" if len(changes) == 1 else "arrows differ"
        tiles.append((f"{len(changes):,}", f"{what}: {', '.join(counts) or 'none'}"))
        matched = sum(None not in (each.a, each.b) for each in difference.shown_states.matches)
        sizes = f"of {difference.a.n_states} in A and {difference.b.n_states} in B"
        what = "state is" if matched == 1 else "states are"
        tiles.append((f"{matched}", f"{what} in both, {sizes}"))
    return tiles


def _measured(figure: DistanceFigure, words: str) -> tuple[str, str]:
    """Return a figure, and what it is, with its interval."""
    text = f"{figure.name}, on {words}"
    if figure.interval is not None:
        text += "; 95 % interval {:.3g} … {:.3g}".format(*figure.interval)
    return shown_figure(replace(figure, interval=None)), text


# The drawings -------------------------------------------------------------------------------------


def _drawings(difference: Difference, states: StateComparison) -> str:
    title = "Both as maps"
    if len(states.matches) > MAX_DRAWN_PLACES:
        count = counted(len(states.matches), "state")
        return _section("graph", title, f"<p>{count} are too many to draw side by side.</p>")
    figures = "".join(
        f'<figure class="card"><figcaption>{_letter(letter, side)}</figcaption>'
        f'<div class="scroll" {_focusable(f"Drawing of {letter}")}>{svg}</div></figure>'
        for letter, side, svg in zip("AB", _both(difference), side_by_side(states), strict=True)
    )
    intro = (
        "A state is what is known after the words that lead to it; an arrow reads a symbol, with "
        "its weight. States that are the same in both stand at the same place."
    )
    said = f'<p class="intro">{intro}</p>'
    return _section("graph", title, said, f'<div class="sides">{figures}</div>')


def side_by_side(states: StateComparison) -> tuple[str, str]:
    """Return two drawings with one layout, as SVG.

    >>> import seqray
    >>> coin = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> one, other = side_by_side(seqray.diff(coin, coin).states)
    >>> one.count('class="state"'), other.count('class="state"')
    (1, 1)
    """
    one, other = _scenes(states)
    return scene_svg(one), scene_svg(other)


def difference_svg(difference: Difference) -> str:
    """Return both automata of a difference in one SVG picture.

    >>> import seqray
    >>> coin = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> difference_svg(seqray.diff(coin, coin)).count("<svg ")
    3
    """
    if difference.states is None or len(difference.states.matches) > MAX_DRAWN_PLACES:
        raise ArgumentError(
            f"a picture of both needs their states, at most {MAX_DRAWN_PLACES} together: compare "
            "states, or write a page (.html) instead"
        )
    x, parts = 0.0, []
    scenes = _scenes(difference.states)
    for letter, side, scene in zip("AB", _both(difference), scenes, strict=True):
        *_, width, height = scene.view
        name = letter if side.name == letter else f"{letter}: {side.name}"
        place = f'x="{x:.1f}" y="{TITLE_HEIGHT}" width="{width:.1f}" height="{height:.1f}"'
        parts.append(f'<text x="{x + 14:.1f}" y="20" font-weight="bold">{escape(name)}</text>')
        parts.append(scene_svg(scene).replace("<svg ", f"<svg {place} ", 1))
        x += width
    size = f"{x:.1f} {TITLE_HEIGHT + max(scene.view[3] for scene in scenes):.1f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
            'font-family="sans-serif" font-size="15">',
            f"<title>{escape(difference.headline)}</title>",
            f'<rect width="100%" height="100%" fill="{PAPER}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _scenes(states: StateComparison) -> tuple[Scene, Scene]:
    """Draw two automata with one layout."""
    placed = states.placed()
    names = (
        [
            states.a.names[each.a] if each.a is not None else states.name(each)
            for each in states.matches
        ],
        [
            states.b.names[each.b] if each.b is not None else states.name(each)
            for each in states.matches
        ],
    )
    one, other = (
        DrawnSide(_whole(states, weights), own, _mass(weights), weights.present)
        for weights, own in zip(placed, names, strict=True)
    )
    union = _whole(states, _union(*placed))
    changes = _changes(states, *placed)
    return compared_scenes(union, (one, other), _threshold(states, placed), changes)


def _changes(states: StateComparison, a: PlacedWeights, b: PlacedWeights) -> DrawnChanges:
    """Return what differs, by place."""
    limit = MIN_CHANGE * states.scale
    steps = np.abs(a.steps - b.steps).max(axis=0, initial=0)
    edges = {(int(q), int(r)) for q, r in np.argwhere(steps >= limit)}
    ends = np.abs(a.ends - b.ends).max(axis=1, initial=0)
    return DrawnChanges(edges, np.abs(a.begin - b.begin) >= limit, ends >= limit)


def _mass(placed: PlacedWeights) -> FloatArray | None:
    return placed.mass if placed.mass.sum() < 1.001 else None


def _union(a: PlacedWeights, b: PlacedWeights) -> PlacedWeights:
    """Return the larger of both weights everywhere."""
    return PlacedWeights(
        np.maximum(np.abs(a.begin), np.abs(b.begin)),
        np.maximum(np.abs(a.steps), np.abs(b.steps)),
        np.where(a.present[:, None], a.ends, b.ends),
        a.mass,
        a.present | b.present,
    )


def _whole(states: StateComparison, placed: PlacedWeights) -> WeightedAutomaton:
    """Return an automaton with a state at each place; one that is not there loops for ever."""
    steps, ends = placed.steps.copy(), placed.ends.copy()
    absent = np.flatnonzero(~placed.present)
    a = states.a.automaton
    if isinstance(a, ClassifierAutomaton):
        steps[:, absent, absent] = 1.0
        ends[absent] = np.eye(ends.shape[1])[0]
        parts = (a.alphabet, placed.begin, steps, ends)
        question = Question.PROBABILITY
        return ClassifierAutomaton(*parts, classes=a.classes, question=question)
    ends[absent], steps[0, absent, absent] = FAINT_END, 1 - FAINT_END
    return WeightedAutomaton(a.alphabet, placed.begin, steps, ends[:, 0])


def _threshold(states: StateComparison, placed: tuple[PlacedWeights, PlacedWeights]) -> float:
    """Return a threshold that leaves few edges, and those that differ most."""
    a, b = (np.abs(each.steps) for each in placed)
    clear = min(clear_threshold(each.automaton) for each in (states.a, states.b))
    differences = np.abs(placed[0].steps - placed[1].steps)
    order = np.argsort(-differences, axis=None)[:MAX_DRAWN_CHANGES]
    sizes = np.maximum(a, b).ravel()[order]
    sizes = sizes[differences.ravel()[order] >= MIN_CHANGE * states.scale]
    return float(min(clear, sizes.min(initial=np.inf)))


# Tables -------------------------------------------------------------------------------------------


def _focusable(name: str) -> str:
    """Return the attributes of what may have to be scrolled, so that keys can do that."""
    return f'tabindex="0" role="region" aria-label="{escape(name)}"'


def _table(section: Section, bars: Sequence[str] = ()) -> str:
    """Return a table as HTML, with a picture of each row if there are any; numbers to the right."""
    short = section.shortened()
    kinds = [_column_kind(name) for name in short.columns]
    head = "".join(
        f'<th class="{kind}" scope="col">{escape(name.strip())}</th>'
        if name.strip()
        else "<td></td>"
        for name, kind in zip(short.columns, kinds, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(map(_cell, row, kinds, short.columns))}{bar}</tr>"
        for row, bar in zip_longest(short.rows, bars, fillvalue="")
    )
    note = f'<p class="caption">{escape(short.note)}</p>' if short.note else ""
    if not short.rows:
        return note
    head += '<td class="bars"></td>' if bars else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="table" {_focusable(section.title)}>{table}</div>{note}'


def _bars(pairs: Sequence[tuple[float | str, float | str]]) -> list[str]:
    """Return a cell with two bars for each pair of probabilities.

    Nothing where some are no probabilities, or all are 0 or 1.
    """
    values = np.array([value for pair in pairs for value in pair if not isinstance(value, str)])
    if len(values) < 2 * len(pairs) or not ((values >= 0) & (values <= 1)).all():
        return []
    if np.isin(values, (0, 1)).all():
        return []
    return [
        f'<td class="bars"><svg viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="a" width="{100 * a:.1f}" height="6"/>'
        f'<rect class="b" y="8" width="{100 * b:.1f}" height="6"/></svg></td>'
        for a, b in values.reshape(-1, 2).tolist()
    ]


def _column_kind(name: str) -> str:
    if name.startswith(" "):
        return "number"
    return {"meaning": "text meaning", "word": "text word", "after the word": "text word"}.get(
        name, "text"
    )


def _cell(cell: str, kind: str, column: str) -> str:
    text = escape(cell)
    if not column and cell in [*ChangeKind]:
        text = f'<span class="chip {text}">{text}</span>'
    return f'<td class="{kind}">{text}</td>'


def _made(difference: Difference) -> str:
    rows = []
    for letter, side in zip("AB", _both(difference), strict=True):
        facts = [counted(side.n_queries, "query").replace("querys", "queries")]
        if side.n_states is not None:
            how = "extracted for this page" if side.is_extracted else "as it was given"
            facts.append(f"an automaton of {counted(side.n_states, 'state')}, {how}")
        rows.append((f"{letter}: {side.name}", "; ".join(facts)))
    rows += [("random seed", str(difference.seed)), ("seqray", __version__)]
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in rows)
    return _section("made", "How it was made", f"<dl>{listed}</dl>")
