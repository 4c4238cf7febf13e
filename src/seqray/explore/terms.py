"""Sentences in two forms: for everyone, and for experts in the terms of the glossary."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from html import escape

from seqray.explore.frame import static_text

NO_BREAK = "\u00a0"
"""A space at which no line ends."""


@cache
def terms() -> Mapping[str, tuple[str, str]]:
    """Return all sentences by name: for everyone, for experts.

    >>> terms()["sizes.values"]
    ('What each further state adds', 'Singular values')
    """
    return {name: tuple(both) for name, both in json.loads(static_text("terms.json")).items()}


def term(name: str, values: Mapping[str, str] | None = None) -> str:
    """Return a sentence in both forms as HTML, of which the page shows one.

    >>> term("graph.many")
    'There are too many states for names, so they have numbers.'
    >>> term("made.Basis")
    '<span class="everyone">Beginnings × endings</span><span class="experts">Basis</span>'
    """
    everyone, experts = (escape(_filled(text, values or {})) for text in terms()[name])
    if everyone == experts:
        return everyone
    return f'<span class="everyone">{everyone}</span><span class="experts">{experts}</span>'


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value.replace(" %", f"{NO_BREAK}%"))
    return text
