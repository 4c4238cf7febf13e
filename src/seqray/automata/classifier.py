"""Automata that classify: one weighted automaton with one output per class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.automaton_content import AutomatonContent
from seqray.automata.decisions import (
    Question,
    check_classes,
    check_threshold,
    decide,
    scores_of,
)
from seqray.automata.stepper import read_each
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.util.arrays import FloatArray, IntArray, real_array
from seqray.util.errors import RankError

MAX_OUTPUT = 1e100
"""Outputs are cut here: at a high rank an automaton may overflow on long words."""


class ClassifierAutomaton(WeightedAutomaton):
    """A weighted automaton with a matrix of final weights: one column, the *output*, per class.

    It is a classifier as `seqray.blackbox.protocol.Classifier` says. As a weighted automaton its
    final weights are the output of the last class.

    Parameters
    ----------
    alphabet, initial, transitions
        As for `WeightedAutomaton`.
    outputs
        The output of each class in each state, shape ``(n_states, n_classes)``.
    classes
        The names of the classes.
    question
        What the outputs are: decisions, probabilities or logits.
    threshold
        See `seqray.automata.decisions.decide`. Where the outputs are decisions, there is none.

    Examples
    --------
    The parity of the number of ``a``:

    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> parity = ClassifierAutomaton(
    ...     "ab", [1, 0], [swap, stay], [[1, 0], [0, 1]], classes=["even", "odd"]
    ... )
    >>> parity
    ClassifierAutomaton(2 states, 2 symbols, 2 classes)
    >>> parity.classify(["", "a", "aba"])
    ['even', 'odd', 'even']
    """

    outputs: FloatArray
    classes: tuple[str, ...]
    question: Question
    threshold: float | None

    def __init__(
        self,
        alphabet: Alphabet | Iterable[Symbol],
        initial: ArrayLike,
        transitions: ArrayLike,
        outputs: ArrayLike,
        *,
        classes: Sequence[str],
        question: str = Question.PROBABILITY,
        threshold: float | None = None,
    ) -> None:
        names = check_classes(classes)
        matrix = real_array("outputs", outputs, (None, len(names)))
        super().__init__(alphabet, initial, transitions, matrix[:, -1])
        chosen = Question(question)
        limit = None if chosen is Question.DECISION else check_threshold(threshold, len(names))
        values = {"outputs": matrix, "classes": names, "question": chosen, "threshold": limit}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def is_distribution(self) -> bool:
        """Whether it predicts next symbols: no classifier does."""
        return False

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """The numbers, by name."""
        return {
            "initial": self.initial,
            "transitions": self.transitions,
            "outputs": self.outputs,
        }

    @property
    def content(self) -> AutomatonContent:
        """What a file holds of it."""
        about = {
            "classes": list(self.classes),
            "question": self.question.value,
            "threshold": self.threshold,
        }
        return AutomatonContent(self.alphabet, self.arrays, about)

    @staticmethod
    def from_content(content: AutomatonContent) -> ClassifierAutomaton:
        """Return the automaton that a file holds."""
        arrays = {name: content.arrays[name] for name in ("initial", "transitions", "outputs")}
        return ClassifierAutomaton(content.alphabet, **arrays, **content.about)

    # Answers ------------------------------------------------------------------------------------

    def class_outputs(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the output of each class for each word, shape ``(n_words, n_classes)``."""
        return read_each(self, self.alphabet.words(words), self.state_outputs)

    def state_outputs(self, states: States) -> FloatArray:
        """Return the output of each class in each state of a batch."""
        vectors, log_scales = self.split_states(states)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = (vectors @ self.outputs) * np.exp(log_scales)[:, None]
        return np.clip(np.nan_to_num(outputs), -MAX_OUTPUT, MAX_OUTPUT)

    def scores(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the probability of each class for each word, shape ``(n_words, n_classes)``."""
        return scores_of(self.question, self.class_outputs(words))

    def decisions(self, words: Words | Iterable[Word]) -> IntArray:
        """Return the number of the class of each word."""
        return decide(self.scores(words), self.threshold)

    def classify(self, words: Words | Iterable[Word]) -> list[str]:
        """Return the name of the class of each word."""
        return [self.classes[number] for number in self.decisions(words)]

    @property
    def state_scores(self) -> FloatArray:
        """The class probabilities in each state alone, shape ``(n_states, n_classes)``."""
        return scores_of(self.question, self.outputs)

    @property
    def state_decisions(self) -> IntArray:
        """The number of the class that each state alone decides for."""
        return decide(self.state_scores, self.threshold)

    # Other automata -----------------------------------------------------------------------------

    def of_class(self, name: str) -> WeightedAutomaton:
        """Return the weighted automaton whose weights are the output of one class."""
        if name not in self.classes:
            raise RankError(f"class: expected one of {', '.join(self.classes)}, got {name!r}")
        column = self.outputs[:, self.classes.index(name)]
        return WeightedAutomaton(self.alphabet, self.initial, self.transitions, column)

    def with_arrays(
        self, initial: FloatArray, transitions: FloatArray, outputs: FloatArray
    ) -> ClassifierAutomaton:
        """Return an automaton with other numbers and the same classes."""
        return ClassifierAutomaton(
            *(self.alphabet, initial, transitions, outputs),
            classes=self.classes,
            question=self.question,
            threshold=self.threshold,
        )

    def truncate(self, n_states: int) -> ClassifierAutomaton:
        """Return the automaton of the first ``n_states`` states."""
        if not 1 <= n_states <= self.n_states:
            raise RankError(f"rank {n_states} is outside 1 … {self.n_states}")
        n = n_states
        return self.with_arrays(self.initial[:n], self.transitions[:, :n, :n], self.outputs[:n])

    def in_basis(self, vectors: FloatArray) -> ClassifierAutomaton:
        """Return the same function with other states: each row of ``vectors`` is one of them.

        The output of a new state is the output of the vector that it is. What the rows do not span
        is lost.

        >>> wa = ClassifierAutomaton("a", [2, 0], [[[0, 1], [1, 0]]], [[1, 0], [0, 1]],
        ...     classes=["even", "odd"])
        >>> wa.in_basis(np.array([[2.0, 0.0], [0.0, 2.0]])).outputs
        array([[2., 0.],
               [0., 2.]])
        """
        inverse = np.linalg.pinv(vectors)
        moved = np.stack([vectors @ matrix @ inverse for matrix in self.transitions])
        return self.with_arrays(self.initial @ inverse, moved, vectors @ self.outputs)

    def __repr__(self) -> str:
        sizes = f"{self.n_states} states, {len(self.alphabet)} symbols, {self.n_classes} classes"
        return f"ClassifierAutomaton({sizes})"
