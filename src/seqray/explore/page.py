"""Puts the one HTML file together: content, styles, scripts, and a policy that allows no more."""

from __future__ import annotations

import base64
import logging
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from typing import Any

from seqray.automata.purpose import Purpose
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import BlackBox, Classifier
from seqray.explain.difference.record import Difference
from seqray.explore.classes_page import classes_html, is_classifier
from seqray.explore.content import Subject, joined, page_content, with_ranks
from seqray.explore.difference_page import difference_html
from seqray.explore.first_graph import FirstGraph
from seqray.explore.first_look import FirstLook, spelled_states
from seqray.explore.frame import filled_frame, policy, script_json, static_text
from seqray.explore.groups_page import groups_html, groups_section
from seqray.explore.ranks import (
    MAX_NAMED_STATES,
    ShownRank,
    first_graph,
    least_size,
    pack_ranks,
    show_ranks,
)
from seqray.explore.recorded import RecordedAnswers, record_answers
from seqray.explore.terms import terms
from seqray.explore.whole_facts import rank_changes, whole_facts, without_states
from seqray.extraction.result import Extraction
from seqray.extraction.run_folder import open_run
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.errors import ArgumentError, RankError
from seqray.util.formatting import counted
from seqray.util.redaction import redacted

MAX_PAGE_BYTES = 2_950_000
"""How many bytes a page may have; three million are promised."""

RESERVED_BYTES = 250_000
"""How many of them are for the facts about the chosen rank."""

SIZES_TO_TRY = ((1.0, 4), (0.2, 4), (1.0, 3), (0.2, 3), (0.03, 3))
"""What is tried so that the chosen rank fits: the share of the box's answers, bytes per number."""

_log = logging.getLogger(__name__)

STYLES = (
    "vendor/uPlot.min.css",
    "page.css",
    "graph.css",
    "word.css",
    "tables.css",
    "groups.css",
    "screens.css",
)

SCRIPTS = (
    *("checksum.js", "tools.js", "automaton.js", "content.js", "layout.js", "arrows.js", "plan.js"),
    *("graph.js", "state.js", "charts.js", "compare.js", "facts.js", "word.js", "groups.js"),
    "page.js",
)


def to_html(
    extraction: Extraction | AutomatonLike | Difference,
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
    extraction
        An extraction, with automata of every rank, or a single automaton; or the path of a run
        folder or of an automaton's file. Or what `seqray.diff` returns, without other arguments.
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
        Random seed, a number or a generator.
    is_live
        Whether the page is served by `seqray.explore.serve`, and can query the box.

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
    if isinstance(extraction, Difference):
        return difference_html(extraction)
    if words is not None and box is None:
        raise ArgumentError("words: only needed to compare with a box, and box is None")
    if isinstance(extraction, str | os.PathLike) and os.path.isdir(extraction):
        extraction = open_run(extraction)
    if not isinstance(extraction, Extraction):
        extraction = as_automaton(extraction, "extraction", purpose=Purpose.READING)
    if is_classifier(extraction):
        if is_live:
            raise ArgumentError(
                "is_live: a page about a classifier queries no box: write it to a file instead "
                "(-o page.html)"
            )
        of_box = box if isinstance(box, Classifier) else None
        return classes_html(
            extraction,
            box=of_box,
            words=words,
            rank=rank,
            name=name,
            max_length=max_length,
            seed=seed,
        )
    if isinstance(extraction, StructuredAutomaton) and extraction.n_states > MAX_NAMED_STATES:
        if is_live:
            raise ArgumentError(
                f"is_live: a page about {counted(extraction.n_states, 'state')} in groups queries "
                "no box: write it to a file instead (-o page.html)"
            )
        return groups_html(
            extraction, box=box, words=words, name=name, max_length=max_length, seed=seed
        )
    subject = Subject.of(extraction)
    chosen = _chosen_rank(subject, rank)
    shown = show_ranks(subject.automata, subject.ranks, chosen)
    settings = subject.settings
    called = redacted(name or str(settings.get("name") or settings.get("box") or "black box"))
    page = _Page(subject, shown, chosen, called, is_live)
    recorded: RecordedAnswers | None = None
    if box is not None:
        own = None if words is None else box.alphabet.words(words)
        automata = subject.automata
        recorded = record_answers(
            *(box, automata.automaton, subject.ranks, chosen),
            sure=automata.fitted.keys(),
            words=own,
            max_length=max_length,
            seed=seed,
        )
    return page.fitted(recorded)


def _chosen_rank(subject: Subject, rank: int | None) -> int:
    """Return the rank to show first: the given one or the best, if a page can hold it.

    This is known before the first query.
    """
    wanted = subject.best if rank is None else rank
    if wanted not in subject.ranks:
        raise RankError(f"rank {wanted} is outside {subject.ranks[0]} … {subject.ranks[-1]}")
    room = MAX_PAGE_BYTES - len(_assembled({}, None, "", False).encode()) - RESERVED_BYTES
    if least_size(subject.automata, wanted) <= room:
        return wanted
    smaller = (r for r in reversed(subject.ranks) if r < wanted)
    fitting = next((r for r in smaller if least_size(subject.automata, r) <= room), None)
    symbols = counted(len(subject.automata.largest.alphabet), "symbol")
    too_many = f"{counted(wanted, 'state')} and {symbols} are too many for one page"
    if fitting is None:
        raise ArgumentError(f"{too_many}, which has less than 3 MB: seqray draw can show them")
    if rank is not None:
        raise ArgumentError(f"{too_many}: choose a smaller rank, up to {fitting} (--rank)")
    _log.warning("%s: it shows %d states first", too_many, fitting)
    return fitting


@dataclass(frozen=True, eq=False)
class _Page:
    """What a page holds, before it is made to fit."""

    subject: Subject
    shown: Sequence[ShownRank]
    chosen: int
    name: str
    is_live: bool

    @cached_property
    def first(self) -> FirstGraph | None:
        """The graph that is shown first."""
        return first_graph(self.at_first)

    @property
    def at_first(self) -> ShownRank:
        """The rank that is shown first."""
        return next(each for each in self.shown if each.rank == self.chosen)

    @cached_property
    def groups(self) -> str:
        """The map of the groups of the largest copy, where there is one."""
        copies = () if self.subject.extraction is None else self.subject.extraction.copies
        largest = copies[-1].automaton if copies else None
        if not isinstance(largest, StructuredAutomaton):
            return ""
        states = counted(largest.n_states, "state")
        return groups_section(largest, f"The copy of {states}, as a map of groups")

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the automaton does as a whole."""
        return whole_facts(self.at_first)

    @cached_property
    def changes(self) -> dict[str, Any]:
        """What changes from rank to rank."""
        return rank_changes(self.subject.automata, self.subject.ranks, self.chosen)

    def fitted(self, recorded: RecordedAnswers | None) -> str:
        """Return the page with all that fits; what is least useful is left out first."""
        for share, least_bytes in SIZES_TO_TRY if recorded is not None else SIZES_TO_TRY[::2]:
            less = None if recorded is None else recorded if share == 1 else recorded.fewer(share)
            left_out = [] if recorded is None or less is None else _missing(recorded, less)
            page = self._packed(less, left_out, least_bytes)
            if page is not None:
                return page
        raise ArgumentError(
            f"{counted(self.chosen, 'state')} and their names are too many for one page: choose a "
            "smaller rank (--rank)"
        )

    def _packed(
        self, recorded: RecordedAnswers | None, left_out: list[str], least_bytes: int
    ) -> str | None:
        """Return the page with as many ranks as fit, None where the chosen one does not."""
        document = page_content(
            *(self.subject, self.chosen),
            name=self.name,
            facts=self.facts,
            changes=self.changes,
            recorded=recorded,
            is_live=self.is_live,
        )
        frame = _assembled(document, self.first, self.name, self.is_live, self.groups)
        room = MAX_PAGE_BYTES - len(frame.encode())
        automata = self.subject.automata
        try:
            packed = pack_ranks(automata, self.shown, self.chosen, room, least_bytes)
        except ArgumentError:
            return None
        first, drawn = self.first, self.at_first.drawn
        if drawn is not None and f"drawn_{self.chosen}" not in packed.arrays:
            first, left_out = None, [*left_out, "the names of states"]
            document["facts"] = without_states(self.facts)
        if left_out:
            _log.warning("to stay below 3 MB the page leaves out %s", joined(left_out))
        document |= {"left_out": joined(left_out)}
        whole = with_ranks(document, packed)
        return _assembled(whole, first, self.name, self.is_live, self.groups)


def _missing(recorded: RecordedAnswers, less: RecordedAnswers) -> list[str]:
    """Return which of the box's answers are left out."""
    words = len(recorded.words) - len(less.words)
    said = [f"{words:,} of {counted(len(recorded.words), 'word')} that both were compared on"]
    if recorded.prefixes is not None and less.prefixes is not None:
        prefixes = len(recorded.prefixes) - len(less.prefixes)
        of = counted(len(recorded.prefixes), "beginning")
        said.append(f"what the box expects after {prefixes:,} of {of}")
    return said if words else []


def page_policy(is_live: bool) -> str:
    """Return the policy of every page, for a server's header."""
    return policy([_script()], [_style()], is_live)


def _assembled(
    document: dict[str, Any],
    first: FirstGraph | None,
    name: str,
    is_live: bool,
    groups: str = "",
) -> str:
    """Fill the frame of the page. Nothing of the content is read as HTML or as a script."""
    places = None if first is None else first.to_json()
    content = document | {"first": places, "terms": terms()}
    n_states = document.get("chosen", 0)
    states, spelled = counted(n_states, "state"), spelled_states(n_states)
    parts = {
        "TITLE": escape(f"{name} in {states} · seqray"),
        "HEADLINE": f'<span class="box-name">{escape(name)}</span>, seen as {spelled}',
        "GRAPH": "" if first is None else first.to_svg(),
        "STATUS": "" if first is None else escape(first.caption()),
        **FirstLook(document, first).parts(),
        "POLICY": page_policy(is_live),
        "STYLE": _style(),
        "CONTENT": script_json(content),
        "GRAPHVIZ": _graphviz(),
        "LICENCES": static_text("vendor/LICENSES.txt"),
        "GROUPS": groups,
        "SCRIPT": _script(),
    }
    return filled_frame("page.html", parts)


@cache
def _style() -> str:
    return "\n".join(map(static_text, STYLES))


@cache
def _script() -> str:
    own = "\n".join(map(static_text, SCRIPTS))
    return f'{static_text("vendor/uPlot.iife.min.js")}\n(() => {{\n"use strict";\n{own}\n}})();\n'


@cache
def _graphviz() -> str:
    """Return Graphviz for the worker, deflated: a third of its size."""
    source = files("seqray.explore").joinpath("static", "vendor", "viz-global.js").read_bytes()
    return base64.b64encode(zlib.compress(source, 9)).decode("ascii")
