"""Automata of every kind, and words for them, for what scores words outside seqray."""

import numpy as np

from automata import FIGURE_1, random_automaton
from seqray import (
    ClassifierAutomaton,
    DeterministicAutomaton,
    WeightedAutomaton,
    deterministic_pfa,
)
from seqray.automata.generators import random_structured


def random_classifier(question, threshold=None, n_classes=2):
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=3), rng.normal(size=(2, 3, 3)) / 3, rng.normal(size=(3, n_classes))
    names = ["x", "y", "z"][:n_classes]
    return ClassifierAutomaton(
        "ab", *numbers, classes=names, question=question, threshold=threshold
    )


def with_negative_weights(automaton):
    """Return an automaton of the same weights, in another basis."""
    basis = np.array([[1.0, 2.0], [-1.0, 1.0]])
    inverse = np.linalg.inv(basis)
    matrices = inverse @ automaton.transitions @ basis
    ends = automaton.initial @ basis, inverse @ automaton.final
    return WeightedAutomaton(automaton.alphabet, ends[0], matrices, ends[1])


AUTOMATA = {
    "probabilistic": FIGURE_1,
    "predicting, of any sign": with_negative_weights(FIGURE_1),
    "of any sign": random_automaton(1, n_states=4, n_symbols=3),
    "structured": random_structured(range(3), 5, seed=1, remembering=0.5),
    "structured, of one size": random_structured(range(2), 2, seed=2, remembering=1.0),
    "PDFA that leaks": deterministic_pfa("ab", [[0, 1], [1, 0]], [[0.5, 0.25, 0.2], [0, 0.5, 0.5]]),
    "DFA": DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0]),
    "decisions": random_classifier("decision", n_classes=3),
    "probabilities": random_classifier("probability", threshold=0.3),
    "logits": random_classifier("logit", n_classes=3),
}


def code_words(automaton, long=1500):
    """Return words as codes: all lengths up to 9, and one that underflows."""
    rng = np.random.default_rng(3)
    return [rng.integers(0, len(automaton.alphabet), n).tolist() for n in (*range(10), long)]


def symbols_of(automaton, code_words):
    return [automaton.alphabet.decode(codes) for codes in code_words]
