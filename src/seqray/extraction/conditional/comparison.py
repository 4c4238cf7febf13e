"""How near automata are to the box: on held-out words, and on counterexamples."""

from __future__ import annotations

import dataclasses

from seqray.automata.automaton import WeightedAutomaton
from seqray.extraction.conditional.parts import LearntPart
from seqray.fidelity.disagreements import mean_word_distance
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import EXACT_TOLERANCE, Fidelity


def compare(
    automaton: WeightedAutomaton, held_out: Reference, counterexamples: Reference | None
) -> Fidelity:
    """Compare an automaton with the box on held-out words, and on counterexamples, if any."""
    return with_counterexamples(held_out.compare(automaton), automaton, counterexamples)


def with_counterexamples(
    fidelity: Fidelity, automaton: WeightedAutomaton, counterexamples: Reference | None
) -> Fidelity:
    """Return a fidelity with the mean total variation distance after counterexamples."""
    if counterexamples is None:
        return fidelity
    distance = mean_word_distance(counterexamples, automaton)
    return dataclasses.replace(fidelity, metrics={**fidelity, "total_variation": distance})


def nearest(
    part: LearntPart, held_out: Reference, counterexamples: Reference | None
) -> tuple[WeightedAutomaton, Fidelity]:
    """Return the nearer automaton of the largest rank, SVD or fitted, and its fidelity."""
    largest = compare(part.largest, held_out, counterexamples)
    if part.fitted is not None:
        fitted = compare(part.fitted, held_out, counterexamples)
        if fitted.is_nearer_than(largest):
            return part.fitted, fitted
    return part.largest, largest


def is_exact(fidelity: Fidelity) -> bool:
    """Whether nothing is left to fit."""
    return fidelity.score > 1 - EXACT_TOLERANCE
