"""What learning returns: an automaton, how learning ended, and what it cost."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Generic, TypeVar

from seqray.automata.purpose import Purpose
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Words
from seqray.util.display import Drawable
from seqray.util.errors import StopReason


class LearningEnd(enum.Enum):
    """Why learning ended. At any end there is an automaton."""

    COMPLETE = "the last search found no word that splits another state"
    MAX_STATES = "there are as many states as there may be"
    MAX_LENGTH = "to learn more takes words that are longer than the box reads"
    BUDGET = "the budget of queries is used up"
    TIME = "the time is over"
    INTERRUPTED = "it was interrupted"


END_OF_STOP = {
    StopReason.BUDGET: LearningEnd.BUDGET,
    StopReason.TIME: LearningEnd.TIME,
    StopReason.INTERRUPTED: LearningEnd.INTERRUPTED,
}
"""How learning ends where queries have to."""

Automaton = TypeVar("Automaton", bound=StructuredAutomaton)


@dataclass(frozen=True, eq=False)
class Learned(Drawable, Generic[Automaton]):
    """A deterministic automaton that was learnt from a box.

    It may stand for its automaton in `seqray.compare`, `seqray.to_svg` and other functions.

    Parameters
    ----------
    automaton
        The automaton, the hypothesis when learning ended.
    end
        Why learning ended. Unless that is `LearningEnd.COMPLETE`, the automaton is a partial one.
    n_queries
        The number of distinct words or prefixes that were queried.
    n_search_queries
        How many of these only searched for counterexamples.
    n_searches
        How often counterexamples were searched for.
    access_words
        For each state the word by which it was first reached.
    largest_distance
        The largest difference between a number of the box and of the automaton, on all words that
        were queried; for a box that decides, the share of these words that it decides otherwise.
    """

    automaton: Automaton
    end: LearningEnd
    n_queries: int
    n_search_queries: int
    n_searches: int
    access_words: Words
    largest_distance: float

    @property
    def is_complete(self) -> bool:
        """Whether the last search found no counterexample."""
        return self.end is LearningEnd.COMPLETE

    def best(self, *, purpose: str = Purpose.COPYING) -> StructuredAutomaton:
        """Return the automaton, whatever the purpose."""
        return self.automaton

    def __repr__(self) -> str:
        return (
            f"Learned({self.automaton.n_states} states, {self.n_queries:,} queries, "
            f"{self.end.name})"
        )
