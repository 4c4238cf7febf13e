"""What a drawing shows of an automaton that classifies: the class of each state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.deterministic import DECISIONS
from seqray.draw.graph import DrawnEdge, shown_name
from seqray.util.arrays import FloatArray
from seqray.util.formatting import short_percent

CLASS_COLOURS = ("#CFE8F7", "#FBE3B5", "#CDEBDD", "#F6D9E8", "#F3F0B8", "#E4DDF2", "#F7D6C4")
"""The inside of states by their class; with more classes they begin again."""

MAX_LINE_CHARACTERS = 12
"""Symbols share a line beside an edge up to this length; wider labels cover other edges."""

CERTAIN_TOLERANCE = 1e-3
"""Weights and probabilities that are nearer than this to 0 or 1 count as 0 or 1."""


@dataclass(frozen=True, eq=False)
class Decided:
    """What an automaton that classifies decides in each state.

    Parameters
    ----------
    classes
        The names of the classes.
    numbers
        The class of each state.
    scores
        The probability of each class in each state, shape ``(n_states, n_classes)``.
    is_certain
        Whether it is a DFA or Moore machine: each symbol leads from each state to one other, with
        weight 1, and each state has one class, with probability 1.
    """

    classes: Sequence[str]
    numbers: Sequence[int]
    scores: FloatArray
    is_certain: bool = False

    @staticmethod
    def of(automaton: WeightedAutomaton) -> Decided | None:
        """Return it for an automaton that classifies; None for any other."""
        if not isinstance(automaton, ClassifierAutomaton):
            return None
        names = [shown_name(name) for name in automaton.classes]
        scores, is_certain = automaton.state_scores, _is_certain(automaton)
        return Decided(names, automaton.state_decisions.tolist(), scores, is_certain)

    def label(self, state: int) -> str:
        """Return the class of a state and its probability, if that is not 1 in all states."""
        number = self.numbers[state]
        if self.is_certain:
            return self.classes[number]
        return f"{self.classes[number]} {short_percent(float(self.scores[state, number]))}"

    def tip(self, state: int) -> str:
        """Return the probability of every class in a state; where it is certain, its class."""
        if self.is_certain:
            return self.label(state)
        scores = zip(self.classes, self.scores[state].tolist(), strict=True)
        return ", ".join(f"{name} {short_percent(score)}" for name, score in scores)

    def is_accepting(self, number: int) -> bool:
        """Whether a class is the yes of a DFA."""
        return self.is_certain and tuple(self.classes) == DECISIONS and number == 1

    def colour(self, state: int) -> str:
        """Return the inside of a state."""
        return class_colour(self.numbers[state])


def class_colour(number: int) -> str:
    """Return the colour of the states of a class.

    >>> class_colour(0) == class_colour(len(CLASS_COLOURS))
    True
    """
    return CLASS_COLOURS[number % len(CLASS_COLOURS)]


def symbols_label(edge: DrawnEdge, n_lines: int) -> tuple[tuple[str, float], ...]:
    """Return the symbols of an edge without their weights, in at most so many lines.

    >>> edge = DrawnEdge(0, 1, (("a", 1.0), ("b", 1.0)), ("a", "b"))
    >>> symbols_label(edge, 4)
    (('a, b', 1.0),)
    """
    lines: list[list[str]] = []
    for name in edge.names:
        if lines and len(", ".join([*lines[-1], name])) <= MAX_LINE_CHARACTERS:
            lines[-1].append(name)
        else:
            lines.append([name])
    cut = len(lines) if len(lines) <= n_lines else n_lines - 1
    shown = tuple((", ".join(line), edge.heaviest) for line in lines[:cut])
    n_left = sum(map(len, lines[cut:]))
    return (*shown, (f"… {n_left} more", 0.0)) if n_left else shown


def _is_certain(automaton: ClassifierAutomaton) -> bool:
    """Whether an automaton is a DFA or Moore machine; see `Decided`."""
    moves = automaton.listed()
    moves = moves.chosen(np.flatnonzero(np.abs(moves.weights) > CERTAIN_TOLERANCE))
    n_symbols = len(automaton.alphabet)
    n_pairs = len(np.unique(moves.origins * n_symbols + moves.codes))
    return bool(
        n_pairs == len(moves.weights) == automaton.n_states * n_symbols
        and np.abs(moves.weights - 1).max() <= CERTAIN_TOLERANCE
        and automaton.state_scores.max(axis=1).min() >= 1 - CERTAIN_TOLERANCE
    )
