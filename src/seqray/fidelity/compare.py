"""How faithful an automaton is to a black box, on words of one's choice."""

from __future__ import annotations

from collections.abc import Iterable

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import Stepper
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import BlackBox, Classifier
from seqray.fidelity.decisions import compare_decisions
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.errors import ArgumentError


def compare(
    box: BlackBox | AutomatonLike,
    automaton: BlackBox | Stepper | AutomatonLike,
    words: Words | Iterable[Word],
    *,
    target: BlackBox | None = None,
) -> Fidelity:
    """Measure the fidelity of an automaton to a box on words.

    Parameters
    ----------
    box
        What the automaton stands in for.
    automaton
        A `WeightedAutomaton`, what one is in (an extraction, a named automaton, the path of a run
        folder), or anything else over the same alphabet that weighs words.
    words
        The evaluation words. A word that stands there twice counts twice.
    target
        What box and automaton were both made to copy, such as a PAutomaC machine: perplexities
        and ``kl`` are then measured against it, and all else against the box.

    Returns
    -------
    Fidelity
        Every metric that makes sense here: the perplexities, ``kl`` and ``zeros`` only where the
        weights of the box (and of the target) are not negative and not all 0, the next-symbol
        metrics only where both sides predict next symbols. Of two classifiers it is a
        `seqray.fidelity.decisions.DecisionFidelity`, of their decisions alone.

    Examples
    --------
    >>> box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> near = WeightedAutomaton("ab", [1], [[[0.4]], [[0.35]]], [0.25])
    >>> fidelity = compare(box, near, ["", "a", "b", "ab"])
    >>> fidelity["ndcg5"], fidelity["wer"], round(fidelity["relative_error"], 3)
    (1.0, 0.75, 0.123)
    """
    if isinstance(box, Classifier):
        both = automaton if isinstance(automaton, BlackBox) else as_automaton(automaton)
        if isinstance(both, Classifier):
            if target is not None:
                raise ArgumentError("target: expected none for classifiers: leave it out")
            return compare_decisions(box, both, words)
    return Reference.query(box, words, target).compare(automaton, intervals=True)


def compare_ranks(
    reference: Reference, automaton: WeightedAutomaton, ranks: Iterable[int]
) -> FidelityTable:
    """Measure ``automaton.truncate(rank)`` for each rank; the box is not queried.

    See `FidelityTable` for an example.
    """
    ranks = tuple(ranks)
    fidelities = tuple(reference.compare(automaton.truncate(rank)) for rank in ranks)
    return FidelityTable(ranks, fidelities)
