"""Tables that sum up an automaton, an extraction or what was learnt, for notebooks."""

from __future__ import annotations

from typing import Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.text import Section
from seqray.extraction.result import Extraction
from seqray.fidelity.table import Fidelity
from seqray.learning.result import Learned
from seqray.util.formatting import counted, megabytes, significant, significant_but_one
from seqray.util.redaction import redacted

TOO_LARGE = "Too large to be drawn unasked: draw() draws up to 500 states."

MAX_SYMBOLS = 12
"""How many symbols of an alphabet are listed."""


def automaton_section(automaton: WeightedAutomaton | NamedAutomaton) -> Section:
    """Return the sizes of an automaton that is too large to be drawn unasked."""
    wa = automaton.automaton if isinstance(automaton, NamedAutomaton) else automaton
    rows = [
        ("states", f"{wa.n_states:,}"),
        ("symbols", f"{len(wa.alphabet):,}: {_some_symbols(wa)}"),
        ("multiplications per symbol", f"up to {wa.cost_per_symbol:,}"),
        ("size", megabytes(wa.n_bytes)),
    ]
    if isinstance(wa, ClassifierAutomaton):
        rows.append(("classes", ", ".join(wa.classes)))
    return Section(type(automaton).__name__, ("", ""), tuple(rows), TOO_LARGE)


def _some_symbols(wa: WeightedAutomaton) -> str:
    symbols = [str(symbol) for symbol in wa.alphabet.symbols[:MAX_SYMBOLS]]
    return ", ".join(symbols + ["…"] * (len(wa.alphabet) > MAX_SYMBOLS))


def extraction_section(extraction: Extraction) -> Section:
    """Return what was queried, which rank was chosen, and how faithful it is."""
    settings, rank = extraction.settings, extraction.best_rank()
    box = settings.about.get("name") or settings.about.get("box")
    rows = [
        ("box", redacted(str(box)) if box else ""),
        ("alphabet", f"{len(extraction.basis.alphabet):,} symbols"),
        ("queries", _queries(extraction)),
        ("states", f"{rank}, chosen among ranks 1 … {extraction.max_rank}"),
        ("fidelity", _fidelity(extraction.fidelity[rank], extraction.compared_on)),
    ]
    if extraction.copies:
        copy = extraction.copies[-1]
        size = f"{counted(copy.n_states, 'state')}, {_score(copy.fidelity)}"
        rows.append(("largest copy", size))
    rows.append(("ended early", settings.stopped))
    return Section("Extraction", ("", ""), tuple(row for row in rows if row[1]))


def _queries(extraction: Extraction) -> str:
    settings = extraction.settings
    if settings.questions is None:
        return ""
    mode = "" if settings.query_mode is None else f" ({settings.query_mode.value})"
    return f"{settings.questions:,}{mode}; {settings.basis or 'a basis'}"


def _fidelity(fidelity: Fidelity, source: str) -> str:
    return f"{_score(fidelity)}, on {fidelity.n_words:,} {source}"


def _score(fidelity: Fidelity) -> str:
    score = f"score {significant_but_one(fidelity.score, 5)}"
    if "kl_per_symbol" in fidelity and "entropy_per_symbol" in fidelity:
        lost, own = (significant(fidelity[n], 3) for n in ("kl_per_symbol", "entropy_per_symbol"))
        return f"{score}; loses {lost} bits per symbol of {own}"
    return score


def learned_section(learned: Learned[Any]) -> Section:
    """Return what was learnt, what it cost, and why learning ended."""
    searches = "1 search" if learned.n_searches == 1 else f"{learned.n_searches:,} searches"
    searched = f"{learned.n_search_queries:,} in {searches} for counterexamples"
    rows = (
        ("automaton", repr(learned.automaton)),
        ("queries", f"{learned.n_queries:,}, of which {searched}"),
        ("end", learned.end.value),
        ("largest distance", significant(learned.largest_distance)),
    )
    return Section("Learned", ("", ""), rows)
