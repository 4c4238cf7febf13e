"""What notebooks show of each kind of value; the package connects it to `seqray.util.display`."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.purpose import Purpose
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.text import Section
from seqray.explore.page import to_html
from seqray.extraction.result import Extraction
from seqray.fidelity.decisions import DecisionFidelity
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.learning.determinise import Determinised
from seqray.learning.result import Learned
from seqray.notebook.drawing import draw, shown_drawing
from seqray.notebook.fidelity_tables import confusion_section, fidelity_section, ranks_section
from seqray.notebook.html import framed, note, tables
from seqray.notebook.summaries import (
    TOO_LARGE,
    automaton_section,
    extraction_section,
    learned_section,
)
from seqray.util.display import InlinePage

__all__ = ["bundle", "draw", "explore"]

SVG = "image/svg+xml"


def explore(subject: Any, height: int, /, **how: Any) -> InlinePage:
    """Return the explorer page of an automaton or an extraction; see `Drawable.explore`."""
    return InlinePage(to_html(subject, **how), height)


@singledispatch
def bundle(value: Any) -> dict[str, str]:
    """Return what to show of a value, by media type: tables of its sections."""
    sections = value.sections() if hasattr(value, "sections") else (value.section(),)
    return {"text/html": tables(sections)}


@bundle.register(WeightedAutomaton)
@bundle.register(NamedAutomaton)
def _automaton(value: WeightedAutomaton | NamedAutomaton) -> dict[str, str]:
    """Show a drawing; of a large automaton a table of its sizes."""
    picture = shown_drawing(value)
    if picture is None:
        return {"text/html": tables([automaton_section(value)])}
    return {"text/html": framed(f"{note(repr(value))}{picture.svg}"), SVG: picture.svg}


@bundle.register
def _extraction(value: Extraction) -> dict[str, str]:
    section = extraction_section(value)
    remarks = "\n".join(value.remarks)
    return _card(section, value.best(purpose=Purpose.READING), remarks)


@bundle.register
def _learned(value: Learned) -> dict[str, str]:  # type: ignore[type-arg]
    return _card(learned_section(value), value.automaton)


@bundle.register
def _determinised(value: Determinised) -> dict[str, str]:
    return _card(Section("Determinised", ("",), ((value.report,),)), value.automaton)


@bundle.register
def _fidelity(value: Fidelity) -> dict[str, str]:
    return {"text/html": tables([fidelity_section(value)])}


@bundle.register
def _decision_fidelity(value: DecisionFidelity) -> dict[str, str]:
    return {"text/html": tables([fidelity_section(value), confusion_section(value)])}


@bundle.register
def _fidelity_table(value: FidelityTable) -> dict[str, str]:
    return {"text/html": tables([ranks_section(value)])}


def _card(section: Section, automaton: WeightedAutomaton, remarks: str = "") -> dict[str, str]:
    """Show a table and below it a drawing, where it is small enough."""
    picture = shown_drawing(automaton)
    below = note(TOO_LARGE) if picture is None else picture.svg
    return {"text/html": framed(f"{tables([section])}{note(remarks)}{below}")}
