"""Deterministic probabilistic automata (PDFA) from boxes that predict next symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Unpack

import numpy as np

from seqray.automata.deterministic import deterministic_pfa
from seqray.automata.sampling import sample
from seqray.automata.stepper import predicts
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.native.clipped import clipped
from seqray.blackbox.protocol import BlackBox, Classifier, allowed_length, name_of
from seqray.blackbox.queries.oracle import Oracle, direct_oracle
from seqray.learning.growth import GrowthWatch
from seqray.learning.known_rows import Codes, KnownRows, RowEquality, words_of
from seqray.learning.result import END_OF_STOP, Learned, LearningEnd
from seqray.learning.search_words import Walks, prefixes_of
from seqray.learning.session import LearningLimits, check_limits, max_states_of, opened_session
from seqray.learning.tree_learner import TreeLearner
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError, Stopped
from seqray.util.random import random_generator

FIRST_DRAW = 5
"""Words that are drawn first in each search; then twice as many, and so on."""

MAX_DRAWN_LENGTH = 100
"""The longest word that is drawn from the box, in symbols."""


def learn_pdfa(
    box: BlackBox,
    *,
    tolerance: float = 0.01,
    partitions: int | None = None,
    min_probability: float = 0.0,
    words: Words | Iterable[Word] = (),
    n_words: int = 50,
    **limits: Unpack[LearningLimits],
) -> Learned[StructuredAutomaton]:
    """Learn a deterministic probabilistic automaton from a box that predicts next symbols.

    Prefixes after which the box predicts the same, and goes on to do so, become one state. A
    discrimination tree tells them from each other with as few queries as it can; then
    counterexamples are searched for, until a search finds none: in words drawn from the box, in
    given words, and in walks along each transition of the automaton.

    Parameters
    ----------
    box
        What to query. Each distinct prefix is one query, and is cached.
    tolerance
        Next-symbol rows are equal if no probability differs by more than this.
    partitions
        Quantise instead: rows are equal if all their probabilities lie in the same of so many equal
        parts of 0 … 1.
    min_probability
        Symbols that are not more probable than this are not followed: they lead where the longest
        known ending of the prefix leads. By default only those of probability 0.
    words
        Words of your own to search for counterexamples, such as data.
    n_words
        How many words to draw from the box in each search.
    limits
        ``max_states``, the most states (1000); ``budget``, ``time_limit``, ``stop``, ``store``,
        ``max_length``, ``seed`` and ``progress``, as for `seqray.extract`. At a limit the automaton
        of what is known is returned.

    Returns
    -------
    Learned
        The ``automaton``, a `StructuredAutomaton` with one state in each group; how learning ended
        (``end``); how many queries it took.

    Examples
    --------
    A box with two states, even and odd numbers of a's:

    >>> import seqray
    >>> box = seqray.language_model(
    ...     lambda prefixes: [
    ...         [0.5, 0.3, 0.2] if prefix.count("a") % 2 else [0.2, 0.2, 0.6] for prefix in prefixes
    ...     ],
    ...     "ab",
    ... )
    >>> learned = learn_pdfa(box)
    >>> learned.automaton, learned.end.name
    (StructuredAutomaton(2 states in 2 groups, 2 symbols), 'COMPLETE')
    >>> learned.automaton.next_symbol(["a"])
    array([[0.5, 0.3, 0.2]])
    """
    check_limits("learn_pdfa", limits)
    box = readable(box)
    equality = RowEquality(tolerance, partitions)
    if not 0 <= min_probability < 1:
        raise ArgumentError(
            f"min_probability: expected 0 or more and below 1, got {min_probability}"
        )
    whole_number("n_words", n_words, 0)
    given = box.alphabet.words(words)
    with opened_session(box, **limits) as oracle:
        watch = GrowthWatch(tolerance)
        learner = TreeLearner(
            KnownRows(
                box.alphabet,
                oracle.next_symbol,
                min_probability,
                lambda: oracle.meter.left,
                oracle.max_length,
            ),
            equality,
            max_states_of(limits),
            lambda: watch.look(learner),
        )
        longest = allowed_length(oracle, limits.get("max_length"), MAX_DRAWN_LENGTH)
        search = PredictionRun(oracle, learner, given, n_words, longest)
        end = search.run(random_generator(limits.get("seed", 0)))
        return _learned(learner, search, end)


def readable(box: object) -> BlackBox:
    """Return a box that predicts; an automaton with negative weights as `seqray.clipped` reads it.

    >>> from seqray.automata.automaton import WeightedAutomaton
    >>> a, b = [[0.6, -0.1], [0.1, 0.2]], [[0, 0.2], [0, 0]]
    >>> readable(WeightedAutomaton("ab", [1, 0], [a, b], [0.3, 0.7]))
    ClippedAutomaton(2 states, 2 symbols)
    """
    given = as_box(box)
    if not predicts(given):
        advice = "a DFA of its decisions (seqray.learn_dfa; seqray learn --kind dfa)"
        if isinstance(box, Classifier):
            advice = (
                "a Moore machine of its classes (seqray.learn_dfa; seqray learn without --kind)"
            )
        raise ArgumentError(
            f"box: {name_of(given)} does not predict next symbols, which a PDFA needs: learn "
            + advice
        )
    automaton = direct_oracle(as_box(box)).automaton
    if automaton is not None and not automaton.is_nonnegative:
        return clipped(automaton)
    return as_box(box)


class PredictionRun:
    """Learns, and searches for counterexamples until a search finds none.

    Parameters
    ----------
    oracle
        Answers queries about the box.
    learner
        Learns from what is queried.
    given
        Words to search first.
    n_words
        How many words to draw from the box in each search.
    longest
        Their largest length.
    """

    def __init__(
        self, oracle: Oracle, learner: TreeLearner, given: Words, n_words: int, longest: int
    ) -> None:
        self.oracle, self.learner, self.given = oracle, learner, given
        self.n_words, self.longest = n_words, longest
        self.n_searches, self.walks = 0, Walks(learner)

    def run(self, rng: np.random.Generator) -> LearningEnd:
        """Learn to the end, or until a limit is reached; return which end it was."""
        try:
            self.learner.close()
            n_before = -1
            while self.learner.n_states > n_before and not self.learner.tree.is_capped:
                self.learner.refine()
                n_before = self.learner.n_states
                self._search(rng)
        except Stopped as stopped:
            if not len(self.learner.rows):  # nothing is known yet
                raise
            return END_OF_STOP[stopped.reason]
        return LearningEnd.MAX_STATES if self.learner.tree.is_capped else LearningEnd.COMPLETE

    def _search(self, rng: np.random.Generator) -> None:
        """Search for counterexamples, and learn from those of the first piece that has any."""
        self.n_searches += 1
        n_before = self.learner.n_states
        for words in self._pieces(rng):
            with self.oracle.meter.validating():
                self.learner.rows.query(words)
            self.learner.refine()
            if self.learner.n_states > n_before:
                return

    def _pieces(self, rng: np.random.Generator) -> Iterator[list[Codes]]:
        """Yield words in which counterexamples may be, a few first."""
        if self.n_searches == 1 and len(self.given):
            may_query = self.learner.rows.may_query
            yield [word for word in prefixes_of(self.given) if may_query(len(word))]
        n_drawn, n_more = 0, FIRST_DRAW
        while n_drawn < self.n_words:
            n_more = min(n_more, self.n_words - n_drawn)
            yield prefixes_of(self._draw(n_more, rng))
            n_drawn, n_more = n_drawn + n_more, 2 * n_more
        yield self.walks.draw(rng)

    def _draw(self, n_words: int, rng: np.random.Generator) -> Words:
        """Draw words from the box, which are searched for counterexamples."""
        with self.oracle.meter.validating():
            return sample(self.oracle.predictor, n_words, seed=rng, max_length=self.longest).words


def _learned(
    learner: TreeLearner, search: PredictionRun, end: LearningEnd
) -> Learned[StructuredAutomaton]:
    """Return the hypothesis as an automaton, with what it cost."""
    hypothesis, alphabet = learner.hypothesis(), learner.rows.alphabet
    return Learned(
        automaton=deterministic_pfa(alphabet, hypothesis.next_state, hypothesis.rows),
        end=end,
        n_queries=search.oracle.meter.n_queries,
        n_search_queries=search.oracle.meter.n_validation,
        n_searches=search.n_searches,
        access_words=words_of(alphabet, learner.tree.access),
        largest_distance=learner.largest_distance(),
    )
