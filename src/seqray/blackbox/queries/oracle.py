"""Asking politely: within limits, never twice, and again where a box is not sure of itself.

`attended` puts these between a black box and whoever asks it, and returns a black box of the same
abilities. What a box can do decides how:

- a box that is *asked* (whole words, or what follows a prefix): every answer goes through a store;
- a box with *states* is stepped anew, which is cheap: only its steps are counted, and blocks of
  answers can be kept, see `KeptBlocks`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import Stepper, predicts, read_each
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.guarded import guarded
from seqray.blackbox.protocol import BlackBox, max_length_of, name_of
from seqray.blackbox.queried import QueriedBox, QueriedModel, gathered, halving
from seqray.blackbox.queries.answer_cache import AnswerStore, word_keys
from seqray.blackbox.queries.cache_check import CHECKED_EVERY, N_CHECKED, check_cached
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.remote.waiting import WaitingBackend
from seqray.util.arrays import BoolArray, FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError

NOISE = b"noise, by other batches"
"""The block in which the store keeps how noisy a box is."""

CHECK_SHARE = 16
"""A check of cached answers takes one in so many of a budget, at most."""


def attended(
    box: BlackBox, meter: Meter, *, store: AnswerStore | None = None, repeat: int = 1
) -> BlackBox:
    """Return a box that answers the same, but counts, keeps and averages.

    Parameters
    ----------
    box
        Any black box.
    meter
        Counts the questions: distinct words or prefixes, or steps of a box with states.
    store
        Where answers are kept. None: in memory, as long as the box is.
    repeat
        How often to ask the same, to answer with the mean.
    """
    meter.repeat = repeat = whole_number("repeat", repeat, 1)
    if isinstance(box, WeightedAutomaton):
        meter.repeat = 1
        return box
    if store is not None:
        fingerprint_of(box)  # before anything is asked
    if not isinstance(box, QueriedBox | QueriedModel) and (
        repeat > 1 or not isinstance(box, Stepper)
    ):
        box = _asked_whole(box)
    if isinstance(box, QueriedBox | QueriedModel):
        return _remembering(box, meter, store, repeat)
    return metered(guarded(box), meter)


def metered(box: Stepper, meter: Meter) -> MeteredBox:
    """Return a box with states that answers the same, and whose steps are counted."""
    return (MeteredModel if predicts(box) else MeteredBox)(box, meter)


def heeding(box: BlackBox, meter: Meter) -> BlackBox:
    """Return a box that is not waited for when time is over, or somebody said stop.

    A server that asks to be left alone for minutes and a program that hangs are given up then.
    Boxes that are computed here are never waited for.
    """
    if isinstance(box, QueriedBox | QueriedModel) and isinstance(box.backend, WaitingBackend):
        return dataclasses.replace(box, backend=box.backend.with_check(meter.check))
    return box


def uncached(box: BlackBox) -> BlackBox:
    """Return an attended box that queries anew what is known; what is sent is still counted."""
    backend = getattr(box, "backend", None)
    return backend.once if isinstance(backend, CachingBackend) else box


def way_of(box: BlackBox) -> str:
    """Say how a box is asked: the cheapest way that it allows.

    Examples
    --------
    >>> import seqray
    >>> way_of(seqray.black_box(lambda words: [0] * len(words), "ab"))
    'whole words'
    """
    if isinstance(box, WeightedAutomaton):
        return "as an automaton"
    if isinstance(box, QueriedModel):
        return "next symbols"
    return "states" if isinstance(box, Stepper) else "whole words"


def fingerprint_of(box: object) -> str:
    """Return what the answers of a box are kept under, or say how to give it a name."""
    found = _fingerprint(box)
    if found is None:
        raise ArgumentError(
            "store: the answers of this box have no name to be kept under: give it one, as in "
            "black_box(function, alphabet, name='my model 1')"
        )
    return found


def _fingerprint(box: object) -> str | None:
    found: str | None = getattr(getattr(box, "backend", box), "fingerprint", None)
    return found


@dataclass(frozen=True, eq=False)
class _Wrapper:
    """Stands between a box and whoever asks it, and goes by the name of the box."""

    box: Any

    @property
    def who(self) -> str:
        """Who answers."""
        return name_of(self.box)

    @property
    def fingerprint(self) -> str | None:
        """What the answers are kept under."""
        return _fingerprint(self.box)

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read."""
        return max_length_of(self.box)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "box":  # while it is made or copied
            raise AttributeError(name)
        return getattr(getattr(self.box, "backend", self.box), name)


# Boxes that are asked -----------------------------------------------------------------------------


def _remembering(
    box: QueriedBox | QueriedModel, meter: Meter, store: AnswerStore | None, repeat: int
) -> QueriedBox | QueriedModel:
    once: QueriedBox | QueriedModel = dataclasses.replace(box, backend=SendingBackend(box, meter))
    means, kind = once, "value" if isinstance(box, QueriedBox) else "next"
    if repeat > 1:
        means = dataclasses.replace(box, backend=AveragingBackend(once, repeat))
        kind += f", mean of {repeat}"
    if store is None:
        kept, codes = AnswerStore(), Alphabet(range(len(box.alphabet)))
        number = kept.box("this run", kind, codes)  # of symbols that need not fit into a file
    else:
        kept, number = store, store.box(fingerprint_of(box), kind, box.alphabet)
    backend = CachingBackend(means, kept, number, meter, once)
    hides = getattr(box.backend, "hides_secrets", False)
    if store is not None and (hides or not getattr(box.backend, "proven", False)):
        with meter.validating():
            backend.check_sample()
    return dataclasses.replace(box, backend=backend)


@dataclass(frozen=True, eq=False)
class SendingBackend(_Wrapper):
    """Counts what is sent to a box: here is where queries leave the library."""

    box: QueriedBox | QueriedModel
    meter: Meter

    @property
    def deterministic(self) -> bool:
        """Whether the box is known to give the same answer always."""
        return self.box.backend.deterministic

    def query(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield what the box answers."""
        for which, answers in self.box.answers(words):
            self.meter.n_sent += len(which)
            yield which, answers


class _Seen:
    """The words that were counted, by a hash of each: millions of them fit into memory."""

    def __init__(self) -> None:
        self.old: IntArray = np.empty(0, np.int64)
        self.recent: set[int] = set()

    def new(self, keys: list[bytes]) -> BoolArray:
        """Return which of some words were not counted yet."""
        hashes = np.fromiter(map(hash, keys), np.int64, len(keys))
        is_new = np.fromiter((each not in self.recent for each in hashes.tolist()), bool, len(keys))
        if len(self.old):
            at = np.minimum(np.searchsorted(self.old, hashes), len(self.old) - 1)
            is_new &= self.old[at] != hashes
        return is_new

    def add(self, keys: Iterable[bytes]) -> None:
        """Count words."""
        self.recent.update(map(hash, keys))
        if len(self.recent) > max(10_000, len(self.old) // 4):
            self.old = np.union1d(self.old, np.fromiter(self.recent, np.int64, len(self.recent)))
            self.recent.clear()


@dataclass
class _Trust:
    """What checks of cached answers have shown: how many were used, and whether they can differ."""

    n_used: int = 0
    noisy: bool = False


@dataclass(frozen=True, eq=False)
class CachingBackend(_Wrapper):
    """Asks a box only what the store does not know, and keeps what it answers at once.

    ``once`` asks without the store, and without repetition.
    """

    box: QueriedBox | QueriedModel
    store: AnswerStore
    number: int
    meter: Meter
    once: QueriedBox | QueriedModel
    seen: _Seen = field(default_factory=_Seen)
    trust: _Trust = field(default_factory=_Trust)

    @property
    def deterministic(self) -> bool:
        """Always: what was answered once stays."""
        return True

    def query(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield what is known, then what the box answers."""
        self.meter.check()
        unique, place = words.unique()
        keys = word_keys(unique)
        is_new = self.seen.new(keys)
        n_left = int(min(self.meter.left, len(keys)))
        allowed = np.union1d(np.flatnonzero(~is_new), np.flatnonzero(is_new)[:n_left])
        wanted = unique[allowed]
        known, answers = self.store.find(self.number, wanted)

        def handed_over(which: IntArray, answers: FloatArray) -> tuple[IntArray, FloatArray]:
            self.meter.allow(int(is_new[which].sum()))
            self.seen.add(keys[i] for i in which.tolist())
            self.meter.answered(len(which))
            row = np.full(len(unique), -1)
            row[which] = np.arange(len(which))
            at = np.flatnonzero(row[place] >= 0)
            return at, answers[row[place[at]]]

        if known.any():
            old = np.flatnonzero(known)
            self._check_used(wanted[old], answers, is_new[allowed[old]])
            yield handed_over(allowed[known], answers)
        missing = np.flatnonzero(~known)
        for which, answers in self._answers(wanted[missing]):
            here = missing[which]
            self.store.add(self.number, wanted[here], answers)
            yield handed_over(allowed[here], answers)
            if len(here) < len(missing):  # what is complete is handed over before the end
                self.meter.check()
        if len(allowed) < len(unique):
            self.meter.refuse()

    def _answers(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Query the box; where that fails, say that nothing is lost."""
        try:
            yield from self.box.answers(words)
        except BlackBoxError as error:
            if self.store.path is None:
                raise
            raise BlackBoxError(
                f"{error}; the answers until then are cached in {self.store.path}: run the same "
                "again, and only what is missing is queried"
            ) from error

    def check_sample(self) -> None:
        """Query some cached answers again, before any is used or added.

        They are counted even where nothing is cached yet, so that a budget means the same later.
        """
        n_words, allowance = N_CHECKED, self.meter.allowance
        if allowance is not None:
            n_words = min(n_words, max(1, allowance // CHECK_SHARE))
        self.meter.spend(n_words * self.meter.repeat)
        words, cached = self.store.some(self.number, n_words, self.box.alphabet)
        self._check(words, cached)

    def _check_used(self, words: Words, cached: FloatArray, is_new: BoolArray) -> None:
        """Query some of many cached answers again, which an earlier run has left."""
        left = np.flatnonzero(is_new)
        before, self.trust.n_used = self.trust.n_used, self.trust.n_used + len(left)
        n = N_CHECKED * (self.trust.n_used // CHECKED_EVERY - before // CHECKED_EVERY)
        if n and not getattr(self.box.backend, "proven", False):
            some = left[np.unique(np.linspace(0, len(left) - 1, n).round().astype(np.int64))]
            self._check(words[some], cached[some])

    def _check(self, words: Words, cached: FloatArray) -> None:
        n_asked = 0

        def ask(some: Words) -> FloatArray:
            nonlocal n_asked
            if (n_asked := n_asked + len(some)) > len(words):  # the first time counts already
                self.meter.spend(len(some) * self.meter.repeat)
            shape = (len(some), *cached.shape[1:])
            return gathered(self.box.answers(some), np.empty(shape), self.who)

        self.trust.noisy |= check_cached(
            self.who, self.store.prune_command(str(self.fingerprint)), words, cached, ask
        )


def _asked_whole(box: BlackBox) -> QueriedBox | QueriedModel:
    """Return a box that is asked about words, or prefixes, though it may have states."""
    if predicts(box):
        return QueriedModel(_Whole(box), box.alphabet, leaks=True)
    return QueriedBox(_Whole(box), box.alphabet)


@dataclass(frozen=True, eq=False)
class AveragingBackend(_Wrapper):
    """Asks a box several times and answers with the mean."""

    box: QueriedBox | QueriedModel
    repeat: int
    deterministic: bool = False

    def query(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield means, in batches that are about as long as one question to the box."""
        shape = () if isinstance(self.box, QueriedBox) else (len(words.alphabet) + 1,)
        size = max(1, int(getattr(self.box.backend, "batch_size", 1024)) // self.repeat)
        for begin in range(0, len(words), size):
            some = words[begin : begin + size]
            total = np.zeros((len(some), *shape))
            for _ in range(self.repeat):
                total += gathered(self.box.answers(some), np.empty_like(total), self.who)
            yield np.arange(begin, begin + len(some)), total / self.repeat


@dataclass(frozen=True, eq=False)
class _Whole(_Wrapper):
    """Asks a box about whole words, or about what follows them if it predicts."""

    deterministic: bool = False

    def query(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        for begin in range(0, len(words), 1024):
            which = np.arange(begin, min(begin + 1024, len(words)))
            yield from halving(lambda some: self._answers(words[some]), words, which, self.who)

    def _answers(self, words: Words) -> Any:
        if not isinstance(self.box, Stepper):
            return self.box.weights(words)
        read = self.box.state_next_symbol if predicts(self.box) else self.box.state_weights
        return read_each(self.box, words, read)


# Boxes with states --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeteredBox(_Wrapper):
    """A box with states whose steps are counted."""

    meter: Meter

    @property
    def max_states(self) -> int | None:
        """How many states may be stepped at once."""
        found: int | None = getattr(self.box, "max_states", None)
        return found

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        alphabet: Alphabet = self.box.alphabet
        return alphabet

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return one real number a word; what words share is stepped, and counted, once."""
        return read_each(self, self.alphabet.words(words), self.state_weights)

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        return self.box.start()

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after a symbol, if there may be more steps."""
        self.meter.check()
        if self.meter.allow(len(parents)) < len(parents):
            self.meter.refuse()
        states = self.box.step(states, parents, symbols)
        self.meter.n_sent += len(parents)
        self.meter.answered(len(parents))
        return states

    def skip(self, n_steps: int) -> None:
        """Count steps that need not be taken, for what they lead to is cached."""
        if self.meter.allow(n_steps) < n_steps:
            self.meter.refuse()

    def state_weights(self, states: States) -> FloatArray:
        """Return the weight of the word that leads to each state."""
        weights: FloatArray = self.box.state_weights(states)
        return weights


class MeteredModel(MeteredBox):
    """A box with states that predicts, and whose steps are counted."""

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return what follows each state, the end last."""
        probabilities: FloatArray = self.box.state_next_symbol(states)
        return probabilities

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return what follows each word as a prefix, the end last."""
        return read_each(self, self.alphabet.words(words), self.state_next_symbol)


@dataclass(frozen=True, eq=False)
class KeptBlocks:
    """Blocks of answers of a box with states, in a store.

    Parameters
    ----------
    store
        Where they are.
    number
        Under which number the store knows the box.
    """

    store: AnswerStore
    number: int

    @classmethod
    def of(cls, box: BlackBox, store: AnswerStore) -> KeptBlocks:
        """Return the blocks of a box, as `attended` returned it or as it was before."""
        backend = getattr(box, "backend", None)
        if isinstance(backend, CachingBackend):
            return cls(backend.store, backend.number)
        return cls(store, store.box(fingerprint_of(box), "blocks", box.alphabet))

    def check(self, box: Stepper, words: Words, cached: FloatArray) -> None:
        """Query a sample of the answers again; raise `BlackBoxError` if the box has changed."""

        def ask(some: Words) -> FloatArray:
            return read_each(box, some, box.state_weights)

        check_cached(
            name_of(box), self.store.prune_command(fingerprint_of(box)), words, cached, ask
        )

    def find(self, name: bytes) -> FloatArray | None:
        """Return the answers that were kept under a name, flat, or None."""
        return self.store.find_block(self.number, name)

    def add(self, name: bytes, answers: FloatArray) -> None:
        """Keep answers under a name."""
        self.store.add_block(self.number, name, answers)
