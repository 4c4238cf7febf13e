"""Queries about words, or prefixes, that workers send to a box without states.

The caller counts and caches: answers are handed over as they come. A worker that is lost costs what
it was doing, and another one does that again. How queries are cut does not depend on the number of
workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.stepper import predicts
from seqray.automata.words import Words
from seqray.blackbox.call_size import CallSize
from seqray.blackbox.classifier_box import queried_classifier
from seqray.blackbox.parcel import BoxParcel, BoxWorkers
from seqray.blackbox.protocol import Backend, BlackBox, Classifier
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.queries.cached_queries import Queried
from seqray.blackbox.queries.steppers import WholeWords
from seqray.blackbox.remote.waiting import FINISHING_SECONDS
from seqray.parallel.executor import Check, Task
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError, SeqrayError, Stopped

MAX_WORDS_PER_JOB = 1024
"""The most words that a worker gets at once."""

DEFAULT_WORDS_PER_JOB = 32
"""How many it gets where the box does not say how many it takes."""


def as_queried(box: BlackBox) -> Queried:
    """Return a box as it is queried where it is not stepped."""
    if isinstance(box, Classifier):
        box = queried_classifier(box)
    return box if isinstance(box, Queried) else whole_words(box)


def whole_words(box: BlackBox) -> QueriedBox | QueriedModel:
    """Return a box that is queried about words, or prefixes, though it may have states."""
    if predicts(box):
        return QueriedModel(WholeWords(box), box.alphabet, leaks=True)
    return QueriedBox(WholeWords(box), box.alphabet)


class WordAnswers(NamedTuple):
    """A worker's answers to words, and what ended them early; empty where nothing did."""

    pieces: list[tuple[IntArray, FloatArray]]
    error: str
    seconds: float


@dataclass(frozen=True, eq=False)
class WordQueries:
    """Queries a box on a worker about words."""

    parcel: BoxParcel

    @cached_property
    def _box(self) -> Queried:
        return as_queried(self.parcel.opened())

    def __call__(self, words: Words) -> WordAnswers:
        """Return all answers there are, even if the box fails on a word."""
        box = self._box
        if (pace := getattr(box.backend, "pace", None)) is not None:
            pace.n_words = max(pace.n_words, len(words))  # the caller knows from other workers
        begin = time.monotonic()
        pieces: list[tuple[IntArray, FloatArray]] = []
        error = ""
        try:
            pieces.extend(box.answers(words))
        except SeqrayError as failure:
            error = str(failure)
        return WordAnswers(pieces, error, time.monotonic() - begin)


@dataclass(frozen=True, eq=False)
class WorkerBackend:
    """A backend whose queries workers send; all its other attributes are those of ``backend``.

    Parameters
    ----------
    backend
        The one of the box in this process.
    workers
        Who queries.
    check
        Called while workers are waited for.
    """

    backend: Backend
    workers: BoxWorkers
    check: Check
    pace: CallSize = field(default_factory=CallSize, repr=False)
    """How many words the next job gets, where the box chooses that by its speed."""

    def __getattr__(self, name: str) -> Any:
        if name == "backend":  # not there yet, while a copy is made
            raise AttributeError(name)
        return getattr(self.backend, name)

    @property
    def who(self) -> str:
        """Who answers."""
        return self.backend.who

    @property
    def fingerprint(self) -> str | None:
        """What the answers are cached under."""
        return self.backend.fingerprint

    @cached_property
    def _task(self) -> Task[Words, WordAnswers]:
        return Task(WordQueries(self.workers.parcel))

    def _n_words(self, n_all: int) -> int:
        """Return how many of all words the next job gets; no worker of a function is idle."""
        size = getattr(self.backend, "batch_size", DEFAULT_WORDS_PER_JOB)
        size = min(size, MAX_WORDS_PER_JOB)
        if not hasattr(self.backend, "pace"):
            return size
        share = -(-n_all // max(1, self.workers.executor.n_workers))
        return min(size, self.pace.n_words, share)

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield which words are answered, and their answers, as they come."""
        sent: dict[int, IntArray] = {}
        errors: list[str] = []
        late: list[tuple[IntArray, FloatArray]] = []
        ending = _Ending(self.check)
        timeout = getattr(self.backend, "timeout", None)

        def jobs() -> Iterator[tuple[int, Words]]:
            begin = 0
            while begin < len(words) and not errors and ending.stopped is None:
                which = np.arange(begin, min(begin + self._n_words(len(words)), len(words)))
                sent[begin] = which
                yield begin, words[which]
                begin += len(which)

        with suppress(Stopped):  # it is raised below, after what came meanwhile
            for outcome in self.workers.executor.run(self._task, jobs(), check=ending):
                which = sent.pop(outcome.job)
                if outcome.result is None:
                    errors.append(f"{self.who} failed on a worker: {outcome.error}")
                    continue
                pieces = [(which[some], answers) for some, answers in outcome.result.pieces]
                if outcome.result.error:
                    errors.append(outcome.result.error)
                self.pace.adapt(len(which), outcome.result.seconds, timeout)
                if ending.is_near():
                    late += pieces
                else:
                    yield from pieces
        if late:  # as one piece: nobody waits for more after the first
            yield np.concatenate([at for at, _ in late]), np.concatenate([row for _, row in late])
        if ending.stopped is not None:
            raise ending.stopped
        if errors:
            raise BlackBoxError(errors[0])


class _Ending:
    """A check that lets what is under way come to its end, for `FINISHING_SECONDS`."""

    def __init__(self, check: Check) -> None:
        self.check, self.deadline = check, 0.0
        self.stopped: Stopped | None = None

    def __call__(self) -> None:
        if self.is_near() and time.monotonic() > self.deadline:
            assert self.stopped is not None
            raise self.stopped

    def is_near(self) -> bool:
        """Whether no more may be sent."""
        if self.stopped is None:
            try:
                self.check()
            except Stopped as stopped:
                self.stopped, self.deadline = stopped, time.monotonic() + FINISHING_SECONDS
        return self.stopped is not None


def on_workers(box: Queried, workers: BoxWorkers | None, check: Check) -> Queried:
    """Return a box whose queries workers send; the box itself where there are none."""
    if workers is None:
        return box
    return replace(box, backend=WorkerBackend(box.backend, workers, check))
