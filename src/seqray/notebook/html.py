"""HTML for notebooks: tables and cards, readable on light and on dark paper.

All texts are escaped. There are no scripts, style sheets, ids or colours of text: a notebook's own
colours count, in every theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from seqray.explain.text import Section

LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
CELL = "padding:2px 10px 2px 0;vertical-align:top"
NUMBER, TEXT = "text-align:right;white-space:nowrap", "text-align:left;white-space:pre-wrap"
MUTED = "opacity:.72;font-size:90%"
MAX_CELL_CHARACTERS = 200
"""Longer texts are cut: a table in a notebook is to be read at a glance."""


def table(section: Section) -> str:
    """Return a table of an explanation: title, rows and note.

    >>> html = table(Section("Words", ("word", " weight"), (("<b>", "0.5"),)))
    >>> "&lt;b&gt;" in html, "<script" in html
    (True, False)
    """
    short = section.shortened()
    numeric = [name.startswith(" ") for name in short.columns]
    names = [name.strip() for name in short.columns]
    head = _row(names, numeric, "th") if any(names) else ""
    body = "".join(_row(row, numeric, "td") for row in short.rows)
    whole = f'<table style="border-collapse:collapse;margin:2px 0 4px">{head}{body}</table>'
    return f"{title(short.title)}{whole}{note(short.note)}"


def tables(sections: Iterable[Section]) -> str:
    """Return tables one below the other."""
    return framed("".join(map(table, sections)))


def title(text: str) -> str:
    """Return the title of a table or a card."""
    return f'<div style="font-weight:bold;margin-top:8px">{escape(text)}</div>' if text else ""


def note(text: str) -> str:
    """Return what to know to read a table; each line of it is one."""
    lines = "<br>".join(escape(line) for line in text.splitlines())
    return f'<div style="{MUTED}">{lines}</div>' if text else ""


def framed(content: str) -> str:
    """Return what belongs together; what is too wide can be scrolled."""
    return f'<div style="overflow-x:auto;max-width:100%">{content}</div>'


def _row(cells: Sequence[str], numeric: Sequence[bool], tag: str) -> str:
    shown = "".join(
        f'<{tag} style="{CELL};{NUMBER if number else TEXT}">{_cut(cell)}</{tag}>'
        for cell, number in zip(cells, numeric, strict=True)
    )
    return f'<tr style="background:none;{LINE}">{shown}</tr>'


def _cut(text: str) -> str:
    if len(text) > MAX_CELL_CHARACTERS:
        text = f"{text[: MAX_CELL_CHARACTERS - 1]}…"
    return escape(text)
