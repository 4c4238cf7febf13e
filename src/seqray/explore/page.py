"""Puts the one HTML file together: content, styles, scripts, and a policy that allows no more."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.wa import AutomatonLike, as_automaton
from seqray.errors import ArgumentError
from seqray.explore.content import Subject, page_content, with_ranks
from seqray.explore.heard import Heard, hear
from seqray.explore.ranks import pack_ranks, show_ranks
from seqray.explore.whole import rank_changes, whole_facts
from seqray.extraction import Extraction
from seqray.redaction import redacted
from seqray.store import open_run
from seqray.words import Word, Words

LIMIT = 2_950_000
"""How many bytes a page may have; three million are promised."""

STYLES = ("vendor/uPlot.min.css", "page.css", "graph.css", "word.css", "tables.css", "screens.css")

SCRIPTS = (
    *("tools.js", "automaton.js", "content.js", "layout.js", "arrows.js", "graph.js"),
    *("state.js", "charts.js", "compare.js", "facts.js", "word.js", "page.js"),
)


def to_html(
    found: Extraction | AutomatonLike,
    *,
    box: BlackBox | None = None,
    words: Words | Iterable[Word] | None = None,
    rank: int | None = None,
    name: str | None = None,
    max_length: int | None = None,
    seed: int = 0,
    is_live: bool = False,
) -> str:
    """Return a page to look at an extraction with, as one HTML file that needs nothing else.

    Parameters
    ----------
    found
        An extraction, with automata of every rank, or a single automaton; or the path of a run
        folder or of an automaton's file.
    box
        The black box. With it the page also shows where box and automaton agree and where not.
    words
        What to compare them on; by default words are drawn from the box.
    rank
        The number of states that is shown first; by default the best.
    name
        What to call the box; by default the name in a run folder, or the box's specification.
    max_length
        The longest word to draw from the box: by default 100 symbols, 12 where words are drawn at
        random, or the box's own limit where that is less.
    seed
        Of all chance in it.
    is_live
        Whether the page is served by `seqray.explore.serve`, and can ask the box.

    Returns
    -------
    str
        The page, less than three million bytes in UTF-8. Opened in a browser it makes no request.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> page = to_html(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
    >>> page.startswith("<!DOCTYPE html>"), len(page.encode()) < 3_000_000
    (True, True)
    """
    if words is not None and box is None:
        raise ArgumentError("words: only needed to compare with a box, and box is None")
    if isinstance(found, str | os.PathLike) and os.path.isdir(found):
        found = open_run(found)
    subject = Subject.of(found if isinstance(found, Extraction) else as_automaton(found, "found"))
    chosen = subject.best if rank is None else rank
    shown = show_ranks(subject.automata, subject.ranks, chosen)
    heard: Heard | None = None
    if box is not None:
        own = None if words is None else box.alphabet.words(words)
        automata = subject.automata
        heard = hear(
            *(box, automata.automaton, subject.ranks, chosen),
            sure=automata.fitted.keys(),
            words=own,
            max_length=max_length,
            seed=seed,
        )
    settings = subject.settings
    called = redacted(name or str(settings.get("name") or settings.get("box") or "black box"))
    document = page_content(
        subject,
        chosen,
        name=called,
        facts=whole_facts(next(each for each in shown if each.rank == chosen)),
        changes=rank_changes(subject.automata, subject.ranks, chosen),
        heard=heard,
        is_live=is_live,
    )
    room = LIMIT - len(_assembled(document, is_live).encode())
    packed = pack_ranks(subject.automata, shown, chosen, room)
    return _assembled(with_ranks(document, packed), is_live)


def policy(scripts: Iterable[str], styles: Iterable[str], is_live: bool) -> str:
    """Return a content security policy that allows the given inline parts, and no request.

    Graphviz runs in a worker that the page makes of its own text, hence ``blob:``.

    >>> policy(["run()"], [], False)[:43]
    "default-src 'none'; script-src 'sha256-Avyu"
    """
    rules = {
        "default-src": ["'none'"],
        "script-src": [*map(_digest, scripts), "'wasm-unsafe-eval'"],
        "style-src": list(map(_digest, styles)) or ["'none'"],
        "worker-src": ["blob:"],
        "img-src": ["data:"],
        "connect-src": ["'self'" if is_live else "'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    return "; ".join(" ".join([rule, *values]) for rule, values in rules.items())


def page_policy(is_live: bool) -> str:
    """Return the policy of every page, for a server's header."""
    return policy([_script()], [_style()], is_live)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _assembled(document: dict[str, Any], is_live: bool) -> str:
    """Fill the frame of the page. Nothing of the content is read as HTML or as a script."""
    parts = {
        "POLICY": page_policy(is_live),
        "STYLE": _style(),
        "CONTENT": _json(document),
        "GRAPHVIZ": _graphviz(),
        "LICENCES": _static("vendor/LICENSES.txt"),
        "SCRIPT": _script(),
    }
    pieces = _static("page.html").split("%%")
    # Every second piece is the name of a part: what is filled in is not looked at again.
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def _json(document: dict[str, Any]) -> str:
    """Return JSON that a script element can hold: no ``<`` of it can end the element."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


@cache
def _static(path: str) -> str:
    return files("seqray.explore").joinpath("static", path).read_text("utf-8")


@cache
def _style() -> str:
    return "\n".join(map(_static, STYLES))


@cache
def _script() -> str:
    own = "\n".join(map(_static, SCRIPTS))
    return f'{_static("vendor/uPlot.iife.min.js")}\n(() => {{\n"use strict";\n{own}\n}})();\n'


@cache
def _graphviz() -> str:
    """Return Graphviz for the worker, deflated: a third of its size."""
    source = files("seqray.explore").joinpath("static", "vendor", "viz-global.js").read_bytes()
    return base64.b64encode(zlib.compress(source, 9)).decode("ascii")
