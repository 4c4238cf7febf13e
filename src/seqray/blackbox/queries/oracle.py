"""The oracle: the one object between a black box and whoever queries it.

`open_oracle` makes one of any box. What the box can do decides how it is queried (`QueryMode`):

- an *automaton* is computed with: nothing is counted or cached;
- a box with *states* is stepped anew, which is cheap: its steps are counted, and blocks of answers
  can be cached, see `BlockCache`;
- any other box is queried about *prefixes* or whole *words*, each once: every answer is cached.

A guided box is queried like the box in it, whose answers are cached as they are: the guide comes
after the cache. An automaton in it has states.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.guide import Guide
from seqray.automata.stepper import Stepper, predicts, read_each
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.guarded import guarded
from seqray.blackbox.guided import GuidedBox
from seqray.blackbox.parcel import BoxParcel, BoxWorkers
from seqray.blackbox.protocol import (
    BlackBox,
    Classifier,
    PredictingBox,
    checked_answers,
    in_batches,
    max_length_of,
    name_of,
    threshold_of,
)
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.answer_memory import (
    BlockCache,
    BoxAnswers,
    MemoryAnswers,
    StoredAnswers,
)
from seqray.blackbox.queries.cache_check import CacheCheck, check_cached
from seqray.blackbox.queries.cached_queries import CachedQueries, Queried, RepeatedQueries
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.steppers import CountedClassifier, QueriedPrefixes, counted
from seqray.blackbox.queries.worker_queries import as_queried, on_workers, whole_words
from seqray.blackbox.remote.waiting import WaitingBackend
from seqray.parallel.executor import Executor
from seqray.util.arrays import FloatArray, whole_number
from seqray.util.errors import ArgumentError


class QueryMode(enum.Enum):
    """How a box is queried: by the cheapest method that it allows."""

    AUTOMATON = "as an automaton"
    PREFIXES = "next symbols"
    STATES = "states"
    WORDS = "whole words"


def query_mode(box: object) -> QueryMode:
    """Return how a box is queried.

    Examples
    --------
    >>> import seqray
    >>> query_mode(seqray.black_box(lambda words: [0] * len(words), "ab"))
    <QueryMode.WORDS: 'whole words'>
    """
    if isinstance(box, WeightedAutomaton):
        return QueryMode.AUTOMATON
    if isinstance(box, GuidedBox):
        mode = query_mode(box.box)
        return QueryMode.STATES if mode is QueryMode.AUTOMATON else mode
    if isinstance(box, QueriedModel):
        return QueryMode.PREFIXES
    return QueryMode.STATES if isinstance(box, Stepper) else QueryMode.WORDS


def fingerprint_of(box: object) -> str:
    """Return what the answers of a box are cached under, or say how to give it a name."""
    fingerprint: str | None = getattr(getattr(box, "backend", box), "fingerprint", None)
    if fingerprint is None:
        call = "black_box(function, alphabet"
        if isinstance(box, Classifier):
            call = "classifier(function, alphabet, classes"
        raise ArgumentError(
            "store: the answers of this box have no name to be cached under: give it one, as in "
            f"seqray.{call}, name='my model 1')"
        )
    return fingerprint


class Oracle:
    """Answers queries about one box, within limits; made by `open_oracle` or `direct_oracle`.

    Parameters
    ----------
    box
        The box, as it is queried.
    meter
        Counts the queries: distinct words or prefixes, or steps of a box with states.
    store
        The file of answers that later runs read; None: there is none.
    queries
        Queries a box without states; None where nothing is cached.
    workers
        Who steps a box with states, piece by piece of a walk; None: this process.

    Attributes
    ----------
    mode
        How the box is queried.
    stepper
        What reads words symbol by symbol; None where the box is queried about whole words.
    """

    def __init__(
        self,
        box: BlackBox,
        meter: Meter,
        store: AnswerStore | None = None,
        queries: CachedQueries | None = None,
        workers: BoxWorkers | None = None,
    ) -> None:
        self.box, self.meter, self.store, self.queries = box, meter, store, queries
        self.mode = query_mode(box)
        self.workers = workers if self.mode is QueryMode.STATES else None
        self.stepper = self._stepper()

    def _stepper(self) -> Stepper | None:
        box = self.unguided
        if self.mode is QueryMode.STATES:
            assert isinstance(box, Stepper)
            stepper: Stepper = self._within_guide(counted(box, self.meter))
            return stepper
        if self.mode is QueryMode.PREFIXES and self.queries is not None:
            stepper = self._within_guide(self._prefixes(self.queries))
            return stepper
        return self.box if isinstance(self.box, Stepper) else None

    def _prefixes(self, query: Callable[[Words], FloatArray]) -> QueriedPrefixes:
        return QueriedPrefixes(self.who, self.alphabet, self.max_length, query)

    def _within_guide(self, stepper: Any) -> Any:
        return self.box.around(stepper) if isinstance(self.box, GuidedBox) else stepper

    @property
    def guide(self) -> Guide | None:
        """What the box may say; None: there is no guide."""
        return self.box.guide if isinstance(self.box, GuidedBox) else None

    @property
    def unguided(self) -> BlackBox:
        """The box without its guide."""
        return self.box.box if isinstance(self.box, GuidedBox) else self.box

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.box.alphabet

    @property
    def who(self) -> str:
        """Who answers, for messages."""
        return name_of(self.box)

    @property
    def fingerprint(self) -> str:
        """What the answers are cached under."""
        return fingerprint_of(self.box)

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read; None: it can read any word."""
        return max_length_of(self.box)

    @property
    def predicts(self) -> bool:
        """Whether the box says what comes next."""
        return predicts(self.stepper)

    @property
    def is_free(self) -> bool:
        """Whether queries cost nothing: the box is an automaton."""
        return self.mode is QueryMode.AUTOMATON

    @property
    def automaton(self) -> WeightedAutomaton | None:
        """The box where it is an automaton, to compute with."""
        return self.box if isinstance(self.box, WeightedAutomaton) else None

    @property
    def caches(self) -> bool:
        """Whether a query is never paid for twice."""
        return self.queries is not None

    @property
    def is_deterministic(self) -> bool:
        """Whether the box is known to give the same answer always."""
        backend = getattr(self.unguided, "backend", None)
        is_automaton = isinstance(self.unguided, WeightedAutomaton)
        return is_automaton or bool(getattr(backend, "deterministic", False))

    @property
    def reader(self) -> BlackBox:
        """What to hand to functions that read any black box: the stepper where there is one.

        The answers of a classifier are read from the cache, too.
        """
        if not self.is_free and (classifier := self.classifier) is not None:
            return classifier
        return self.stepper if isinstance(self.stepper, BlackBox) else self

    @cached_property
    def classifier(self) -> CountedClassifier | None:
        """The box where it is a classifier: its queries are counted and cached; None: it is not."""
        if not isinstance(self.box, Classifier):
            return None
        classes, limit = tuple(self.box.classes), threshold_of(self.box)
        return CountedClassifier(self, classes, limit, self.box.scores)

    @property
    def predictor(self) -> PredictingBox:
        """The stepper of a box that predicts."""
        if not isinstance(self.stepper, PredictingBox):
            raise ArgumentError(f"{self.who} does not predict next symbols: use another method")
        return self.stepper

    def next_symbol(self, words: Words) -> FloatArray:
        """Return what follows each word as a prefix, the end last.

        Where the box is queried about prefixes, nothing but these words is queried.
        """
        if isinstance(self.stepper, QueriedPrefixes | GuidedBox):
            return self.stepper.next_symbol(words)
        return read_each(self.predictor, words, self.predictor.state_next_symbol)

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the weight of each word, float64, shape ``(n_words,)``; all are finite."""
        words = self.alphabet.words(words)
        return np.concatenate([np.empty(0), *map(self._weights, in_batches(words))])

    def _weights(self, words: Words) -> FloatArray:
        if self.mode is QueryMode.WORDS and self.queries is not None:
            answers = self.queries(words)
            return answers if answers.ndim == 1 else answers[:, -1]  # of the last class
        if self.mode is QueryMode.STATES:
            assert self.stepper is not None
            weights = read_each(self.stepper, words, self.stepper.state_weights)
        elif isinstance(self.stepper, BlackBox):
            weights = self.stepper.weights(words)
        else:
            weights = self.box.weights(words)
        return checked_answers(weights, words, (len(words),), self.who)

    def uncached_weights(self, words: Words) -> FloatArray:
        """Query words anew, whatever is cached, and without repetition; what is sent is counted."""
        if self.queries is None:
            return self.weights(words)
        sender = self.queries.queries

        def send(some: Words) -> FloatArray:
            return sender.gather(sender.once(some), len(some))

        if self.mode is QueryMode.WORDS:
            answers = send(words)
            return answers if answers.ndim == 1 else answers[:, -1]
        weights: FloatArray = self._within_guide(self._prefixes(send)).weights(words)
        return weights

    def cost_of(self, words: Words) -> int:
        """Return how many queries it takes to read words: words, or else all their prefixes."""
        return len(words) if self.mode is QueryMode.WORDS else len(PrefixTree.of(words))

    def counted(self) -> Oracle:
        """Return an oracle that counts the steps of an automaton, without a budget.

        Every other oracle counts already, and is returned as it is.
        """
        if self.automaton is None:
            return self
        limits = replace(self.meter.limits, budget=None)
        meter = replace(self.meter, limits=limits)
        oracle = Oracle(self.automaton, meter)
        oracle.stepper = counted(self.automaton, meter)
        return oracle

    @cached_property
    def blocks(self) -> BlockCache | None:
        """Where blocks of answers of a box with states are cached; None: nowhere."""
        if self.store is None or self.mode is not QueryMode.STATES:
            return None
        return BlockCache(self.store, self.store.box(self.fingerprint, "blocks", self.alphabet))

    @cached_property
    def facts(self) -> BlockCache | None:
        """Where what is known of a box without states, such as its noise, is cached.

        Of a guided box, that is what is known of the box without its guide.
        """
        answers = None if self.queries is None else self.queries.answers
        if not isinstance(answers, StoredAnswers):
            return None
        return BlockCache(answers.store, answers.number)

    @property
    def is_noisy(self) -> bool:
        """Whether checks of cached answers have shown that answers differ each time."""
        check = None if self.queries is None else self.queries.check
        return check is not None and check.is_noisy

    def check_block(self, words: Words, cached: FloatArray) -> None:
        """Query a sample of a cached block again; raise `BlackBoxError` if the box has changed."""
        assert self.store is not None
        prune = self.store.prune_command(self.fingerprint)
        check_cached(self.who, prune, words, cached, self.weights)


def direct_oracle(box: BlackBox | Oracle) -> Oracle:
    """Return an oracle that counts nothing against limits and caches nothing; or the one given."""
    return box if isinstance(box, Oracle) else Oracle(box, Meter())


def open_oracle(
    box: BlackBox,
    meter: Meter | None = None,
    *,
    cache: AnswerStore | None = None,
    repeat: int = 1,
    by_words: bool = False,
    executor: Executor | None = None,
) -> Oracle:
    """Return an oracle that counts, caches and averages the answers of a box.

    Parameters
    ----------
    box
        Any black box.
    meter
        Counts the queries. None: there are no limits.
    cache
        The file of answers that later runs read. None: answers are cached in memory, as long as the
        oracle is.
    repeat
        How often to send the same query, to answer with the mean.
    by_words
        Query any box about words, or prefixes if it predicts: each is one query, also where the
        box has states or is an automaton. For those who query words that share few prefixes.
    executor
        Where the box is queried; None: in this process. An automaton is computed with here.

    Examples
    --------
    >>> import seqray
    >>> oracle = open_oracle(seqray.black_box(lambda words: [len(word) for word in words], "ab"))
    >>> oracle.weights(["a", "ab", "a"]), oracle.meter.n_queries
    (array([1., 2., 1.]), 2)
    """
    meter = meter or Meter(Limits())
    if isinstance(box, GuidedBox):
        inner = open_oracle(
            *(box.box, meter), cache=cache, repeat=repeat, by_words=by_words, executor=executor
        )
        workers = None if executor is None else BoxWorkers(executor, BoxParcel.of(box))
        return Oracle(box.around(inner.box), meter, inner.store, inner.queries, workers)
    meter.repeat = repeat = whole_number("repeat", repeat, 1)
    if isinstance(box, WeightedAutomaton):
        meter.repeat = 1
        return _cached_oracle(whole_words(box), meter, None) if by_words else Oracle(box, meter)
    if cache is not None:
        fingerprint_of(box)  # before anything is sent
    workers = None if executor is None else BoxWorkers(executor, BoxParcel.of(box))
    has_states = isinstance(box, Stepper) and not isinstance(box, Queried | Classifier)
    if by_words or repeat > 1 or not has_states:
        queried = _stoppable(as_queried(box), meter)
        return _cached_oracle(on_workers(queried, workers, meter.check), meter, cache)
    assert isinstance(box, Stepper)
    stepper = guarded(box)
    assert isinstance(stepper, BlackBox)
    return Oracle(stepper, meter, cache, workers=workers)


def _cached_oracle(box: Queried, meter: Meter, store: AnswerStore | None) -> Oracle:
    queries, backend = RepeatedQueries(box, meter, meter.repeat), box.backend
    if store is None:
        answers: BoxAnswers = MemoryAnswers()
        return Oracle(box, meter, None, CachedQueries(queries, answers, None))
    kind = "value" if isinstance(box, QueriedBox) else "next"
    if isinstance(box, QueriedClassifier):
        kind = f"classes {', '.join(box.classes)}"
    if meter.repeat > 1:
        kind += f", mean of {meter.repeat}"
    stored = StoredAnswers(store, store.box(fingerprint_of(box), kind, box.alphabet))
    prune = store.prune_command(fingerprint_of(box))
    is_proven = bool(getattr(backend, "proven", False))

    def query(some: Words) -> FloatArray:
        return queries.gather(queries.means(some), len(some))

    check = CacheCheck(queries.who, prune, query, meter, is_proven=is_proven)
    if getattr(backend, "hides_secrets", False) or not is_proven:
        with meter.validating():
            check.begin(lambda n_words: store.some(stored.number, n_words, box.alphabet))
    return Oracle(box, meter, store, CachedQueries(queries, stored, check))


def _stoppable(box: Queried, meter: Meter) -> Queried:
    """Return a box that is not waited for when time is over, or somebody said stop.

    A server that wants to be left alone for minutes and a program that hangs are given up then.
    Boxes that are computed here are never waited for.
    """
    if isinstance(box.backend, WaitingBackend):
        return replace(box, backend=box.backend.with_check(meter.check))
    return box
