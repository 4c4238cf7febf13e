"""The page of a classifier: its states and their classes, decisions explained, and agreement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any, TypeGuard

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import decide
from seqray.automata.sampling import uniform_words
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import Classifier, allowed_length, name_of
from seqray.explain.class_facts import ClassFacts, class_facts
from seqray.explain.class_states import MIXTURE, likeness
from seqray.explain.decision import explain_decision
from seqray.explain.text import Section
from seqray.explore.class_map import class_map
from seqray.explore.first_look import spelled_states
from seqray.explore.frame import filled_frame, policy, script_json, static_text
from seqray.explore.numbers import share, show
from seqray.explore.terms import NO_BREAK, term, terms
from seqray.extraction.result import Extraction
from seqray.fidelity.decisions import DecisionFidelity, DecisionGroup, compare_decisions
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.table import Fidelity
from seqray.util.errors import RankError
from seqray.util.formatting import counted, signed_percent
from seqray.util.redaction import redacted
from seqray.util.version import __version__

N_COMPARED_WORDS, MAX_COMPARED_LENGTH = 2000, 12
"""Random words on which box and automaton are compared by default, and their length."""

MAX_EXAMPLES = 6
"""Words that are explained: one of each class, of so many classes."""

EXAMPLE_LENGTH = 8
"""About how long they are."""

MAX_NUMBERS = 200_000
"""With more numbers in its matrices an automaton is too large to try words in the browser."""

MAX_CLASS_LETTERS = 40
"""Names of classes that are longer together are counted in the headline."""

STYLES = ("page.css", "screens.css", "classes.css")


def is_classifier(subject: object) -> TypeGuard[Extraction | ClassifierAutomaton]:
    """Whether a page about a subject is one about a classifier.

    >>> is_classifier("run")
    False
    """
    if isinstance(subject, Extraction):
        return subject.classifies
    return isinstance(subject, ClassifierAutomaton)


@dataclass(frozen=True, eq=False)
class _Subject:
    """What the page is about."""

    name: str
    facts: ClassFacts
    automaton: ClassifierAutomaton
    extraction: Extraction | None
    fidelity: Fidelity | None
    source: str


def classes_html(
    subject: Extraction | ClassifierAutomaton,
    *,
    box: Classifier | None = None,
    words: Words | Iterable[Word] | None = None,
    rank: int | None = None,
    name: str | None = None,
    max_length: int | None = None,
    seed: int = 0,
) -> str:
    """Return a page about an automaton that classifies, as one HTML file that needs nothing else.

    The parameters are those of `seqray.to_html`.

    Examples
    --------
    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> parity = ClassifierAutomaton("ab", [1, 0], [swap, stay], [[1, 0], [0, 1]],
    ...     classes=["even", "odd"])
    >>> "decided by two states" in classes_html(parity, name="parity")
    True
    """
    automaton = _chosen(subject, rank)
    extraction = subject if isinstance(subject, Extraction) else None
    settings = {} if extraction is None else extraction.settings
    known = "black box" if box is None else name_of(box).removeprefix("the ")
    called = redacted(name or str(settings.get("name") or settings.get("box") or known))
    fidelity: Fidelity | None = None
    source = ""
    if box is not None:
        compared, source = _words(box, words, max_length, seed)
        fidelity = compare_decisions(box, automaton, compared)
    elif extraction is not None:
        fidelity = extraction.fidelity.at(automaton.n_states)
        source = f"{fidelity.n_words:,} {extraction.compared_on}"
    facts = class_facts(automaton)
    about = _Subject(called, facts, automaton, extraction, fidelity, source)
    parts = {
        "TITLE": escape(f"{called} in {counted(automaton.n_states, 'state')} · seqray"),
        "STYLE": _style(),
        "POLICY": policy([_script()], [_style()], False),
        "BODY": "\n".join(_sections(about, box)),
        "CONTENT": script_json(_content(about)),
        "SCRIPT": _script(),
    }
    return filled_frame("classes.html", parts)


def _script() -> str:
    own = "".join(map(static_text, ("checksum.js", "tools.js", "classes.js")))
    return f'(() => {{\n"use strict";\n{own}}})();\n'


def _chosen(subject: Extraction | ClassifierAutomaton, rank: int | None) -> ClassifierAutomaton:
    """Return the automaton of a rank, by default the best."""
    if isinstance(subject, ClassifierAutomaton):
        if rank not in (None, subject.n_states):
            raise RankError(f"rank {rank}: expected {subject.n_states}, the states there are")
        return subject
    automaton = subject.automaton(subject.best_rank() if rank is None else rank)
    assert isinstance(automaton, ClassifierAutomaton)
    return automaton


def _words(
    box: Classifier, words: Words | Iterable[Word] | None, max_length: int | None, seed: int
) -> tuple[Words, str]:
    """Return the words to compare on, and where they are from."""
    if words is not None:
        given = box.alphabet.words(words)
        return given, counted(len(given), "word")
    longest = allowed_length(box, max_length, MAX_COMPARED_LENGTH)
    rng = np.random.default_rng(seed)
    drawn = uniform_words(box.alphabet, N_COMPARED_WORDS, seed=rng, max_length=max(1, longest))
    return drawn.cut(longest), f"{len(drawn):,} random words of up to {longest} symbols"


# Sections -----------------------------------------------------------------------------------------


def _sections(about: _Subject, box: Classifier | None) -> list[str]:
    """Return the parts of the page, as HTML."""
    tables = about.facts.sections(is_short=False)
    table = None if about.extraction is None else about.extraction.fidelity
    parts = [
        _head(about),
        _section("graph", "The states as a map", class_map(about.facts, table)),
        _section("states", "Which state has which class", *map(_table, tables)),
    ]
    if _fits(about.automaton):
        parts.append(static_text("classes_word.html"))
    parts.append(_examples(about, box))
    if isinstance(about.fidelity, DecisionFidelity) and about.fidelity.classes:
        parts.append(_agreement(about, about.fidelity))
    if about.extraction is not None:
        parts += [_sizes(about.extraction, about.automaton.n_states), _made(about.extraction)]
    return parts


def _section(key: str, title: str, *contents: str) -> str:
    inner = "\n".join(contents)
    return f'<section id="{key}"><h2>{escape(title)}</h2>\n{inner}\n</section>'


def _head(about: _Subject) -> str:
    states = spelled_states(about.automaton.n_states)
    tiles = [
        ("classes", _class_names(about.automaton.classes)),
        (term("classes.computes"), f"the {about.automaton.question.value} of each class"),
    ]
    lede = "An automaton that decides for one class after every word."
    longest = _longest(about)
    if (fidelity := about.fidelity) is not None:
        agreed = share(fidelity["agreement"])
        lede = f"The automaton gives {agreed} of the words the class that the box gives them"
        if longest is not None:
            lede += (
                f", on words of up to {counted(longest, 'symbol')}. Longer ones were not compared"
            )
        lede += "."
        tiles.insert(0, (term("classes.agreement"), agreed))
        if "agreement" in fidelity.intervals:
            low, high = fidelity.intervals["agreement"]
            between = f"{share(low).removesuffix(' %')} … {share(high)}"
            tiles.insert(1, (term("classes.interval"), between))
    if about.extraction is not None and about.extraction.settings.questions is not None:
        tiles.append((term("classes.queries"), f"{about.extraction.settings.questions:,}"))
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{label}</span></div>'
        for label, value in tiles
    ).replace(" %", NO_BREAK + "%")
    note = f'<p class="caption">Measured on {escape(about.source)}.</p>' if about.source else ""
    return (
        f'<header class="head"><p class="kicker">seqray · classifier</p>'
        f"<h1>{escape(about.name)}, decided by {states}</h1>"
        f'<p class="lede">{escape(lede)}</p>{static_text("terms_switch.html")}'
        f'<div class="tiles">{shown}</div>{note}</header>'
    )


def _longest(about: _Subject) -> int | None:
    """Return how long the words are that both were compared on; None where that is not known."""
    fidelity = about.fidelity
    if isinstance(fidelity, DecisionFidelity) and fidelity.max_length is not None:
        return fidelity.max_length
    return None if about.extraction is None else about.extraction.settings.held_out_length


def _class_names(classes: Sequence[str]) -> str:
    """Return the names of a few classes, and else how many there are."""
    names = ", ".join(classes)
    return names if len(names) <= MAX_CLASS_LETTERS else str(len(classes))


def _examples(about: _Subject, box: Classifier | None) -> str:
    """Return one explained word of each class."""
    checked = "." if box is None else ", each confirmed by the box."
    parts = [f'<p class="intro">{term("classes.examples", {"checked": checked})}</p>']
    for word in _example_words(about.automaton):
        explanation = explain_decision(about.automaton, word, box=box)
        tables = "".join(map(_table, explanation.sections(is_short=False)))
        shown = escape(about.automaton.alphabet.show(word))
        parts.append(
            f'<details class="card"><summary><code>{shown}</code> '
            f'<span class="chip c{int(explanation.decisions[-1]) % 7}">'
            f"{escape(explanation.name)}</span></summary>{tables}</details>"
        )
    return _section("examples", "Decisions explained", *parts)


def _example_words(automaton: ClassifierAutomaton) -> list[Word]:
    """Return one word of each class that random words have, in the order of the classes."""
    rng = np.random.default_rng(0)
    words = uniform_words(
        automaton.alphabet, 2000, seed=rng, max_length=2 * EXAMPLE_LENGTH, min_length=1
    )
    decisions = decide(automaton.scores(words), automaton.threshold)
    chosen: list[Word] = []
    for number in range(min(automaton.n_classes, MAX_EXAMPLES)):
        places = np.flatnonzero(decisions == number)
        if len(places):
            length = np.abs(words.lengths[places] - EXAMPLE_LENGTH)
            chosen.append(words[int(places[length.argmin()])])
    return chosen


def _agreement(about: _Subject, fidelity: DecisionFidelity) -> str:
    metrics = [(n, show(v, 4), MEANINGS[n]) for n, v in fidelity.items()]
    in_words = [(terms()[f"classes.metric.{n}"][0], show(v, 4)) for n, v in fidelity.items()]
    plain, exact = terms()["classes.margin"]
    confusion = Section(
        "Words by class: rows the box, columns the automaton",
        ("box", *(f" {name}" for name in fidelity.classes), " automaton − box", " 95 % interval"),
        tuple(
            (
                name,
                *(f"{count:,}" for count in row),
                f"{signed_percent(shares.difference)} %",
                " … ".join(map(signed_percent, shares.interval)) + " %",
            )
            for name, row, shares in zip(
                fidelity.classes, fidelity.confusion.tolist(), fidelity.shares, strict=True
            )
        ),
        "automaton − box: difference of both shares of all words, with its confidence interval.",
    )
    different = Section(
        "Words on which box and automaton decide differently",
        ("word", "box", "automaton", " distance"),
        tuple(
            (_shown(about, d.word), d.box, d.automaton, f"{d.distance:.3f}")
            for d in fidelity.different[:20]
        ),
        "" if fidelity.different else "None of these words.",
    )
    return _section(
        "agreement",
        "Where both agree",
        _both(
            Section("", ("what", " value"), tuple(in_words)),
            Section("", ("metric", " value", "meaning"), tuple(metrics)),
        ),
        _table(confusion),
        _table(_groups("Agreement by length", "symbols", fidelity.by_length)),
        _both(
            _groups(plain, "how sure", fidelity.by_margin),
            _groups(exact, "margin", fidelity.by_margin),
        ),
        _table(different),
    )


def _shown(about: _Subject, word: Word) -> str:
    return about.automaton.alphabet.show(word) if len(word) else "empty word"


def _both(everyone: Section, experts: Section) -> str:
    """Return two tables, of which the page shows one."""
    return (
        f'<div class="everyone">{_table(everyone)}</div>'
        f'<div class="experts">{_table(experts)}</div>'
    )


def _groups(title: str, what: str, groups: Sequence[DecisionGroup]) -> Section:
    rows = tuple(
        (
            group.name,
            f"{group.n_words:,}",
            f"{100 * group.agreement:.2f} %",
            " … ".join(f"{100 * each:.2f}" for each in group.interval) + " %",
        )
        for group in groups
    )
    return Section(title, (what, " words", " agreement", " 95 % interval"), rows)


def _sizes(extraction: Extraction, rank: int) -> str:
    table = extraction.fidelity
    names = [n for n in table.fidelities[0] if all(n in each for each in table.fidelities)]
    marks = [f"→ {r}" if r == rank else str(r) for r in table]
    plain = [
        (mark, share(each["agreement"])) for mark, each in zip(marks, table.values(), strict=True)
    ]
    exact = [
        (m, *(show(e[n], 4) for n in names)) for m, e in zip(marks, table.values(), strict=True)
    ]
    return _section(
        "sizes",
        "Fewer and more states",
        _both(
            Section("", (" states", " words with the same class"), tuple(plain)),
            Section("", (" states", *(f" {name}" for name in names)), tuple(exact)),
        ),
    )


def _made(extraction: Extraction) -> str:
    settings = extraction.settings
    rows = [
        ("words queried", f"{settings.get('questions', 0):,}"),
        ("of them to compare on", f"{settings.get('validation_questions', 0):,}"),
        ("prefixes × suffixes", f"{settings.get('prefixes')} × {settings.get('suffixes')}"),
        ("rounds", str(len(settings.rounds or ()))),
        ("random seed", str(settings.get("seed"))),
        ("seqray", __version__),
    ]
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in rows)
    remarks = "".join(f"<p>{escape(text)}</p>" for text in extraction.remarks)
    return _section("made", "How it was made", f'{remarks}<dl class="facts">{listed}</dl>')


def _table(section: Section) -> str:
    """Return a table of an explanation as HTML; numbers stand to the right."""
    short = section.shortened()
    kinds = ["number" if name.startswith(" ") else "text" for name in short.columns]
    head = "".join(
        f'<th class="{kind}" scope="col">{escape(name.strip())}</th>'
        for name, kind in zip(short.columns, kinds, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in short.rows
    )
    title = f"<h3>{escape(short.title)}</h3>" if short.title else ""
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    note = f'<p class="caption">{escape(short.note)}</p>' if short.note else ""
    label = escape(short.title or "Table")
    frame = f'<div class="table" tabindex="0" role="region" aria-label="{label}">'
    return f"{frame}{title}{body}{note}</div>"


# The content for the script -----------------------------------------------------------------------


def _fits(automaton: ClassifierAutomaton) -> bool:
    return automaton.transitions.size <= MAX_NUMBERS


def _content(about: _Subject) -> dict[str, Any]:
    """Return what the script needs to decide on typed words."""
    readable = about.facts.automaton
    if not _fits(about.automaton):
        return {}
    alphabet = readable.alphabet
    return {
        "symbols": [str(symbol) for symbol in alphabet],
        "characters": alphabet.has_characters,
        "separator": alphabet.separator,
        "classes": list(readable.classes),
        "question": readable.question.value,
        "threshold": readable.threshold,
        "names": list(about.facts.named.names),
        "mixture": MIXTURE,
        "stateClasses": about.facts.decisions.tolist(),
        "likeness": likeness(readable).tolist(),
        "initial": readable.initial.tolist(),
        "transitions": readable.transitions.tolist(),
        "outputs": readable.outputs.tolist(),
        "example": [str(symbol) for symbol in (_example_words(about.automaton) or [()])[-1]],
    }


@cache
def _style() -> str:
    return "\n".join(map(static_text, STYLES))
