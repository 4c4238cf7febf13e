"""Queries about words or prefixes: none is sent twice, all stay within limits.

Answers are checked once, where the box gives them, and are cached as they come: a process that is
killed loses nothing that it has written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.protocol import check_lengths, name_of
from seqray.blackbox.queried import QueriedBox, QueriedModel, gathered
from seqray.blackbox.queries.answer_cache import word_keys
from seqray.blackbox.queries.answer_memory import BoxAnswers, CountedWords
from seqray.blackbox.queries.cache_check import CacheCheck
from seqray.blackbox.queries.limits import Meter
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.errors import BlackBoxError

Queried: TypeAlias = QueriedBox | QueriedModel | QueriedClassifier
"""A box without states."""

Pieces = Iterator[tuple[IntArray, FloatArray]]
"""Which words are answered, and their answers, as they come."""

DEFAULT_BATCH_SIZE = 1024
"""Words in one query where the box does not say how many it takes."""


class RepeatedQueries:
    """Sends queries to a box, and takes the mean of several answers.

    Parameters
    ----------
    box
        A box without states.
    meter
        Counts what is sent.
    repeat
        How often to send the same.
    """

    def __init__(self, box: Queried, meter: Meter, repeat: int) -> None:
        self.box, self.meter, self.repeat = box, meter, repeat
        self.who = name_of(box)
        self.row_shape = box.row_shape

    def once(self, words: Words) -> Pieces:
        """Yield single answers: here queries leave the library."""
        for which, answers in self.box.answers(words):
            self.meter.n_sent += len(which)
            yield which, answers

    def means(self, words: Words) -> Pieces:
        """Yield means, in batches that are about as long as one query to the box."""
        if self.repeat == 1:
            yield from self.once(words)
            return
        batch_size = int(getattr(self.box.backend, "batch_size", DEFAULT_BATCH_SIZE))
        size = max(1, batch_size // self.repeat)
        for begin in range(0, len(words), size):
            some = words[begin : begin + size]
            total = np.zeros((len(some), *self.row_shape))
            for _ in range(self.repeat):
                total += self.gather(self.once(some), len(some))
            yield np.arange(begin, begin + len(some)), total / self.repeat

    def gather(self, pieces: Pieces, n_words: int) -> FloatArray:
        """Return the answers to all words, in the order of the words."""
        return gathered(pieces, np.empty((n_words, *self.row_shape)), self.who)


class CachedQueries:
    """Queries a box only about what is not cached, and caches what it answers at once.

    Parameters
    ----------
    queries
        Sends what is not cached.
    answers
        The cache.
    check
        Whether cached answers are still those of the box; None where no earlier run left any.
    """

    def __init__(
        self, queries: RepeatedQueries, answers: BoxAnswers, check: CacheCheck | None
    ) -> None:
        self.queries, self.answers, self.check = queries, answers, check
        self.meter = queries.meter
        self.counted = CountedWords()

    def __call__(self, words: Words) -> FloatArray:
        """Return the answer to every word."""
        answers = self.queries.gather(self._pieces(words), len(words))
        self.meter.end_batch()
        return answers

    def _pieces(self, words: Words) -> Pieces:
        """Yield what is cached, then what the box answers."""
        check_lengths(words, self.queries.box.max_length, self.queries.who)
        if not len(words):
            return
        self.meter.check()
        unique, place = words.unique()
        keys = word_keys(unique)
        is_new = self.counted.are_new(keys)
        n_left = int(min(self.meter.left, len(keys)))
        allowed = np.union1d(np.flatnonzero(~is_new), np.flatnonzero(is_new)[:n_left])
        for which, answers in self._answers(unique[allowed], is_new[allowed]):
            here = allowed[which]
            self.meter.allow(int(is_new[here].sum()))
            self.counted.add([keys[i] for i in here.tolist()])
            self.meter.report(len(here))
            row = np.full(len(unique), -1)
            row[here] = np.arange(len(here))
            at = np.flatnonzero(row[place] >= 0)
            yield at, answers[row[place[at]]]
        if len(allowed) < len(unique):
            self.meter.refuse()

    def _answers(self, words: Words, is_new: BoolArray) -> Pieces:
        """Yield the answers to distinct words."""
        known, answers = self.answers.find(words)
        if known.any():
            cached = np.flatnonzero(known)
            if self.check is not None:
                self.check.use(words[cached], answers, is_new[cached])
            yield cached, answers
        missing = np.flatnonzero(~known)
        for which, new in self._sent(words[missing]):
            here = missing[which]
            self.answers.add(words[here], new)
            yield here, new
            if len(here) < len(missing):  # what is complete is handed over before the end
                self.meter.check()

    def _sent(self, words: Words) -> Pieces:
        """Query the box; where that fails, say that nothing is lost."""
        if not len(words):
            return
        try:
            yield from self.queries.means(words)
        except BlackBoxError as error:
            if self.answers.path is None:
                raise
            raise BlackBoxError(
                f"{error}; the answers until then are cached in {self.answers.path}: run the same "
                "again, and only what is missing is queried"
            ) from error
