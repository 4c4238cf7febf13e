"""A learner of deterministic automata: a discrimination tree, transitions, and counterexamples.

The learner keeps a hypothesis that is complete at any time. `TreeLearner.close` follows every
symbol that can follow each state, `TreeLearner.refine` splits states until the hypothesis agrees
with all rows that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.learning.discrimination_tree import DiscriminationTree, TreeNode
from seqray.learning.known_rows import Codes, KnownRows, RowEquality
from seqray.util.arrays import BoolArray, FloatArray, IntArray

BATCH_TRANSITIONS = 256
"""Transitions that are queried at once."""


class Hypothesis(NamedTuple):
    """A deterministic automaton as tables; state 0 is the start."""

    next_state: IntArray  # (n_states, n_symbols)
    rows: FloatArray  # the row of each state's access word
    possible: BoolArray  # which symbols can follow each state, (n_states, n_symbols)


class OpenTransition(NamedTuple):
    """A transition of the hypothesis, and the word that leads along it."""

    origin: int
    symbol: int
    word: Codes


class TreeLearner:
    """Learns a deterministic automaton from rows of words.

    Parameters
    ----------
    rows
        What is known, and queries what is not.
    equality
        When two rows count as equal.
    max_states
        The most states.
    watch
        Called after each batch of transitions.

    Examples
    --------
    >>> from seqray.automata.words import Alphabet
    >>> def third(words):
    ...     return np.eye(2)[(words.lengths % 3 == 0).astype(int)]
    >>> learner = TreeLearner(KnownRows(Alphabet("a"), third, None), RowEquality(0.5))
    >>> learner.close()
    >>> learner.hypothesis().next_state.tolist()
    [[1], [1]]
    >>> _ = learner.rows.query([(0, 0), (0, 0, 0)])
    >>> learner.refine()
    >>> learner.hypothesis().next_state.tolist()
    [[1], [2], [0]]
    """

    def __init__(
        self,
        rows: KnownRows,
        equality: RowEquality,
        max_states: int = 1000,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self.rows, self.equality, self.watch = rows, equality, watch
        self.tree = DiscriminationTree(rows, equality, max_states)
        self.unresolved: set[Codes] = set()
        self._next: list[list[int]] = []
        self._into: list[list[OpenTransition]] = []
        self._todo: list[OpenTransition] = []

    @property
    def n_states(self) -> int:
        """The number of states so far."""
        return len(self.tree.access)

    @property
    def is_closed(self) -> bool:
        """Whether no transition waits to be queried."""
        return not self._todo

    # Transitions --------------------------------------------------------------------------------

    def close(self) -> None:
        """Query every symbol that can follow every state, until no new state comes up."""
        if not self.n_states:
            self.tree.sift([()])
        self._open_states()
        while self._todo:
            some, self._todo = self._todo[:BATCH_TRANSITIONS], self._todo[BATCH_TRANSITIONS:]
            self._place(some)
            self.watch()

    def _place(self, transitions: list[OpenTransition], node: TreeNode | None = None) -> None:
        """Find out where transitions lead."""
        states = self.tree.sift([each.word for each in transitions], node)
        self._open_states()
        for each, target in zip(transitions, states.tolist(), strict=True):
            self._next[each.origin][each.symbol] = target
            self._into[target].append(each)

    def _open_states(self) -> None:
        """List the transitions of states that are new."""
        first = len(self._next)
        new = self.tree.access[first:]
        if not new:
            return
        possible = self.rows.possible(self.rows.query(new))
        for state, (word, row) in enumerate(zip(new, possible, strict=True), first):
            self._next.append([-1] * len(row))
            self._into.append([])
            if self.rows.may_query(len(word) + 1):
                self._todo += [
                    OpenTransition(state, code, (*word, code))
                    for code in np.flatnonzero(row).tolist()
                ]

    def transitions(self) -> list[OpenTransition]:
        """Return all transitions that were queried."""
        return [each for group in self._into for each in group]

    def hypothesis(self) -> Hypothesis:
        """Return the hypothesis of what is known so far.

        A transition that was not queried leads where the longest known ending of its word leads;
        one that is impossible stays where it is.
        """
        self._open_states()
        rows = self.rows.query(self.tree.access)
        possible = self.rows.possible(rows)
        table = np.array(self._next)
        missing = table < 0
        never = missing & self.rows.impossible(rows)
        table = np.where(never, np.arange(len(table))[:, None], table)
        known = {each.word: target for target, into in enumerate(self._into) for each in into}
        known[()] = 0
        for state, code in np.argwhere(missing & ~never).tolist():
            word = (*self.tree.access[state], code)
            while word not in known:
                word = word[1:]
            table[state, code] = known[word]
        return Hypothesis(table, rows, possible)

    # Counterexamples ----------------------------------------------------------------------------

    def refine(self) -> None:
        """Split states until the hypothesis agrees with all rows that are known."""
        self.close()
        while not self.tree.is_capped:
            wrong = self.counterexamples()
            n_before = self.n_states
            for word in wrong:
                self._learn_from(word)
            if self.n_states == n_before:
                break

    def counterexamples(self) -> list[Codes]:
        """Return the known words whose row is not that of the hypothesis, short ones first."""
        rows, expected = self._both_rows()
        words = self.rows.words
        wrong = np.flatnonzero(~self.equality.same(rows, expected)).tolist()
        resolvable = (words[i] for i in wrong if words[i] not in self.unresolved)
        return sorted(resolvable, key=len)

    def largest_distance(self) -> float:
        """Return the largest distance of the hypothesis from a row that is known."""
        rows, expected = self._both_rows()
        return float(self.equality.distance(rows, expected).max())

    def _both_rows(self) -> tuple[FloatArray, FloatArray]:
        """Return the row of each known word, and that of the hypothesis.

        Where the hypothesis takes the word as impossible, both are the same: a shorter word shows
        what is wrong, if it is.
        """
        hypothesis = self.hypothesis()
        words, rows = self.rows.everything()
        tree = PrefixTree.of(words)
        states, valid = np.zeros(len(tree), np.int64), np.ones(len(tree), bool)
        for start, stop in pairwise(tree.levels[1:].tolist()):
            level = slice(start, stop)
            origin, code = states[tree.parent[level]], tree.symbol[level]
            states[level] = hypothesis.next_state[origin, code]
            valid[level] = valid[tree.parent[level]] & hypothesis.possible[origin, code]
        nodes = tree.node_of_word
        return rows, np.where(valid[nodes, None], hypothesis.rows[states[nodes]], rows)

    def _learn_from(self, word: Codes) -> None:
        """Split the state that a counterexample shows to be two, if it still is one."""
        path = self._path(word)
        if path is None:
            self.unresolved.add(word)
            return
        access = [self.tree.access[state] for state in path]
        expected = self.rows.query([access[-1]])[0]
        if self.equality.same(self.rows.query([word])[0], expected):
            return  # learnt meanwhile
        for at in self._breaks(word, access, expected):
            node = self.tree.split(path[at + 1], (*access[at], word[at]), word[at + 1 :])
            if node is not None:
                moved, self._into[path[at + 1]] = self._into[path[at + 1]], []
                self._place(moved, node)
                self.close()
                return
        self.unresolved.add(word)

    def _path(self, word: Codes) -> list[int] | None:
        """Return the states along a word; None where a transition was not queried."""
        path = [0]
        for code in word:
            path.append(self._next[path[-1]][code])
            if path[-1] < 0:
                return None
        return path

    def _breaks(self, word: Codes, access: list[Codes], expected: FloatArray) -> Iterator[int]:
        """Yield where the states along a word may be wrong: first by halving, then everywhere.

        Before place i the rest of the word leads from the state's access word to another row than
        after it. Halving finds one such place; where rows are equal within a tolerance, it may be
        one at which they change too little.
        """
        low, high = 0, len(word)
        while high - low > 1:
            middle = (low + high) // 2
            row = self.rows.after([access[middle]], word[middle:])[0]
            low, high = (low, middle) if self.equality.same(row, expected) else (middle, high)
        yield low
        yield from (at for at in range(len(word) - 1, -1, -1) if at != low)
