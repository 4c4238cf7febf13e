"""WL* of pymodelextractor, with its teacher that searches counterexamples in given words.

The learner has no limits of its own, so the box ends it: the last hypothesis is what it came to.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from counted_box import CountedBox
from job import Arrays, Clock, Drawn, LimitReachedError, Word
from pymodelextractor.learners.observation_table_learners.pdfa_lstar_learner import (
    PDFALStarLearner,
)
from pymodelextractor.teachers.sample_probabilistic_teacher import SampleProbabilisticTeacher
from pythautomata.base_types.alphabet import Alphabet
from pythautomata.base_types.sequence import Sequence
from pythautomata.base_types.symbol import SymbolStr

N_SAMPLES = 500
"""Words of one search for counterexamples."""


class Model:
    """A box as pymodelextractor sees one."""

    def __init__(self, box: CountedBox, n_symbols: int) -> None:
        self.box, self.name = box, "box"
        self.symbols = [SymbolStr(f"{code:03d}") for code in range(n_symbols)]
        self.codes = {symbol: code for code, symbol in enumerate(self.symbols)}
        self.terminal_symbol = SymbolStr("end")
        self.codes[self.terminal_symbol] = n_symbols
        self.alphabet = Alphabet(frozenset(self.symbols))

    def sequence_weight(self, sequence: Sequence) -> float:
        """Return the probability of a prefix."""
        return math.exp(self.log_sequence_weight(sequence))

    def log_sequence_weight(self, sequence: Sequence) -> float:
        """Return its logarithm."""
        word = tuple(self.codes[symbol] for symbol in sequence.value)
        rows = [self.box.row(word[:end])[code] for end, code in enumerate(word)]
        return float(np.log(np.maximum(rows, 1e-300)).sum())

    def get_last_token_weights(self, sequence: Sequence, suffixes: list[Any]) -> list[float]:
        """Return the probability of each suffix's last symbol."""
        word = tuple(self.codes[symbol] for symbol in sequence.value)
        answers = []
        for suffix in suffixes:
            signs = suffix.value if isinstance(suffix, Sequence) else [suffix]
            *stem, last = (self.codes[symbol] for symbol in signs)
            answers.append(float(self.box.row((*word, *stem))[last]))
        return answers

    def sequence(self, word: Word) -> Sequence:
        """Return a word as pymodelextractor writes it."""
        return Sequence([self.symbols[code] for code in word])


class DrawnWords:
    """Words of the box to search counterexamples in.

    Uniform words, the default, are mostly impossible in a box that gives some symbols probability
    0; pymodelextractor's automata have no transition for them, and it would not end.
    """

    def __init__(self, model: Model, words: list[Word]) -> None:
        self.words = [model.sequence(word) for word in words]

    def generate_words(self, number_of_words: int) -> list[Sequence]:
        """Return so many words."""
        return self.words[:number_of_words]


class Teacher(SampleProbabilisticTeacher):
    """Pymodelextractor's teacher, which remembers the last hypothesis."""

    hypothesis: Any = None

    def equivalence_query(self, aut: Any) -> Any:
        """Search for a counterexample."""
        self.hypothesis = aut
        return super().equivalence_query(aut)


def fit(
    drawn: Drawn, clock: Clock, box: str, budget: int, tolerance: float
) -> tuple[Arrays, dict[str, Any]]:
    sys.setrecursionlimit(100_000)
    counted = CountedBox.open(box, budget, clock)
    model = Model(counted, drawn.n_symbols)
    teacher = Teacher(model, tolerance, N_SAMPLES, DrawnWords(model, drawn.training))
    is_complete = True
    try:
        PDFALStarLearner().learn(teacher)
    except (LimitReachedError, AssertionError):  # it asserts that rows sum to 1 exactly
        is_complete = False
    outcome = {
        "queries": counted.n_queries,
        "limited": clock.is_over,
        "complete": is_complete,
    }
    if teacher.hypothesis is None:
        return {}, outcome | {"remark": "no hypothesis before the limit"}
    return arrays_of(teacher.hypothesis, model), outcome


def arrays_of(automaton: Any, model: Model) -> Arrays:
    """Return the table and the rows of an automaton, its initial state first."""
    states = sorted(automaton.weighted_states, key=lambda state: -state.initial_weight)
    place = {state.name: at for at, state in enumerate(states)}
    n_symbols = len(model.symbols)
    table, rows = np.zeros((len(states), n_symbols), int), np.zeros((len(states), n_symbols + 1))
    for at, state in enumerate(states):
        rows[at, -1] = state.final_weight
        for code, symbol in enumerate(model.symbols):
            for target, weight in state.transitions_list_for(symbol):
                table[at, code], rows[at, code] = place[target.name], weight
    return {"table": table, "rows": rows}
