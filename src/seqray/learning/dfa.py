"""DFA and Moore machines from boxes that decide."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Collection, Iterable
from typing import Unpack

import numpy as np

from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.purpose import Purpose
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import allowed_length
from seqray.blackbox.queries.oracle import Oracle
from seqray.formats.aalpy_models import load_aalpy
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.learning.aalpy_learner import AalpyRun, EquivalenceOracle
from seqray.learning.decision_search import DecisionSearch, access_words
from seqray.learning.decisions import Decisions, decisions_of
from seqray.learning.growth import warn_of_one_decision, warn_of_size
from seqray.learning.known_rows import Codes, KnownRows, RowEquality, words_of
from seqray.learning.result import END_OF_STOP, Learned, LearningEnd
from seqray.learning.session import LearningLimits, check_limits, max_states_of, opened_session
from seqray.learning.tree_learner import TreeLearner
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError, MissingExtraError, Stopped
from seqray.util.random import random_generator

logger = logging.getLogger(__name__)

MAX_RANDOM_LENGTH = 30
"""The longest word that is searched, in symbols, unless the caller says otherwise."""


class LearningMethod(enum.StrEnum):
    """Which learner is used."""

    KV = "kv"
    LSTAR = "lstar"
    TREE = "tree"


ALGORITHMS = {LearningMethod.KV: "run_KV", LearningMethod.LSTAR: "run_Lstar"}
"""The functions of AALpy."""


def learn_dfa(
    box: object,
    *,
    threshold: float = 0.5,
    method: str | None = None,
    hint: AutomatonLike | None = None,
    words: Words | Iterable[Word] = (),
    n_words: int = 3000,
    equivalence: EquivalenceOracle | None = None,
    **limits: Unpack[LearningLimits],
) -> Learned[DeterministicAutomaton]:
    """Learn a deterministic automaton of what a box decides.

    A box of numbers gives a DFA: it says yes to words that weigh at least the threshold. A
    classifier gives a Moore machine whose outputs are its classes.

    Parameters
    ----------
    box
        What to query: any black box, or a classifier (``alphabet``, ``classes`` and
        ``scores(words)``). Each distinct word is one query, and is cached.
    threshold
        The least weight that means yes.
    method
        ``"kv"`` (Kearns and Vazirani) or ``"lstar"`` (Angluin), both of the package AALpy, which
        send one query at a time; or ``"tree"``, seqray's own discrimination tree, which sends
        batches and needs no other package. By default ``"kv"`` where AALpy is installed, else
        ``"tree"``.
    hint
        A weighted automaton that is near to the box, such as one that was extracted from it. Words
        on which it disagrees with the deterministic automaton are queried first. That of a
        classifier has the same classes.
    words
        Words of your own to search for counterexamples, such as data.
    n_words
        How many words of each kind to query in each search.
    equivalence
        For KV and L*, one more equivalence oracle of AALpy, which is used when seqray's search
        finds nothing: ``lambda alphabet, system: RandomWMethodEqOracle(alphabet, system)``.
    limits
        ``max_states``, the most states (1000); ``budget``, ``time_limit``, ``stop``, ``store``,
        ``seed`` and ``progress``, as for `seqray.extract`. ``max_length`` is the longest word that
        is searched for counterexamples (30): take the longest one that the box was trained on. At
        a limit the automaton of what is known is returned.

    Returns
    -------
    Learned
        The minimal ``automaton``; how learning ended (``end``); how many queries it took.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(
    ...     lambda words: [word.count("a") % 3 == 0 for word in words], "ab"
    ... )
    >>> learned = learn_dfa(box, method="tree")
    >>> learned.automaton
    DeterministicAutomaton(3 states, 2 symbols, outputs no, yes)
    >>> learned.automaton.decide(["aaa", "aab"])
    ['yes', 'no']
    """
    check_limits("learn_dfa", limits)
    chosen = _chosen(method, equivalence)
    decisions = decisions_of(box, threshold)
    alphabet = decisions.box.alphabet
    wa = None if hint is None else as_automaton(hint, "hint", purpose=Purpose.COPYING)
    if wa is not None and wa.alphabet != alphabet:
        raise ArgumentError(f"hint: expected an automaton over {alphabet}, got {wa.alphabet}")
    if wa is not None:
        decisions.check_hint(wa)
    with opened_session(decisions.box, **limits) as oracle:
        rows = DecisionRows(oracle, decisions)
        known = KnownRows(
            alphabet, rows, None, lambda: oracle.meter.left, max_length=oracle.max_length
        )
        search = DecisionSearch(
            known,
            alphabet.words(words),
            wa,
            decisions.by,
            whole_number("n_words", n_words, 1),
            allowed_length(oracle, limits.get("max_length"), MAX_RANDOM_LENGTH),
        )
        run = DecisionRun(oracle, decisions, search, random_generator(limits.get("seed", 0)))
        if chosen is LearningMethod.TREE:
            learner = TreeLearner(known, RowEquality(0.5), max_states_of(limits))
            learned = run.learned(lambda: run.grow(learner))
        else:
            aalpy = AalpyRun(known, decisions.names, run.find, max_states_of(limits), equivalence)
            learned = run.learned(lambda: run.follow(aalpy, ALGORITHMS[chosen]))
    rows.warn_if_alike()
    return learned


def has_aalpy() -> bool:
    """Return whether the learners of AALpy can be used."""
    try:
        load_aalpy("aalpy")
    except MissingExtraError:
        return False
    return True


def _chosen(method: str | None, equivalence: EquivalenceOracle | None) -> LearningMethod:
    """Return the learner, by default one that is installed; say so where that is the tree."""
    if method is None and equivalence is None and not has_aalpy():
        logger.warning(
            "the package aalpy is not installed: seqray's own learner is used (--method tree)"
        )
        return LearningMethod.TREE
    chosen = LearningMethod.KV if method is None else _named(method)
    if chosen in ALGORITHMS:
        load_aalpy("aalpy")  # before the first query
    return chosen


def _named(method: str) -> LearningMethod:
    try:
        return LearningMethod(method)
    except ValueError:
        known = ", ".join(LearningMethod)
        raise ArgumentError(f"method: expected one of {known}, got {method!r}") from None


class DecisionRows:
    """Queries decisions as rows, and remembers the range of the answers.

    Parameters
    ----------
    oracle
        Answers queries about the box.
    decisions
        What its answers mean.
    """

    def __init__(self, oracle: Oracle, decisions: Decisions) -> None:
        self.oracle, self.decisions = oracle, decisions
        self.lowest, self.highest = np.inf, -np.inf  # of weights
        self.numbers: set[int] = set()  # of decisions

    def __call__(self, words: Words) -> FloatArray:
        """Return a row for each word: 1 for what the box decides, 0 for the other decisions."""
        numbers = self._decided(words)
        self.numbers.update(numbers.tolist())
        return np.asarray(np.eye(len(self.decisions.names))[numbers])

    def _decided(self, words: Words) -> IntArray:
        if (classifier := self.oracle.classifier) is not None:
            return self.decisions.by(classifier, words)
        weights = self.oracle.weights(words)
        self.lowest = min(self.lowest, float(weights.min(initial=np.inf)))
        self.highest = max(self.highest, float(weights.max(initial=-np.inf)))
        return self.decisions.of_weights(weights)

    def warn_if_alike(self) -> None:
        """Warn if all answers so far mean the same decision."""
        if len(self.numbers) == 1:
            name, threshold = self.decisions.names[min(self.numbers)], self.decisions.threshold
            warn_of_one_decision(name, threshold, (self.lowest, self.highest))


class DecisionRun:
    """A running learner of decisions, and its last hypothesis.

    Parameters
    ----------
    oracle
        Answers queries about the box.
    decisions
        What its answers mean.
    search
        Where to search for counterexamples.
    rng
        Random generator.
    """

    def __init__(
        self,
        oracle: Oracle,
        decisions: Decisions,
        search: DecisionSearch,
        rng: np.random.Generator,
    ) -> None:
        self.oracle, self.decisions, self.search, self.rng = oracle, decisions, search, rng
        self.automaton: DeterministicAutomaton | None = None
        self.n_searches, self.has_warned = 0, False

    def find(
        self, automaton: DeterministicAutomaton, ignored: Collection[Codes] = ()
    ) -> Codes | None:
        """Return a word on which box and automaton decide otherwise; None: none was found."""
        self.automaton = automaton
        self.has_warned = self.has_warned or warn_of_size(automaton.n_states, self.n_searches)
        self.n_searches += 1
        with self.oracle.meter.validating():
            return self.search.counterexample(automaton, self.rng, ignored)

    def grow(self, learner: TreeLearner) -> LearningEnd:
        """Learn with seqray's own tree."""
        try:
            learner.close()
            learner.refine()
            while not learner.tree.is_capped:
                if self.find(self._hypothesis(learner), learner.unresolved) is None:
                    break
                learner.refine()
        finally:
            if learner.n_states:
                self.automaton = self._hypothesis(learner)
        if learner.tree.is_capped:
            return LearningEnd.MAX_STATES
        is_exact = learner.largest_distance() == 0
        return LearningEnd.COMPLETE if is_exact else LearningEnd.MAX_LENGTH

    def follow(self, aalpy: AalpyRun, algorithm: str) -> LearningEnd:
        """Learn with a learner of AALpy."""
        try:
            aalpy.learn(algorithm)
        finally:
            self.automaton = aalpy.hypothesis or self.automaton
        return aalpy.end

    def _hypothesis(self, learner: TreeLearner) -> DeterministicAutomaton:
        table, rows, _ = learner.hypothesis()
        names = self.decisions.names
        return DeterministicAutomaton(self.oracle.alphabet, table, rows.argmax(axis=1), names)

    def learned(self, learn: Callable[[], LearningEnd]) -> Learned[DeterministicAutomaton]:
        """Learn, to the end or to a limit, and return the automaton with what it cost."""
        known = self.search.known
        try:
            end = learn()
        except Stopped as stopped:
            if self.automaton is None and not len(known):  # nothing is known yet
                raise
            end = END_OF_STOP[stopped.reason]
        automaton = (self.automaton or self._first_guess()).minimised()
        words, rows = known.everything()
        own = automaton.outputs[automaton.states(words)]
        return Learned(
            automaton=automaton,
            end=end,
            n_queries=self.oracle.meter.n_queries,
            n_search_queries=self.oracle.meter.n_validation,
            n_searches=self.n_searches,
            access_words=words_of(automaton.alphabet, access_words(automaton)),
            largest_distance=float((rows.argmax(axis=1) != own).mean()),
        )

    def _first_guess(self) -> DeterministicAutomaton:
        """Return the automaton of one state that decides as the first words do."""
        known, alphabet = self.search.known, self.oracle.alphabet
        decision = int(known.query(known.words[:1] or [()])[0].argmax())
        table = np.zeros((1, len(alphabet)), np.int64)
        return DeterministicAutomaton(alphabet, table, [decision], self.decisions.names)
