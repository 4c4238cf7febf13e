"""Deterministic approximations of automata, with what they lose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.purpose import Purpose
from seqray.automata.sampling import uniform_words
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import Classifier
from seqray.fidelity.compare import compare
from seqray.fidelity.reference import drawn_words
from seqray.fidelity.table import Fidelity
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.learning.decision_search import access_words
from seqray.learning.decisions import decisions_of
from seqray.learning.dfa import MAX_RANDOM_LENGTH, LearningMethod, learn_dfa
from seqray.learning.known_rows import words_of
from seqray.learning.pdfa import learn_pdfa, readable
from seqray.learning.result import Learned, LearningEnd
from seqray.util.display import Drawable
from seqray.util.errors import ArgumentError
from seqray.util.formatting import counted, significant
from seqray.util.random import Seed, random_generator

N_WORDS = 2000
"""Random words on which decisions are compared, where none are given."""


@dataclass(frozen=True, eq=False)
class Determinised(Drawable):
    """A deterministic automaton, and what it loses.

    Parameters
    ----------
    learned
        The deterministic automaton, and how it was made.
    n_states_before
        The number of states of the original.
    fidelity
        How faithful it is to the original on words; None for one that decides.
    agreement
        The share of words on which both decide alike; None for one that predicts.
    n_words
        On how many words that was measured.
    """

    learned: Learned[StructuredAutomaton] | Learned[DeterministicAutomaton]
    n_states_before: int
    fidelity: Fidelity | None
    agreement: float | None
    n_words: int

    @property
    def automaton(self) -> StructuredAutomaton:
        """The deterministic automaton."""
        return self.learned.automaton

    def best(self, *, purpose: str = Purpose.COPYING) -> StructuredAutomaton:
        """Return the deterministic automaton, whatever the purpose."""
        return self.learned.best(purpose=purpose)

    def __repr__(self) -> str:
        return f"Determinised({self.report})"

    @property
    def report(self) -> str:
        """What was lost, in one line."""
        states = counted(self.automaton.n_states, "deterministic state")
        end = "" if self.learned.is_complete else f"; incomplete: {self.learned.end.value}"
        if self.fidelity is None:
            assert self.agreement is not None
            loss = f"decides {100 * self.agreement:.4g} % of {self.n_words:,} words alike"
        else:
            bits = significant(self.fidelity["kl_per_symbol"], 3)
            own = significant(self.fidelity["entropy_per_symbol"], 3)
            loss = f"loses {bits} bits per symbol of {own} on {self.n_words:,} words"
        return f"{states} for {self.n_states_before:,}: {loss}{end}"


def determinise(
    automaton: AutomatonLike,
    *,
    tolerance: float = 0.01,
    threshold: float | None = None,
    max_states: int = 1000,
    words: Words | Iterable[Word] | None = None,
    seed: Seed = 0,
) -> Determinised:
    """Approximate an automaton by a deterministic one, and measure what is lost.

    Prefixes become one state where what follows them is the same within a tolerance. A larger
    tolerance merges more, so this also simplifies automata that are deterministic already.

    Parameters
    ----------
    automaton
        An automaton, or what one is in. Without a threshold it has to be (nearly) a distribution,
        and the result is a PDFA; or it has classes, and the result is a DFA or Moore machine that
        decides as it does.
    tolerance
        Prefixes are merged if no probability of a next symbol differs by more than this, now or
        later.
    threshold
        Words that weigh at least this are accepted, all others rejected: the result is a DFA. An
        automaton with classes has none.
    max_states
        The most states; further prefixes go to the states whose predictions are nearest.
    words
        The words on which the loss is measured; by default words drawn from the automaton, or
        random ones where it decides.
    seed
        Random seed, a number or a generator.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [0.5, 0.5], [[[0.5, 0], [0, 0.25]]], [0.5, 0.75])
    >>> result = determinise(wa, tolerance=0.02)
    >>> result.automaton.n_states, result.fidelity["kl_per_symbol"] < 0.001
    (4, True)
    >>> determinise(wa, threshold=0.1).automaton.decide(["", "a", "aa", "aaa"])
    ['yes', 'yes', 'no', 'no']
    """
    wa, rng = as_automaton(automaton), random_generator(seed)
    if isinstance(wa, Classifier):
        _check_no_threshold(wa, threshold)
        return _decided(wa, None, max_states, words, rng)
    if threshold is not None:
        return _decided(wa, threshold, max_states, words, rng)
    if not wa.is_distribution:
        raise ArgumentError(
            f"automaton: the weights of all words sum to {wa.total:.4g}, expected about 1: give a "
            "threshold, and a DFA of what weighs at least that is made"
        )
    box = readable(wa)
    learned = learn_pdfa(box, tolerance=tolerance, max_states=max_states, seed=rng)
    chosen = drawn_words(box, seed=rng)[0] if words is None else wa.alphabet.words(words)
    fidelity = compare(box, learned.automaton, chosen)
    return Determinised(learned, wa.n_states, fidelity, None, len(chosen))


def _check_no_threshold(wa: Classifier, threshold: float | None) -> None:
    """Refuse a threshold for an automaton that decides; any from 0 to 1 leaves a DFA as it is."""
    is_dfa = isinstance(wa, DeterministicAutomaton) and wa.is_dfa
    if threshold is None or (is_dfa and 0 < threshold <= 1):
        return
    raise ArgumentError(
        f"threshold: expected none for an automaton with the classes {', '.join(wa.classes)}, got "
        f"{threshold}: leave it out, and the result decides as the automaton does"
    )


def _decided(
    wa: WeightedAutomaton,
    threshold: float | None,
    max_states: int,
    words: Words | Iterable[Word] | None,
    rng: np.random.Generator,
) -> Determinised:
    smallest = wa.minimised() if isinstance(wa, DeterministicAutomaton) else None
    if smallest is not None and smallest.n_states <= max_states:
        learned = _nothing_queried(smallest)
    else:
        learn = partial(learn_dfa, wa, method=LearningMethod.TREE, max_states=max_states, seed=rng)
        learned = learn() if threshold is None else learn(threshold=threshold)
    chosen = (
        uniform_words(wa.alphabet, N_WORDS, seed=rng, max_length=MAX_RANDOM_LENGTH)
        if words is None
        else wa.alphabet.words(words)
    )
    decisions = decisions_of(wa) if threshold is None else decisions_of(wa, threshold)
    expected = decisions.by(wa, chosen)
    agreement = float((decisions.by(learned.automaton, chosen) == expected).mean())
    return Determinised(learned, wa.n_states, None, agreement, len(chosen))


def _nothing_queried(automaton: DeterministicAutomaton) -> Learned[DeterministicAutomaton]:
    """Return an automaton that is known already as what was learnt."""
    return Learned(
        automaton=automaton,
        end=LearningEnd.COMPLETE,
        n_queries=0,
        n_search_queries=0,
        n_searches=0,
        access_words=words_of(automaton.alphabet, access_words(automaton)),
        largest_distance=0.0,
    )
