"""Asking politely: within limits, never twice, and again where a box is not sure of itself.

`attended` puts these between a black box and whoever asks it, and returns a black box of the same
abilities. What a box can do decides how:

- a box that is *asked* (whole words, or what follows a prefix): every answer goes through a store;
- a box with *states* is stepped anew, which is cheap: only its steps are counted, and blocks of
  answers can be kept, see `KeptBlocks`.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from seqray.answers import AnswerStore, word_keys
from seqray.arrays import BoolArray, FloatArray, IntArray, whole_number
from seqray.automaton import WeightedAutomaton
from seqray.blackbox.asked import AskedBox, AskedModel, gathered, halving
from seqray.blackbox.protocol import BlackBox, max_length_of, name_of
from seqray.errors import ArgumentError, BlackBoxError, Stopped
from seqray.stepper import Stepper, predicts, read_each
from seqray.tree import States
from seqray.words import Alphabet, Word, Words

N_CHECKED = 8
"""Kept answers that are asked again, to see whether a box is still the one of before."""

CHANGED = 1e-4
"""By how much of itself an answer has to differ for that."""

NOISE = b"noise"
"""The block in which the store keeps how noisy a box is."""


@dataclass
class Meter:
    """Counts questions, and says when to stop.

    Parameters
    ----------
    budget
        The most questions; None: any number.
    seconds
        The most time from now; None: any time.
    stop
        Asking ends soon after this event is set.
    listener
        Called with a number of answers when so many have come.

    Examples
    --------
    >>> meter = Meter(budget=10)
    >>> meter.allow(8), meter.allow(8)
    (8, 2)
    >>> meter.left
    0
    """

    budget: int | None = None
    seconds: float | None = None
    stop: threading.Event | None = None
    listener: Callable[[int], None] | None = None
    n_asked: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.budget is not None:
            self.budget = whole_number("budget", self.budget, 1)
        if self.seconds is not None and not self.seconds > 0:
            raise ArgumentError(f"seconds: expected more than 0, got {self.seconds}")

    @property
    def limits(self) -> bool:
        """Whether asking can come to an end before all is asked."""
        return not (self.budget is None and self.seconds is None and self.stop is None)

    @property
    def left(self) -> float:
        """How many questions may still be asked."""
        return math.inf if self.budget is None else self.budget - self.n_asked

    @property
    def elapsed(self) -> float:
        """Seconds since the meter was made."""
        return time.monotonic() - self.began

    def allow(self, n: int) -> int:
        """Count ``n`` questions, or as many as are left, and return how many."""
        allowed = int(min(n, self.left))
        self.n_asked += allowed
        return allowed

    def answered(self, n: int) -> None:
        """Tell the listener that so many answers have come."""
        if self.listener is not None:
            self.listener(n)

    def refuse(self) -> NoReturn:
        """Raise `Stopped`: more was asked than is left."""
        raise Stopped(f"the budget of {self.budget:,} questions is used up")

    def check(self) -> None:
        """Raise `Stopped` where time is over, or somebody said stop."""
        if self.stop is not None and self.stop.is_set():
            raise Stopped("interrupted")
        if self.seconds is not None and self.elapsed > self.seconds:
            raise Stopped(f"the time of {self.seconds:g} s is over")


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
    repeat = whole_number("repeat", repeat, 1)
    if isinstance(box, WeightedAutomaton):
        return box
    if not isinstance(box, AskedBox | AskedModel | Stepper):
        box = AskedBox(_Whole(box), box.alphabet)
    if store is not None:
        fingerprint_of(box)  # before anything is asked
    if repeat > 1:
        box = _repeating(box, repeat)
    if isinstance(box, AskedBox | AskedModel):
        return _remembering(box, meter, store, repeat)
    if not meter.limits:
        return box
    return (MeteredModel if predicts(box) else MeteredBox)(box, meter)


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
    if isinstance(box, AskedModel):
        return "next symbols"
    return "states" if isinstance(box, Stepper) else "whole words"


def fingerprint_of(box: BlackBox) -> str:
    """Return what the answers of a box are kept under, or say how to give it a name."""
    found = _fingerprint(box)
    if found is None:
        raise ArgumentError(
            "store: the answers of this box have no name to be kept under: give it one, as in "
            "black_box(function, alphabet, name='my model 1')"
        )
    return found


def _fingerprint(box: BlackBox) -> str | None:
    found: str | None = getattr(getattr(box, "asker", box), "fingerprint", None)
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


# Boxes that are asked -----------------------------------------------------------------------------


def _remembering(
    box: AskedBox | AskedModel, meter: Meter, store: AnswerStore | None, repeat: int
) -> AskedBox | AskedModel:
    kind = "value" if isinstance(box, AskedBox) else "next"
    if repeat > 1:
        kind += f", mean of {repeat}"
    if store is None:
        kept, codes = AnswerStore(), Alphabet(range(len(box.alphabet)))
        number = kept.box("this run", kind, codes)  # of symbols that need not fit into a file
    else:
        kept, number = store, store.box(fingerprint_of(box), kind, box.alphabet)
    if store is not None and not box.asker.deterministic:
        _check_kept(box, store, number)
    return dataclasses.replace(box, asker=RememberingAsker(box, kept, number, meter))


def _check_kept(box: AskedBox | AskedModel, store: AnswerStore, number: int) -> None:
    """Refuse kept answers that the box would not give any more: it has changed."""
    words, kept = store.some(number, N_CHECKED, box.alphabet)
    noise = KeptBlocks(store, number).find(NOISE)
    if not len(words) or (noise is not None and noise[0] > 0):  # a noisy one always differs
        return

    def ask() -> FloatArray:
        return gathered(box.answers(words), np.empty_like(kept), box.asker.who)

    now = ask()
    apart = _differ(now, kept)
    if apart.any() and not _differ(now, ask()).any():
        at = np.argwhere(apart)[0]
        raise BlackBoxError(
            f"{box.asker.who} has changed: for the word {box.alphabet.show(words[int(at[0])])!r} "
            f"it answers {now[tuple(at)]:g}, and {kept[tuple(at)]:g} was kept of it: forget the "
            f"kept answers (seqray store prune --box {fingerprint_of(box)!r}), or ask without the "
            "store"
        )


def _differ(one: FloatArray, other: FloatArray) -> BoolArray:
    """Which answers differ by more than rounding, where they are small beside others, too."""
    size = np.maximum(np.abs(one), np.abs(other))
    floor = 1e-3 * size.max(axis=-1, keepdims=True) if (one < 0).any() or one.ndim > 1 else 0
    return np.abs(one - other) > CHANGED * np.maximum(size, floor)


@dataclass(frozen=True, eq=False)
class RememberingAsker(_Wrapper):
    """Asks a box only what the store does not know, and keeps what it answers at once."""

    box: AskedBox | AskedModel
    store: AnswerStore
    number: int
    meter: Meter
    seen: set[bytes] = field(default_factory=set)

    @property
    def deterministic(self) -> bool:
        """Always: what was answered once stays."""
        return True

    def ask(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield what is known, then what the box answers."""
        self.meter.check()
        unique, place = words.unique()
        allowed = self._allowed(unique)
        wanted = unique[allowed]
        known, answers = self.store.find(self.number, wanted)

        def spread(which: IntArray, answers: FloatArray) -> tuple[IntArray, FloatArray]:
            row = np.full(len(unique), -1)
            row[which] = np.arange(len(which))
            at = np.flatnonzero(row[place] >= 0)
            return at, answers[row[place[at]]]

        if known.any():
            self.meter.answered(int(known.sum()))
            yield spread(allowed[known], answers)
        missing = np.flatnonzero(~known)
        for which, answers in self.box.answers(wanted[missing]):
            here = missing[which]
            if not self._counts_seen:
                self.meter.allow(len(here))
            self.store.add(self.number, wanted[here], answers)
            self.meter.answered(len(here))
            yield spread(allowed[here], answers)
            if len(here) < len(missing):  # what is complete is handed over before the end
                self.meter.check()
        if len(allowed) < len(unique):
            self.meter.refuse()

    @property
    def _counts_seen(self) -> bool:
        """Whether kept answers count as questions too; else millions of words need not be known."""
        return self.meter.budget is not None or isinstance(self.box, AskedModel)

    def _allowed(self, words: Words) -> IntArray:
        """Return which words the budget allows: those of before, and the first new ones."""
        if not self._counts_seen:
            return np.arange(len(words))
        keys = word_keys(words)
        is_new = np.fromiter((key not in self.seen for key in keys), bool, len(keys))
        new = np.flatnonzero(is_new)[: self.meter.allow(int(is_new.sum()))]
        self.seen.update(keys[i] for i in new.tolist())
        return np.union1d(np.flatnonzero(~is_new), new)


def _repeating(box: BlackBox, repeat: int) -> AskedBox | AskedModel:
    """Return a box that is asked several times; one with states is asked about words then."""
    whole: AskedBox | AskedModel
    if isinstance(box, AskedBox | AskedModel):
        whole = box
    elif predicts(box):
        whole = AskedModel(_Whole(box), box.alphabet, leaks=True)
    else:
        whole = AskedBox(_Whole(box), box.alphabet)
    return dataclasses.replace(whole, asker=RepeatingAsker(whole, repeat))


@dataclass(frozen=True, eq=False)
class RepeatingAsker(_Wrapper):
    """Asks a box several times and answers with the mean."""

    box: AskedBox | AskedModel
    repeat: int
    deterministic: bool = False

    def ask(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield means, in batches that are about as long as one question to the box."""
        shape = () if isinstance(self.box, AskedBox) else (len(words.alphabet) + 1,)
        size = max(1, int(getattr(self.box.asker, "batch_size", 1024)) // self.repeat)
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

    def ask(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
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
        """Return one real number a word."""
        weights: FloatArray = self.box.weights(words)
        return weights

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        return self.box.start()

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after a symbol, if there may be more steps."""
        self.meter.check()
        if self.meter.allow(len(parents)) < len(parents):
            self.meter.refuse()
        states = self.box.step(states, parents, symbols)
        self.meter.answered(len(parents))
        return states

    def state_weights(self, states: States) -> FloatArray:
        """Return the weight of the word that leads to each state."""
        weights: FloatArray = self.box.state_weights(states)
        return weights


class MeteredModel(MeteredBox):
    """A box with states that predicts, and whose steps are counted."""

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return what follows each state, the end last."""
        chances: FloatArray = self.box.state_next_symbol(states)
        return chances


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
        asker = getattr(box, "asker", None)
        if isinstance(asker, RememberingAsker):
            return cls(asker.store, asker.number)
        return cls(store, store.box(fingerprint_of(box), "blocks", box.alphabet))

    def find(self, name: bytes) -> FloatArray | None:
        """Return the answers that were kept under a name, flat, or None."""
        return self.store.find_block(self.number, name)

    def add(self, name: bytes, answers: FloatArray) -> None:
        """Keep answers under a name."""
        self.store.add_block(self.number, name, answers)
