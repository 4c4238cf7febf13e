"""The learners of the package AALpy, with a box as the system under learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from seqray.automata.deterministic import DECISIONS, DeterministicAutomaton
from seqray.formats.aalpy_models import load_aalpy, machine_of
from seqray.learning.known_rows import Codes, KnownRows
from seqray.learning.result import LearningEnd

EquivalenceOracle: TypeAlias = Callable[[list[int], Any], Any]
"""Makes an equivalence oracle of AALpy from the alphabet, as codes, and the system."""


class WordTooLong(Exception):  # noqa: N818 - no error: it ends a learner
    """A learner asks for a word that is longer than the box reads."""


class PrefixOutputs(Sequence[Any]):
    """The outputs after each symbol of a word; one is queried when it is read.

    Learners of DFA and Moore machines read the last one only.
    """

    def __init__(self, word: Codes, decide: Callable[[Codes], Any]) -> None:
        self._word, self._decide = word, decide

    def __len__(self) -> int:
        return max(1, len(self._word))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self[place] for place in places]
        return self._decide(self._word[: places + 1])


class AalpyRun:
    """One run of a learner of AALpy.

    Parameters
    ----------
    known
        What is known, and queries what is not; rows are 1 for the decision and 0 for others.
    names
        The names of the decisions.
    search
        Returns a word that box and automaton decide otherwise, or None.
    max_states
        Learning ends when there are so many states; of hypotheses with more the one before stays.
    equivalence
        Makes one more equivalence oracle, which is used when the search finds nothing.

    Attributes
    ----------
    hypothesis
        The last hypothesis; None before the first.
    end
        Why learning ended.
    """

    def __init__(
        self,
        known: KnownRows,
        names: tuple[str, ...],
        search: Callable[[DeterministicAutomaton], Codes | None],
        max_states: int,
        equivalence: EquivalenceOracle | None = None,
    ) -> None:
        self.known, self.names, self.search = known, names, search
        self.max_states, self.equivalence = max_states, equivalence
        self.hypothesis: DeterministicAutomaton | None = None
        self.end = LearningEnd.COMPLETE

    def learn(self, algorithm: str) -> None:
        """Run ``run_KV`` or ``run_Lstar``; `hypothesis` is what it learnt.

        Its learners need every answer: the first word that is longer than the box reads ends them.
        """
        learners = load_aalpy("aalpy.learning_algs")
        system = self._system()
        symbols = list(range(len(self.known.alphabet)))
        kind = "dfa" if self.names == DECISIONS else "moore"
        options = {"cache_and_non_det_check": False, "print_level": 0}
        run = getattr(learners, algorithm)
        try:
            run(symbols, system, self._oracle(symbols, system), automaton_type=kind, **options)
        except WordTooLong:
            self.end = LearningEnd.MAX_LENGTH

    def decide(self, word: Codes) -> Any:
        """Return the decision of the box about a word, as AALpy's automata have it."""
        if not self.known.may_query(len(word)):
            raise WordTooLong
        decision = int(self.known.query([word])[0].argmax())
        return bool(decision) if self.names == DECISIONS else decision

    def _system(self) -> Any:
        base: Any = load_aalpy("aalpy.base").SUL
        decide = self.decide

        class BoxSystem(base):  # type: ignore[misc]  # the package has no types
            """A box as the system under learning."""

            def query(self, word: Sequence[int]) -> Sequence[Any]:
                self.num_queries += 1
                return PrefixOutputs(tuple(word), decide)

            def pre(self) -> None:
                self.word: Codes = ()

            def post(self) -> None:
                pass

            def step(self, letter: int | None) -> Any:
                self.word = self.word if letter is None else (*self.word, letter)
                return decide(self.word)

        return BoxSystem()

    def _oracle(self, symbols: list[int], system: Any) -> Any:
        base: Any = load_aalpy("aalpy.base").Oracle
        other = None if self.equivalence is None else self.equivalence(symbols, system)
        counterexample = self._counterexample

        class SearchOracle(base):  # type: ignore[misc]
            """Searches as seqray does, then as another oracle of AALpy does."""

            def find_cex(self, hypothesis: Any) -> Sequence[int] | None:
                word = counterexample(hypothesis)
                if word is None and other is not None:
                    word = other.find_cex(hypothesis)
                return word

        return SearchOracle(symbols, system)

    def _counterexample(self, model: Any) -> Codes | None:
        latest = machine_of(model, self.known.alphabet, self.names)
        if self.hypothesis is None or latest.n_states <= self.max_states:
            self.hypothesis = latest
        if latest.n_states >= self.max_states:
            self.end = LearningEnd.MAX_STATES
            return None
        return self.search(latest)
