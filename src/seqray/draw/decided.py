"""What a drawing shows of an automaton that classifies: the class of each state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.draw.graph import shown_name
from seqray.util.arrays import FloatArray
from seqray.util.formatting import short_percent

CLASS_COLOURS = ("#CFE8F7", "#FBE3B5", "#CDEBDD", "#F6D9E8", "#F3F0B8", "#E4DDF2", "#F7D6C4")
"""The inside of states by their class; with more classes they begin again."""


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
    """

    classes: Sequence[str]
    numbers: Sequence[int]
    scores: FloatArray

    @staticmethod
    def of(automaton: WeightedAutomaton) -> Decided | None:
        """Return it for an automaton that classifies; None for any other."""
        if not isinstance(automaton, ClassifierAutomaton):
            return None
        names = [shown_name(name) for name in automaton.classes]
        return Decided(names, automaton.state_decisions.tolist(), automaton.state_scores)

    def label(self, state: int) -> str:
        """Return the class of a state and its probability."""
        number = self.numbers[state]
        return f"{self.classes[number]} {short_percent(float(self.scores[state, number]))}"

    def tip(self, state: int) -> str:
        """Return the probability of every class in a state."""
        scores = zip(self.classes, self.scores[state].tolist(), strict=True)
        return ", ".join(f"{name} {short_percent(score)}" for name, score in scores)

    def colour(self, state: int) -> str:
        """Return the inside of a state."""
        return class_colour(self.numbers[state])


def class_colour(number: int) -> str:
    """Return the colour of the states of a class.

    >>> class_colour(0) == class_colour(len(CLASS_COLOURS))
    True
    """
    return CLASS_COLOURS[number % len(CLASS_COLOURS)]
