"""Regular expressions over symbols, as minimal DFA."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.regex_parser import Choice, Node, OneOf, Repeat, Sequence, parse_regex
from seqray.automata.subset_construction import explored
from seqray.automata.words import Alphabet, Symbol
from seqray.util.arrays import IntArray
from seqray.util.errors import ArgumentError

MAX_POSITIONS = 2_000
"""The most places for a symbol, once repeats are written out."""


def regex_dfa(regex: str, alphabet: Alphabet | Iterable[Symbol]) -> DeterministicAutomaton:
    """Return the minimal DFA of a regular expression over symbols.

    Parameters
    ----------
    regex
        Symbols with spaces between them; where all symbols are single characters, spaces may be
        left out. ``( )`` groups, ``|`` is a choice, ``*``, ``+``, ``?``, ``{m}``, ``{m,}``,
        ``{,n}`` and ``{m,n}`` repeat what stands before. ``.`` is any symbol, ``[a b]`` one of
        several, ``[^a b]`` any other. A symbol that holds a space or one of these signs stands in
        quotes, single or double, or has a backslash before each. The whole word has to match.
    alphabet
        The symbols.

    Examples
    --------
    >>> regex_dfa("a(ba)*", "ab").decide(["a", "ab", "aba"])
    ['yes', 'no', 'yes']
    >>> calls = regex_dfa("open (read | 'write all'){1,2} close", ["open", "read", "write all",
    ...     "close"])
    >>> calls.decide([["open", "write all", "close"], ["open", "close"]])
    ['yes', 'no']
    >>> regex_dfa("a(b", "ab")
    Traceback (most recent call last):
    ...
    seqray.ArgumentError: regular expression 'a(b': at position 4, the end: a '(' is not ...
    """
    alphabet = Alphabet.of(alphabet)
    positions = _Positions()
    try:
        whole = positions.of(parse_regex(regex, alphabet))
    except RecursionError:
        raise ArgumentError(
            "regular expression: its repeats and brackets lie too deep inside each other: expected "
            "fewer, as in a* instead of a****"
        ) from None
    column, readers = _kinds(positions.symbols, len(alphabet))

    def successors(state: _State) -> list[_State]:
        following = []
        for reading in readers:
            read = state.next & reading
            after = frozenset().union(*(positions.follow[position] for position in read))
            following.append(_State(after, not whole.last.isdisjoint(read)))
        return following

    states, table = explored(_State(frozenset(whole.first), whole.is_nullable), successors)
    outputs = [int(state.accepts) for state in states]
    small = DeterministicAutomaton(range(table.shape[1]), table, outputs).minimised()
    return DeterministicAutomaton(alphabet, small.next_state[:, column], small.outputs)


class _State(NamedTuple):
    """Which positions may be read next, and whether the word may end here."""

    next: frozenset[int]
    accepts: bool


class _Fragment(NamedTuple):
    """A part of an expression: whether it matches λ, and where its words begin and end."""

    is_nullable: bool
    first: frozenset[int]
    last: frozenset[int]


EMPTY = _Fragment(True, frozenset(), frozenset())


@dataclass
class _Positions:
    """Glushkov's automaton: each place for a symbol is a state, and there are no empty steps.

    ``symbols`` holds the codes that each position reads, ``follow`` the positions after it.
    """

    symbols: list[frozenset[int]] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)

    def of(self, node: Node) -> _Fragment:
        """Return the fragment of an expression, with positions of its own."""
        if isinstance(node, OneOf):
            return self._position(node.codes)
        if isinstance(node, Repeat):
            return self._repeated(node)
        if isinstance(node, Choice):
            parts = [self.of(part) for part in node.parts]
            return _Fragment(
                any(part.is_nullable for part in parts),
                frozenset().union(*(part.first for part in parts)),
                frozenset().union(*(part.last for part in parts)),
            )
        assert isinstance(node, Sequence)
        whole = EMPTY
        for part in node.parts:
            whole = self._joined(whole, self.of(part))
        return whole

    def _position(self, codes: frozenset[int]) -> _Fragment:
        if len(self.symbols) >= MAX_POSITIONS:
            raise ArgumentError(
                f"regular expression: it has more than {MAX_POSITIONS:,} symbols once its repeats "
                "are written out: expected fewer, use smaller numbers in {m,n}"
            )
        self.symbols.append(codes)
        self.follow.append(set())
        here = frozenset([len(self.symbols) - 1])
        return _Fragment(False, here, here)

    def _joined(self, before: _Fragment, after: _Fragment) -> _Fragment:
        for position in before.last:
            self.follow[position] |= after.first
        return _Fragment(
            before.is_nullable and after.is_nullable,
            before.first | after.first if before.is_nullable else before.first,
            before.last | after.last if after.is_nullable else after.last,
        )

    def _repeated(self, node: Repeat) -> _Fragment:
        """Return x x (x (x)?)? for ``x{2,4}``: so each position is followed by few others."""
        whole = EMPTY
        if node.most is None:
            whole = self.of(node.part)
            self._joined(whole, whole)
            whole = whole._replace(is_nullable=True)
        for times in range(node.least if node.most is None else node.most, 0, -1):
            part = self.of(node.part)
            if not part.first:
                return EMPTY  # it reads no symbol, however often
            whole = self._joined(part, whole)
            if times > node.least:
                whole = whole._replace(is_nullable=True)
        return whole


def _kinds(symbols: list[frozenset[int]], n_symbols: int) -> tuple[IntArray, list[frozenset[int]]]:
    """Return the kind of each symbol, and for each kind the positions that read it.

    Symbols are of one kind if the same positions read them: then all states treat them alike.
    """
    distinct = list(dict.fromkeys(symbols))
    reads = np.zeros((len(distinct) + 1, n_symbols), bool)
    for row, codes in enumerate(distinct):
        reads[row, list(codes)] = True
    _, first, kind = np.unique(reads, axis=1, return_index=True, return_inverse=True)
    row_of = {codes: row for row, codes in enumerate(distinct)}
    rows = [row_of[codes] for codes in symbols]
    order = np.argsort(first)  # kinds by their first symbols, so that states are in this order
    readers = [
        frozenset(position for position, row in enumerate(rows) if column[row])
        for column in reads[:, first[order]].T.tolist()
    ]
    return np.argsort(order)[kind.ravel()], readers
