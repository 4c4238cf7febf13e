"""Facts about an automaton that classifies: the class of each state, and where it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.purpose import Purpose
from seqray.automata.words import Symbol
from seqray.explain.class_states import (
    NO_STATE,
    classifier_of,
    name_class_states,
    nearest_states,
    state_name,
    vector_decisions,
)
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.text import Section, as_text
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.display import Displayed
from seqray.util.errors import ArgumentError
from seqray.util.formatting import abbreviated, counted, shortened

MAX_OFF_SHARE = 0.05
"""Up to this total variation distance from one state a step counts as one to that state."""


class ClassChange(NamedTuple):
    """A step that changes the class: from a state, by a symbol, to a state, with both classes.

    ``after`` is the automaton's class after the prefix of the state and the symbol. ``target`` is
    the nearest state of that class.
    """

    origin: str
    symbol: Symbol
    target: str
    before: str
    after: str


@dataclass(frozen=True, eq=False, repr=False)
class ClassFacts(Displayed):
    """What an automaton that classifies does as a whole; made by `class_facts`.

    Parameters
    ----------
    named
        The automaton with states that have names.
    scores
        The probability of each class after the prefix of each state, ``(n_states, n_classes)``.
    decisions
        The number of the class of each state.
    targets
        The state that each symbol leads to, or the nearest one of the same class, shape
        ``(n_symbols, n_states)``; see `seqray.explain.class_states.nearest_states`.
    target_decisions
        The number of the class after each symbol, of the same shape.
    off
        The largest share of a step that leads elsewhere than to that state.
    """

    named: NamedAutomaton
    scores: FloatArray
    decisions: IntArray
    targets: IntArray
    target_decisions: IntArray
    off: float

    @property
    def automaton(self) -> ClassifierAutomaton:
        """The automaton in readable coordinates."""
        return classifier_of(self.named)

    @property
    def is_deterministic(self) -> bool:
        """Whether each symbol leads from one state to one other, nearly."""
        return self.off <= MAX_OFF_SHARE

    @property
    def changes(self) -> tuple[ClassChange, ...]:
        """The steps after which the class is another: there decisions are made."""
        names, classes = self.named.names, self.automaton.classes
        return tuple(
            ClassChange(
                names[q],
                symbol,
                state_name(self.named, int(self.targets[code, q])),
                classes[self.decisions[q]],
                classes[self.target_decisions[code, q]],
            )
            for q in range(len(names))
            for code, symbol in enumerate(self.automaton.alphabet)
            if self.decisions[q] != self.target_decisions[code, q]
        )

    def __repr__(self) -> str:
        return as_text(self.sections())

    def sections(self, *, is_short: bool = True) -> tuple[Section, ...]:
        """Return the tables that show it; ``is_short``: long names of states in part."""
        return (_states(self, is_short), _changes(self, is_short))

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them."""
        return {
            "classes": list(self.automaton.classes),
            "question": self.automaton.question.value,
            "states": list(self.named.names),
            "state_classes": [self.automaton.classes[number] for number in self.decisions],
            "state_scores": self.scores.tolist(),
            "visits": self.named.mass.tolist(),
            "targets": [
                [None if target == NO_STATE else target for target in row]
                for row in self.targets.tolist()
            ],
            "target_classes": [
                [self.automaton.classes[number] for number in row] for row in self.target_decisions
            ],
            "is_deterministic": self.is_deterministic,
            "class_changes": [change._asdict() for change in self.changes],
        }


def class_facts(automaton: AutomatonLike) -> ClassFacts:
    """Return which class each state has, and which steps change the class.

    Parameters
    ----------
    automaton
        An automaton that classifies, or what one is in.

    Examples
    --------
    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> parity = ClassifierAutomaton("ab", [1, 0], [swap, stay], [[1, 0], [0, 1]],
    ...     classes=["even", "odd"])
    >>> facts = class_facts(parity)
    >>> facts.is_deterministic, facts.changes[0]
    (True, ClassChange(origin='start', symbol='a', target='after a', before='even', after='odd'))
    """
    given = as_automaton(automaton, purpose=Purpose.READING)
    if not isinstance(given, ClassifierAutomaton):
        raise ArgumentError(
            f"automaton: expected one that classifies, got {given!r}: facts of any other are "
            "returned by seqray.facts"
        )
    named = name_class_states(given)
    readable = classifier_of(named)
    steps = readable.transitions
    targets = np.array([nearest_states(readable, matrix) for matrix in steps])
    after = np.array([vector_decisions(readable, matrix) for matrix in steps])
    unit = np.eye(readable.n_states)[targets] * (targets != NO_STATE)[:, :, None]
    off = float(np.abs(steps - unit).sum(axis=2).max() / 2)
    scores, decisions = readable.state_scores, readable.state_decisions
    return ClassFacts(named, scores, decisions, targets, after, off)


def _state(name: str, width: int, is_short: bool) -> str:
    return shortened(name, width) if is_short else name


def _states(facts: ClassFacts, is_short: bool) -> Section:
    """Return one row per state: its class, how sure that is, and where symbols lead."""
    automaton, names = facts.automaton, facts.named.names
    symbols = [abbreviated(str(symbol), 8) for symbol in automaton.alphabet][:8]
    columns = ("state", "class", " prob.", " visits", *(f"then {s}" for s in symbols))
    rows = []
    for q, name in enumerate(names):
        number = int(facts.decisions[q])
        targets = facts.targets[: len(symbols), q].tolist()
        leads = [_state(state_name(facts.named, target), 14, is_short) for target in targets]
        share = f"{100 * facts.scores[q, number]:.1f} %"
        visits = f"{100 * facts.named.mass[q]:.1f} %"
        shown = _state(name, 24, is_short)
        rows.append((shown, automaton.classes[number], share, visits, *leads))
    note = "prob.: probability of the class. visits: share of random words that lead there."
    if facts.is_deterministic:
        note += " Each symbol leads from one state to one other."
    else:
        note += " Steps lead to mixtures of states; the nearest state of the same class is shown."
    if len(symbols) < len(automaton.alphabet):
        note += f" The first {len(symbols)} of {len(automaton.alphabet):,} symbols are shown."
    return Section(f"{counted(len(names), 'state')} and their classes", columns, tuple(rows), note)


def _changes(facts: ClassFacts, is_short: bool) -> Section:
    columns = ("state", "symbol", "leads to", "class before", "class after")
    rows = tuple(
        (
            _state(each.origin, 24, is_short),
            str(each.symbol),
            _state(each.target, 24, is_short),
            *each[3:],
        )
        for each in facts.changes
    )
    return Section("Steps that change the class", columns, rows)
