"""Automata as programs in C and JavaScript that score words and need nothing else.

A program is a template of this package, ``scorers/scorer.c`` or ``scorer.js``, with the tables of
the automaton. Every number is written with all its digits.
"""

from __future__ import annotations

import json
import string
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.decisions import Question
from seqray.formats.scorer_tables import ScorerTables
from seqray.util.files import writing

TEMPLATES = Path(__file__).with_name("scorers")

PLAIN_SIGNS = frozenset(string.ascii_letters + string.digits + " ")
"""What stands for itself in a C string."""

C_WEIGHT = """\
     double log_weight, next[SEQRAY_N_SYMBOLS + 1];
     int word[] = {0, 1};
     double weight = seqray_score(word, 2, &log_weight, next);"""
"""How a program in C is used: of an automaton that gives words weights."""

C_CLASSES = """\
     double scores[SEQRAY_N_CLASSES];
     int word[] = {0, 1};
     seqray_state state;
     seqray_start(&state);
     for (int i = 0; i < 2; i++) seqray_step(&state, word[i]);
     const char *decision = seqray_classes[seqray_classify(&state, scores)];"""
"""The same of a classifier."""

JS_WEIGHT = "     score([0, 1]) // { weight, logWeight, next }; next: null if it does not predict"
"""How a program in JavaScript is used: of an automaton that gives words weights."""

JS_CLASSES = """\
     const { decision, scores } = score([0, 1]); // the class is classes[decision]"""
"""The same of a classifier."""

Table = tuple[str, str, list[Any]]
"""A type of C, a name, and the entries."""


def write_c(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton as a C file, of C99, that scores words."""
    with writing(path) as fresh:
        fresh.write_text(to_c(automaton), "utf-8", newline="\n")


def write_js(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton as a JavaScript file, for Node and browsers, that scores words."""
    with writing(path) as fresh:
        fresh.write_text(to_js(automaton), "utf-8", newline="\n")


def to_c(automaton: WeightedAutomaton) -> str:
    r"""Return an automaton as a C file.

    >>> text = to_c(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
    >>> "static const double SEQRAY_VALUES[] = {\n    0.5, 0.25\n};" in text
    True
    """
    tables = ScorerTables.of(automaton)
    constants = _constants(tables)
    n_classes = 0 if tables.classes is None else len(tables.classes.names)
    constants = {
        "N_SYMBOLS": constants.pop("N_SYMBOLS"),
        "N_CLASSES": n_classes,
        "MAX_SIZE": tables.moves.max_size,
        **constants,
    }
    lines = [f"#define SEQRAY_{name} {value!r}" for name, value in constants.items()]
    for name, texts in _names(tables).items():
        quoted = [_c_string(text) for text in texts] or ["0"]
        lines.append(f"const char *const seqray_{name.lower()}[] = {_braced(quoted)};")
    for kind, name, entries in _tables(tables):
        texts = [repr(each) for each in entries] or ["0"]
        lines.append(f"static const {kind} SEQRAY_{name}[] = {_braced(texts)};")
    use = C_CLASSES if n_classes else C_WEIGHT
    return _filled("scorer.c", automaton, use, "\n".join(lines))


def to_js(automaton: WeightedAutomaton) -> str:
    r"""Return an automaton as a JavaScript file.

    >>> text = to_js(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
    >>> "const VALUES = new Float64Array([\n      0.5, 0.25\n  ]);" in text
    True
    """
    tables = ScorerTables.of(automaton)
    lines = [f"const {name} = {value!r};" for name, value in _constants(tables).items()]
    for name, texts in _names(tables).items():
        quoted = [json.dumps(text) for text in texts]
        lines.append(f"const {name} = {_braced(quoted, '[]')};")
    for kind, name, entries in _tables(tables):
        numbers = _braced([repr(each) for each in entries], "[]")
        made = f"new Float64Array({numbers})" if kind == "double" else numbers
        lines.append(f"const {name} = {made};")
    use = JS_WEIGHT if tables.classes is None else JS_CLASSES
    return _filled("scorer.js", automaton, use, textwrap.indent("\n".join(lines), "  "))


def _constants(tables: ScorerTables) -> dict[str, float]:
    classes = tables.classes
    threshold = None if classes is None else classes.threshold
    return {
        "N_SYMBOLS": len(tables.alphabet),
        "START": tables.moves.start,
        "PREDICTS": int(tables.readers is not None),
        "IS_LOGIT": int(classes is not None and classes.question is Question.LOGIT),
        "THRESHOLD": threshold or 0,
    }


def _names(tables: ScorerTables) -> Mapping[str, list[str]]:
    names = [] if tables.classes is None else list(tables.classes.names)
    return {"SYMBOLS": [str(symbol) for symbol in tables.alphabet], "CLASSES": names}


def _tables(tables: ScorerTables) -> Iterable[Table]:
    moves = tables.moves
    none = np.empty(0)
    whole = {
        "SIZES": moves.sizes,
        "OFFSETS": moves.offsets,
        "NEXT_GROUP": moves.next_group,
    }
    real = {
        "INITIAL": moves.initial,
        "VALUES": moves.values,
        "EMISSION": moves.emission if moves.has_forgetful else none,
        "ENTRY": moves.entry if moves.has_forgetful else none,
        "FINAL": tables.final,
        "READERS": none if tables.readers is None else tables.readers,
        "OUTPUTS": none if tables.classes is None else tables.classes.outputs,
    }
    yield from (("int", name, array.ravel().tolist()) for name, array in whole.items())
    yield "long", "BEGINS", moves.begins.ravel().tolist()
    yield from (("double", name, array.ravel().tolist()) for name, array in real.items())


def _braced(texts: list[str], signs: str = "{}") -> str:
    """Return entries in brackets, on lines of readable length."""
    if not texts:
        return signs
    lines, width = [[texts[0]]], len(texts[0])
    for text in texts[1:]:
        width += len(text) + 2
        if width > 92:
            lines.append([])
            width = len(text)
        lines[-1].append(text)
    body = ",\n".join(f"    {', '.join(line)}" for line in lines)
    return f"{signs[0]}\n{body}\n{signs[1]}"


def _c_string(text: str) -> str:
    """Return a C string: every byte that is no letter, digit or space as an octal escape."""
    signs = ((chr(byte), byte) for byte in text.encode())
    plain = (each if each in PLAIN_SIGNS else f"\\{byte:03o}" for each, byte in signs)
    return f'"{"".join(plain)}"'


def _filled(name: str, automaton: WeightedAutomaton, use: str, tables: str) -> str:
    template = (TEMPLATES / name).read_text("utf-8")
    n_states, n_symbols = automaton.n_states, len(automaton.alphabet)
    title = f"A weighted automaton of {n_states} states over {n_symbols} symbols, made by seqray."
    return template.replace("@TITLE@", title).replace("@USE@", use).replace("@TABLES@", tables)
