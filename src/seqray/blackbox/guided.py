"""Boxes that predict within a guide: what the guide forbids has probability 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from seqray.automata.guide import Guide
from seqray.automata.reading import ReadsPredictions
from seqray.automata.stepper import predicts, read_each
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import BlackBox, max_length_of, name_of
from seqray.blackbox.queried import PrefixReader
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError, BlackBoxError

GUIDE_FILES = ".json", ".npz", ".dot", "_model.txt"
"""How the names of files with an automaton end."""

GuideLike: TypeAlias = str | Guide | AutomatonLike
"""A regular expression, a guide, an automaton, or the path of one."""


class Trail(NamedTuple):
    """How a batch of states came about, to name the prefix of one in an error."""

    before: Trail | None
    parents: IntArray
    symbols: IntArray

    def codes(self, place: int) -> list[int]:
        """Return the prefix that led to a state, as codes."""
        codes: list[int] = []
        trail: Trail = self
        while trail.before is not None:
            codes.append(int(trail.symbols[place]))
            place, trail = int(trail.parents[place]), trail.before
        return codes[::-1]


class GuidedStates(NamedTuple):
    """A batch of states: those of the box that are needed, and those of the guide.

    State ``i`` has state ``rows[i]`` of the box. That is -1 where no symbol may follow: there the
    box is not queried.
    """

    inner: States
    rows: IntArray
    guide: IntArray
    log_weight: FloatArray
    next_symbol: FloatArray
    trail: Trail


@dataclass(frozen=True, eq=False, repr=False)
class GuidedBox(ReadsPredictions):
    """A box that predicts within a guide; make one with `seqray.guided`.

    Parameters
    ----------
    box
        The box.
    guide
        What it may say.
    """

    box: Any
    guide: Guide

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.guide.alphabet

    @property
    def who(self) -> str:
        """Who answers."""
        return name_of(self.box)

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box can read; None: it can read any word."""
        return max_length_of(self.box)

    @property
    def max_states(self) -> int | None:
        """How many states may be stepped at once."""
        limit: int | None = getattr(self.box, "max_states", None)
        return limit

    @cached_property
    def fingerprint(self) -> str | None:
        """What is the same as long as the answers are; None where the box has no such name."""
        inner: str | None = getattr(getattr(self.box, "backend", self.box), "fingerprint", None)
        return None if inner is None else f"{inner} guided by {self.guide.fingerprint}"

    def __repr__(self) -> str:
        return f"GuidedBox({self.who}, {self.guide})"

    def around(self, box: Any) -> GuidedBox:
        """Return another box within the same guide."""
        return replace(self, box=box)

    def start(self) -> GuidedStates:
        """Return a batch of one: the state before the first symbol."""
        at = np.array([self.guide.dfa.start_state])
        trail = Trail(None, np.empty(0, np.int64), np.empty(0, np.int64))
        if not self.guide.is_open[at[0]]:
            return self._states(None, np.array([-1]), at, np.zeros(1), trail)
        return self._states(self.box.start(), np.zeros(1, np.int64), at, np.zeros(1), trail)

    def step(self, states: GuidedStates, parents: IntArray, symbols: IntArray) -> GuidedStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``.

        The box steps only where a symbol may follow.
        """
        at = self.guide.dfa.next_state[states.guide[parents], symbols]
        with np.errstate(divide="ignore"):
            step: FloatArray = np.log(states.next_symbol[parents, symbols])
        trail = Trail(states.trail, parents, symbols)
        rows = np.full(len(at), -1)
        needed = np.flatnonzero(self.guide.is_open[at])
        inner = states.inner
        if len(needed):
            rows[needed] = np.arange(len(needed))
            inner = self.box.step(inner, states.rows[parents[needed]], symbols[needed])
        return self._states(inner, rows, at, states.log_weight[parents] + step, trail)

    def state_weights(self, states: GuidedStates) -> FloatArray:
        """Return the probability of the word that leads to each state."""
        return np.exp(states.log_weight) * states.next_symbol[:, -1]

    def state_next_symbol(self, states: GuidedStates) -> FloatArray:
        """Return what follows each state, the end last; words end after a forbidden prefix."""
        return states.next_symbol

    def _state_log_weights(self, states: GuidedStates) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs: FloatArray = states.log_weight + np.log(states.next_symbol[:, -1])
        return logs

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return what follows each word as a prefix, the end last, ``(n_words, n_symbols + 1)``.

        Of a box without states nothing but these words is queried.
        """
        words = self.alphabet.words(words)
        if not isinstance(self.box, PrefixReader):
            return read_each(self, words, self.state_next_symbol)
        at = self.guide.dfa.states(words)
        needed = np.flatnonzero(self.guide.is_open[at])
        following, silent = self._following(self.box.next_symbol(words[needed]), needed, at)
        for place in silent.tolist():
            raise self._nothing_left(words[place])
        return following

    def _states(
        self, inner: States, rows: IntArray, at: IntArray, log_weight: FloatArray, trail: Trail
    ) -> GuidedStates:
        """Return a batch of states with what follows each of them."""
        needed = np.flatnonzero(rows >= 0)
        read = self.box.state_next_symbol(inner) if len(needed) else np.empty((0, 0))
        following, silent = self._following(read, needed, at)
        for place in silent[log_weight[silent] > -np.inf].tolist():
            raise self._nothing_left(self.alphabet.decode(trail.codes(place)))
        return GuidedStates(inner, rows, at, log_weight, following, trail)

    def _following(
        self, read: FloatArray, needed: IntArray, at: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """Return what follows each state, and the needed ones after which nothing is left.

        ``read`` is what the box says of the needed ones. Where nothing is left, the word ends.
        """
        following = np.zeros((len(at), len(self.alphabet) + 1))
        if len(needed):
            following[needed] = self.guide.masked(read, at[needed])
        is_silent = np.asarray(~following.any(axis=1))
        following[is_silent, -1] = 1
        return following, needed[is_silent[needed]]

    def _nothing_left(self, prefix: Word) -> BlackBoxError:
        return BlackBoxError(
            f"{self.who} gives probability 0 to all that the guide {self.guide} allows after the "
            f"prefix {self.alphabet.show(prefix)!r}: expected more than 0, allow more there"
        )


def guided(box: BlackBox, guide: GuideLike) -> GuidedBox:
    """Restrict what a box may predict.

    After each prefix, what cannot lead to a word that the guide accepts has probability 0, and so
    has the end where the word may not end. The other probabilities are scaled to sum to 1. Where
    only the end may follow, the box is not queried. Nor is it after prefixes that the guide
    forbids: they have probability 0, and end.

    Parameters
    ----------
    box
        A box that predicts next symbols.
    guide
        A regular expression over its symbols, see `seqray.regex_dfa`; a DFA; an automaton without
        negative weights, which allows the words that it gives more than 0; or the path of such an
        automaton. A string is a path if it ends in ``.json``, ``.npz``, ``.dot`` or ``_model.txt``.

    Returns
    -------
    box
        A box that predicts. Where it gives probability 0 to all that is allowed, reading it raises
        a `BlackBoxError`.

    Examples
    --------
    >>> import seqray
    >>> coin = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.3]]], [0.2])
    >>> box = guided(coin, "a b*")
    >>> box.next_symbol(["", "a"])
    array([[1. , 0. , 0. ],
           [0. , 0.6, 0.4]])
    >>> box.weights(["a", "ab", "b"]).round(12)
    array([0.4 , 0.24, 0.  ])
    """
    box = as_box(box)
    if isinstance(box, GuidedBox):
        raise ArgumentError(
            f"guide: {box!r} has one already: write one guide that allows what both of them allow"
        )
    if not predicts(box):
        raise ArgumentError(
            f"guide: {name_of(box)} does not predict next symbols: expected a box that does, such "
            "as a language model; leave out the guide for classifiers and boxes of numbers"
        )
    return GuidedBox(box, as_guide(guide, box.alphabet))


def guide_of(box: object) -> Guide | None:
    """Return what a box may say; None: there is no guide.

    >>> import seqray
    >>> coin = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.3]]], [0.2])
    >>> guide_of(coin), guide_of(guided(coin, "a*"))
    (None, Guide('a*'))
    """
    return box.guide if isinstance(box, GuidedBox) else None


def unguided(box: Any) -> Any:
    """Return the box inside a guided one; any other as it is."""
    return box.box if isinstance(box, GuidedBox) else box


def as_guide(given: GuideLike, alphabet: Alphabet) -> Guide:
    """Return the guide that an argument is, or is about; see `guided`.

    >>> as_guide("a*", Alphabet("ab"))
    Guide('a*')
    """
    if isinstance(given, Guide) or (isinstance(given, str) and not given.endswith(GUIDE_FILES)):
        return Guide.of(given, alphabet)
    return Guide.of_automaton(as_automaton(given, "guide"), alphabet)
