"""The data of a page: all that it shows, as one document for JSON."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.draw.graph import shown_name
from seqray.explain.background import Background
from seqray.explore.ranks import PackedRanks
from seqray.explore.recorded import RecordedAnswers
from seqray.extraction.request import METHODS
from seqray.extraction.result import Extraction
from seqray.fidelity.intervals import why_no_interval
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.table import Fidelity
from seqray.util.files import nulled
from seqray.util.formatting import counted, significant
from seqray.util.version import __version__

FORMAT, VERSION = "seqray.explorer", 1


@dataclass(frozen=True, eq=False)
class Subject:
    """What a page is about: an extraction, or a single automaton.

    Make one with `Subject.of`.

    Parameters
    ----------
    automata
        Of every rank.
    extraction
        Where they come from; None: a single automaton, whose states stand in no order.

    Examples
    --------
    >>> Subject.of(WeightedAutomaton("a", [1], [[[0.5]]], [0.5])).ranks
    (1,)
    """

    automata: RankedAutomata
    extraction: Extraction | None = None

    @classmethod
    def of(cls, subject: Extraction | WeightedAutomaton) -> Subject:
        """Return what both have in common."""
        if isinstance(subject, WeightedAutomaton):
            return cls(RankedAutomata(subject, None, {subject.n_states: subject}))
        return cls(subject.automata, subject)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks there are, in rising order."""
        largest = self.automata.max_rank
        return (largest,) if self.extraction is None else tuple(range(1, largest + 1))

    @property
    def best(self) -> int:
        """The rank that was chosen."""
        if self.extraction is None:
            return self.automata.max_rank
        return self.extraction.best_rank()

    @property
    def fidelity(self) -> Mapping[int, Fidelity]:
        """By rank, where it was measured."""
        if self.extraction is None:
            return {}
        table = self.extraction.fidelity
        return dict(zip(table.ranks, table.fidelities, strict=True))

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the extraction was made."""
        return {} if self.extraction is None else self.extraction.settings


def page_content(
    subject: Subject,
    chosen: int,
    *,
    name: str,
    facts: Mapping[str, Any],
    changes: Mapping[str, Any],
    recorded: RecordedAnswers | None = None,
    is_live: bool = False,
) -> dict[str, Any]:
    """Return all of a page's data but the automata themselves, see `with_ranks`.

    Parameters
    ----------
    subject
        What the page is about.
    chosen
        The rank that is shown first.
    name
        What to call the box.
    facts, changes
        About the whole, and from rank to rank: see `seqray.explore.whole_facts`.
    recorded
        Answers of the box, if there is one.
    is_live
        Whether typed words can be sent to the box.
    """
    alphabet = subject.automata.largest.alphabet
    fidelity = dict(subject.fidelity) if recorded is None else dict(recorded.fidelity)
    compared_on = "held-out words" if subject.extraction is None else subject.extraction.compared_on
    source = compared_on if recorded is None else recorded.source
    document = {
        "format": FORMAT,
        "version": VERSION,
        "seqray": __version__,
        "name": name,
        "alphabet": {
            "names": [shown_name(symbol) for symbol in alphabet],
            # A lone surrogate is no text; it cannot be typed either.
            "texts": [str(s).encode(errors="backslashreplace").decode() for s in alphabet],
            "characters": alphabet.has_characters,
            "separator": alphabet.separator,
        },
        "chosen": chosen,
        "largest": subject.ranks[-1],
        "singular_values": subject.automata.singular_values.tolist(),
        "fidelity": fidelity_content(fidelity, source),
        "copies": _copies(subject),
        "frequencies": Background.frequencies(subject.automata.automaton(chosen)).initial.tolist(),
        "facts": facts,
        "changes": changes,
        "recorded": None if recorded is None else recorded.to_json(),
        "made": how_made(subject, chosen, name, recorded),
        "queries": subject.settings.get("questions"),
        "live": is_live,
    }
    odd: dict[str, Any] = nulled(document, lambda x: not np.isfinite(x))
    return odd


def with_ranks(document: dict[str, Any], packed: PackedRanks) -> dict[str, Any]:
    """Return a page's data with the automata of the ranks that fit."""
    return document | packed.to_json()


def fidelity_content(fidelity: Mapping[int, Fidelity], source: str) -> dict[str, Any] | None:
    """Return the metrics by name, one value per rank, with confidence intervals, or why not."""
    if not fidelity:
        return None
    ranks, first = sorted(fidelity), next(iter(fidelity.values()))
    return {
        "source": source,
        "words": first.n_words,
        "prefixes": first.n_prefixes,
        "ranks": ranks,
        "values": {name: [fidelity[r][name] for r in ranks] for name in first},
        "intervals": {
            name: [fidelity[r].intervals.get(name) for r in ranks]
            for name in first
            if any(name in each.intervals for each in fidelity.values())
        },
        "no_interval": [_why_no_interval(fidelity[r]) for r in ranks],
        "meanings": {name: MEANINGS[name] for name in first},
    }


def _why_no_interval(fidelity: Fidelity) -> str | None:
    """Say why lost bits have no interval, where other metrics of the same words have one."""
    lost = fidelity.get("kl_per_symbol")
    if lost is None or not fidelity.intervals or "kl_per_symbol" in fidelity.intervals:
        return None
    return why_no_interval(lost, fidelity.n_words)


def _copies(subject: Subject) -> str:
    """Say which copies the run has, and what each loses; nothing where there is none."""
    copies = () if subject.extraction is None else subject.extraction.copies
    if not copies:
        return ""
    each = [
        f"{counted(copy.n_states, 'state')} ({significant(copy.fidelity['kl_per_symbol'], 2)})"
        for copy in copies
    ]
    return (
        "For copying the box, the run also has larger automata, with the bits per symbol that they "
        f"lose on held-out words: {joined(each)}."
    )


def joined(parts: Sequence[str]) -> str:
    """Join parts of a sentence.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


# How it was made ----------------------------------------------------------------------------------


def how_made(
    subject: Subject, chosen: int, name: str, recorded: RecordedAnswers | None
) -> list[tuple[str, str]]:
    """Return how the automaton was made, as pairs of a label and a text.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> how_made(Subject.of(wa), 1, "wa.json", None)[:2]
    [('Automaton', 'wa.json'), ('States', '1, as they are in the file')]
    """
    settings = subject.settings
    if not settings:
        rows = [("Automaton", name), ("States", f"{chosen:,}, as they are in the file")]
    else:
        rows = [
            ("Black box", name),
            ("Method", _method(settings)),
            ("Basis", _basis(settings)),
            ("Queries", _queries(settings)),
            ("States", _sizes(subject, chosen)),
            ("Seed", str(settings.get("seed", "–"))),
            ("Time", _seconds(settings.get("seconds", {}))),
        ]
        if settings.get("stopped"):
            rows.insert(4, ("Stopped early", str(settings["stopped"])))
    if recorded is not None:
        rows.append(("Compared on", recorded.source))
    return [*rows, ("Versions", _versions(settings))]


def _sizes(subject: Subject, chosen: int) -> str:
    largest = subject.ranks[-1]
    return f"{chosen} shown first; the run has 1 to {largest}" if largest > 1 else "1"


def _method(settings: Mapping[str, Any]) -> str:
    method = str(settings.get("method", "–"))
    return f"{method}: {METHODS[method].partition(';')[0]}" if method in METHODS else method


def _basis(settings: Mapping[str, Any]) -> str:
    sizes = [
        f"{settings[key]:,} {one if settings[key] == 1 else key}"
        for key, one in (
            ("prefixes", "prefix"),
            ("columns", "column") if "columns" in settings else ("suffixes", "suffix"),
        )
        if isinstance(settings.get(key), int)
    ]
    return ", ".join([" × ".join(sizes), str(settings.get("basis", ""))]).strip(", ")


def _queries(settings: Mapping[str, Any]) -> str:
    count = settings.get("questions")
    text = f"{count:,}" if isinstance(count, int) else "–"
    repeat = settings.get("repeat", 1)
    return f"{text}, each {repeat} times" if repeat != 1 else text


def _seconds(seconds: Mapping[str, float]) -> str:
    parts = ", ".join(f"{phase} {taken:.1f} s" for phase, taken in seconds.items())
    return f"{sum(seconds.values()):.1f} s ({parts})" if parts else "–"


def _versions(settings: Mapping[str, Any]) -> str:
    made: Sequence[tuple[str, str]] = [
        ("seqray", __version__),
        ("Python", str(settings.get("python", platform.python_version()))),
        ("NumPy", str(settings.get("numpy", np.__version__))),
    ]
    return ", ".join(f"{name} {version}" for name, version in made)
