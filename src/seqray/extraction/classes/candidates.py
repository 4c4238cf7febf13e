"""Which question an automaton is made of: the one whose automata agree with the box most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import Question
from seqray.automata.ranks import RankedAutomata
from seqray.extraction.classes.blocks import ClassBlocks
from seqray.fidelity.decisions import DecisionReference
from seqray.fidelity.table import (
    FEWER_AGREEING_WORDS,
    SCORE_DISTANCE_TOLERANCE,
    smallest_faithful,
)

ORDER = (Question.PROBABILITY, Question.LOGIT, Question.DECISION)
"""Of questions that are equally good the first is taken: probabilities say most."""


@dataclass(frozen=True)
class QuestionScore:
    """How well automata of one question agree with the box.

    Parameters
    ----------
    question
        What was learnt: decisions, probabilities or logits.
    states
        How many states the smallest automaton has that is as good as the best, see
        `seqray.fidelity.table.smallest_faithful`.
    agreement
        The share of drawn words to which it gives the class of the box: of validation words, and of
        those among which counterexamples were searched.
    distance
        The distance of its class probabilities from those of the box on these words; None in runs
        of earlier versions.
    """

    question: str
    states: int
    agreement: float
    distance: float | None = None


@dataclass(frozen=True, eq=False)
class ClassCandidate:
    """The automata of one question, and the best of them.

    Parameters
    ----------
    question
        What they compute.
    automata
        Of every rank.
    rank
        The best rank.
    agreement
        The share of validation words to which it gives the class of the box.
    drawn_agreement, drawn_distance
        The same of all drawn words, and the distance of class probabilities there: questions that
        agree on the former may differ here.
    """

    question: Question
    automata: RankedAutomata
    rank: int
    agreement: float
    drawn_agreement: float
    drawn_distance: float

    @property
    def chosen(self) -> ClassifierAutomaton:
        """The automaton of the best rank."""
        return self.at(self.rank)

    def at(self, rank: int) -> ClassifierAutomaton:
        """Return the automaton of a rank."""
        automaton = self.automata.automaton(rank)
        assert isinstance(automaton, ClassifierAutomaton)
        return automaton

    @property
    def score(self) -> QuestionScore:
        """What is recorded of it."""
        agreement, distance = self.drawn_agreement, self.drawn_distance
        return QuestionScore(self.question.value, self.rank, agreement, distance)


def some_sizes(max_rank: int) -> list[int]:
    """Return ranks to compare: all up to 12, then each about a sixth larger than the last.

    >>> some_sizes(20)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20]
    """
    sizes = [*range(1, min(12, max_rank) + 1)]
    while sizes[-1] < max_rank:
        sizes.append(min(max_rank, sizes[-1] + max(1, sizes[-1] // 6)))
    return sizes


def class_candidates(
    blocks: ClassBlocks, reference: DecisionReference, drawn: DecisionReference, max_rank: int
) -> list[ClassCandidate]:
    """Return the best automata of each question.

    Parameters
    ----------
    blocks
        Filled blocks.
    reference
        What the box says of validation words: ranks are chosen by them.
    drawn
        What it says of all drawn words, on which questions are compared.
    max_rank
        The largest number of states.
    """
    return [_candidate(blocks, (reference, drawn), max_rank, question) for question in ORDER]


def _candidate(
    blocks: ClassBlocks,
    references: tuple[DecisionReference, DecisionReference],
    max_rank: int,
    question: Question,
) -> ClassCandidate:
    reference, drawn = references
    automata = blocks.automata(question, max_rank)
    sizes = some_sizes(automata.max_rank)
    measured = []
    for size in sizes:
        automaton = automata.largest.truncate(size)
        assert isinstance(automaton, ClassifierAutomaton)
        measured.append(reference.agreement_and_distance(automaton))
        if measured[-1][0] == 1.0 and measured[-1][1] <= SCORE_DISTANCE_TOLERANCE:
            break  # no larger one is better by more than the tolerance
    agreements, distances = np.array(measured).T
    at = smallest_faithful(agreements, distances, tolerance(reference))
    chosen = automata.largest.truncate(sizes[at])
    assert isinstance(chosen, ClassifierAutomaton)
    on_drawn = drawn.agreement_and_distance(chosen)
    return ClassCandidate(question, automata, sizes[at], measured[at][0], *on_drawn)


def tolerance(reference: DecisionReference) -> float:
    """Return how much less a smaller automaton may agree."""
    return FEWER_AGREEING_WORDS / len(reference.words)


def nearest_question(
    candidates: Sequence[ClassCandidate], drawn: DecisionReference
) -> ClassCandidate:
    """Return the candidate that agrees most, with the nearest probabilities and fewest states.

    Of candidates that agree nearly equally those count whose probabilities are nearly the nearest,
    and of these the one with the fewest states. Logits less their mean have one dimension less than
    probabilities: that alone makes no automaton simpler, so that they count one state more.
    """
    best = max(each.drawn_agreement for each in candidates)
    near = [each for each in candidates if each.drawn_agreement >= best - tolerance(drawn)]
    limit = min(each.drawn_distance for each in near) + SCORE_DISTANCE_TOLERANCE
    near = [each for each in near if each.drawn_distance <= limit]
    return min(near, key=lambda each: each.rank + (each.question is Question.LOGIT))
