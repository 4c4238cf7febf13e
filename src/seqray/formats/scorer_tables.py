"""Automata as flat tables, for graphs and programs that read words without seqray.

Every automaton has the form of a structured one here: a dense one has a single group, whose
transitions are all remembering.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import Question
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.stepper import predicts
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Alphabet
from seqray.util.arrays import FloatArray, IntArray

FORGETFUL = -1
"""Where the matrix of a transition that has none begins."""


@dataclass(frozen=True, eq=False)
class TransitionTables:
    """How a state moves; see `seqray.StructuredAutomaton`.

    Parameters
    ----------
    next_group
        The group after each symbol in each group, shape ``(n_groups, n_symbols)``.
    sizes
        How many states each group has.
    start
        The first group.
    initial
        The weight with which a word begins in each state of the first group.
    begins
        Where the matrix of each group and symbol begins among the values, `FORGETFUL` where it is
        ``emission ⊗ entry``; shape ``(n_groups, n_symbols)``.
    values
        The numbers of all matrices, row by row.
    emission
        The weight of each symbol in each state; empty where no transition is forgetful.
    entry
        How forgetful transitions enter each group; empty where no transition is forgetful.
    """

    next_group: IntArray
    sizes: IntArray
    start: int
    initial: FloatArray
    begins: IntArray
    values: FloatArray
    emission: FloatArray
    entry: FloatArray

    @cached_property
    def offsets(self) -> IntArray:
        """The first state of each group."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @property
    def max_size(self) -> int:
        """The size of the largest group."""
        return int(self.sizes.max())

    @property
    def has_forgetful(self) -> bool:
        """Whether some transition is forgetful."""
        return bool((self.begins == FORGETFUL).any())

    @property
    def has_remembering(self) -> bool:
        """Whether some transition has a matrix."""
        return bool((self.begins != FORGETFUL).any())


@dataclass(frozen=True, eq=False)
class ClassTables:
    """What an automaton that classifies answers; see `seqray.ClassifierAutomaton`."""

    outputs: FloatArray
    names: tuple[str, ...]
    question: Question
    threshold: float | None


@dataclass(frozen=True, eq=False)
class ScorerTables:
    """All that it takes to score words.

    Parameters
    ----------
    alphabet
        The symbols.
    moves
        How a state moves.
    final
        The weight with which a word ends in each state.
    readers
        Where the automaton predicts: one column per symbol, the end, and all these together, shape
        ``(n_states, n_symbols + 2)``. Next-symbol probabilities are quotients of what they read.
    classes
        Where the automaton classifies, with two classes or more: its classes.
    """

    alphabet: Alphabet
    moves: TransitionTables
    final: FloatArray
    readers: FloatArray | None
    classes: ClassTables | None

    @classmethod
    def of(cls, automaton: WeightedAutomaton) -> ScorerTables:
        """Return the tables of an automaton.

        >>> tables = ScorerTables.of(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))
        >>> tables.moves.values, tables.readers
        (array([0.5]), array([[0.5, 0.5, 1. ]]))
        """
        if isinstance(automaton, StructuredAutomaton):
            moves = _structured(automaton)
        else:
            moves = _dense(automaton)
        classes = _classes(automaton)
        readers = _readers(automaton) if classes is None and predicts(automaton) else None
        return cls(automaton.alphabet, moves, automaton.final, readers, classes)


def _dense(automaton: WeightedAutomaton) -> TransitionTables:
    n_symbols, n = len(automaton.alphabet), automaton.n_states
    return TransitionTables(
        next_group=np.zeros((1, n_symbols), np.int64),
        sizes=np.array([n]),
        start=0,
        initial=automaton.initial,
        begins=np.arange(n_symbols)[None] * n * n,
        values=automaton.transitions.ravel(),
        emission=np.empty((0, n_symbols)),
        entry=np.empty(0),
    )


def _structured(automaton: StructuredAutomaton) -> TransitionTables:
    kept = automaton.remembering
    begins = np.where(kept.index < 0, FORGETFUL, np.append(kept.begins, 0)[kept.index])
    return TransitionTables(
        next_group=automaton.next_group,
        sizes=automaton.group_sizes,
        start=automaton.start_group,
        initial=automaton.initial_vector,
        begins=begins,
        values=kept.values,
        emission=automaton.emission[:, :-1],
        entry=automaton.entry,
    )


def _classes(automaton: WeightedAutomaton) -> ClassTables | None:
    if isinstance(automaton, ClassifierAutomaton):
        return ClassTables(
            automaton.outputs, automaton.classes, automaton.question, automaton.threshold
        )
    if isinstance(automaton, DeterministicAutomaton) and len(automaton.output_names) > 1:
        outputs = np.eye(len(automaton.output_names))[automaton.outputs]
        return ClassTables(outputs, automaton.output_names, Question.DECISION, None)
    return None


def _readers(automaton: WeightedAutomaton) -> FloatArray:
    after = automaton.prefix_final
    if isinstance(automaton, StructuredAutomaton):
        symbols = automaton.blocks.times(after)
    else:
        symbols = (automaton.transitions @ after).T
    readers = np.column_stack([symbols, automaton.final])
    total = readers.sum(axis=1) if automaton.elsewhere is None else after
    return np.column_stack([readers, total])
