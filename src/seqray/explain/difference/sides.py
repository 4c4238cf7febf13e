"""The two sides of a comparison: what was given, the box that it is, and its small automaton."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.purpose import Purpose
from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import BlackBox, Classifier, name_of
from seqray.blackbox.queries.oracle import direct_oracle
from seqray.blackbox.registry import open_black_box, split_spec
from seqray.formats.automaton_file import AutomatonLike, HasBest, HasNames, as_automaton
from seqray.util.errors import ArgumentError, SymbolError
from seqray.util.redaction import redacted

MAX_READ_STATES = 60
"""Of an automaton with more states, a smaller one is extracted for reading."""

MAX_NAMED_SYMBOLS = 8
"""How many missing symbols an error names."""


@dataclass(frozen=True, eq=False)
class ComparedSide:
    """One of two things that are compared.

    Parameters
    ----------
    name
        What to call it: its specification, without secrets.
    box
        What is queried: a black box, or the automaton.
    reading
        The automaton whose states are compared; None: one is extracted from the box.
    is_cached
        Whether its answers are worth caching in a file.
    """

    name: str
    box: BlackBox
    reading: WeightedAutomaton | None = None
    is_cached: bool = True

    @property
    def automaton(self) -> WeightedAutomaton | None:
        """The box where it is an automaton, to compute with."""
        return direct_oracle(self.box).automaton

    @property
    def classifies(self) -> bool:
        """Whether it decides for classes."""
        return isinstance(self.box, Classifier)


SideLike = BlackBox | Classifier | AutomatonLike
"""What can be compared: a box, what an automaton is in, or the specification of either."""


def open_side(
    given: SideLike, letter: str, options: Mapping[str, Any] | None = None
) -> ComparedSide:
    """Open what is to be compared.

    Parameters
    ----------
    given
        A specification as `seqray.open_black_box` takes it, the path of a run folder or of an
        automaton's file; or a box, an automaton, an extraction or a named automaton. What holds an
        automaton is compared as that automaton.
    letter
        What to call it if it has no name.
    options
        Options of the box, for a specification that is not one of an automaton.

    Examples
    --------
    >>> open_side(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), "A").name
    'A'
    """
    if isinstance(given, str | os.PathLike):
        spec = os.fspath(given)
        is_automaton = split_spec(spec)[0] == "wa"
        box = open_black_box(spec, **({} if is_automaton else options or {}))
        reading = as_automaton(spec, purpose=Purpose.READING) if is_automaton else None
        return ComparedSide(redacted(spec), box, _readable(reading), not is_automaton)
    box = as_box(given)
    automaton = direct_oracle(box).automaton
    if automaton is None:
        return ComparedSide(name_of(box), box)
    held = given if isinstance(given, HasBest | HasNames) else automaton
    reading = as_automaton(held, purpose=Purpose.READING)
    return ComparedSide(letter, box, _readable(reading), is_cached=False)


def _readable(automaton: WeightedAutomaton | None) -> WeightedAutomaton | None:
    return None if automaton is None or automaton.n_states > MAX_READ_STATES else automaton


def check_comparable(a: ComparedSide, b: ComparedSide) -> None:
    """Refuse two sides whose symbols or classes differ, and a classifier beside what is none."""
    if a.box.alphabet != b.box.alphabet:
        raise SymbolError(_different_symbols(a, b))
    if a.classifies != b.classifies:
        decides, other = (a, b) if a.classifies else (b, a)
        raise ArgumentError(
            f"{decides.name} decides for classes, {other.name} gives numbers: expected two "
            "classifiers or none: compare it with a model of its kind"
        )
    classes = [side.box.classes for side in (a, b) if isinstance(side.box, Classifier)]
    if len({*map(tuple, classes)}) > 1:
        has = (
            f"{side.name} has {', '.join(own)}" for side, own in zip((a, b), classes, strict=True)
        )
        raise ArgumentError(
            f"the classes differ: {'; '.join(has)}: expected the same classes in the same order: "
            "name them so in both cards or files"
        )


def _different_symbols(a: ComparedSide, b: ComparedSide) -> str:
    """Say which symbols one of two sides lacks, or that only their order differs."""
    extra = [
        f"{side.name} has {_listed(symbols)}, which {other.name} has not"
        for side, other in ((a, b), (b, a))
        if (symbols := _without(side.box.alphabet, other.box.alphabet))
    ]
    if extra:
        return (
            f"the alphabets differ: {'; '.join(extra)}: expected the same symbols in the same "
            "order: compare models over one alphabet"
        )
    return (
        f"{a.name} and {b.name} have the same symbols in another order, {a.box.alphabet} and "
        f"{b.box.alphabet}: expected one order: write it so in both cards or files"
    )


def _without(alphabet: Alphabet, other: Alphabet) -> list[Symbol]:
    """Return the symbols of an alphabet that another one lacks."""
    known = set(other.symbols)
    return [symbol for symbol in alphabet.symbols if symbol not in known]


def _listed(symbols: list[Symbol]) -> str:
    shown = ", ".join(map(repr, symbols[:MAX_NAMED_SYMBOLS]))
    n_more = len(symbols) - MAX_NAMED_SYMBOLS
    return f"{shown} and {n_more:,} more" if n_more > 0 else shown
