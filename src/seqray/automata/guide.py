"""Guides: languages that say what may follow a prefix."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.regex import regex_dfa
from seqray.automata.subset_construction import explored
from seqray.automata.words import Alphabet, Word, Words
from seqray.util.arrays import BoolArray, FloatArray, IntArray, read_only
from seqray.util.errors import ArgumentError


@dataclass(frozen=True, eq=False, repr=False)
class Guide:
    """A language that restricts a box: a word is *allowed* if the DFA accepts it.

    A prefix is allowed if an allowed word begins with it.

    Parameters
    ----------
    dfa
        A minimal DFA that accepts at least one word.
    regex
        The regular expression that it was made of, if it was.

    Examples
    --------
    >>> guide = Guide.of_regex("a b*", Alphabet("ab"))
    >>> guide
    Guide('a b*')
    >>> guide.allowed[guide.dfa.states(["", "a"])]  # a, b, the end
    array([[ True, False, False],
           [False,  True,  True]])
    """

    dfa: DeterministicAutomaton
    regex: str | None = None

    def __post_init__(self) -> None:
        if not self.dfa.outputs.any():
            raise ArgumentError(f"guide: expected one that accepts some word, {self} accepts none")

    @classmethod
    def of(cls, given: str | WeightedAutomaton | Guide, alphabet: Alphabet) -> Guide:
        """Return the guide of a regular expression or an automaton; or the one given."""
        if isinstance(given, Guide):
            given = given.dfa if given.regex is None else given.regex
        if isinstance(given, str):
            return cls.of_regex(given, alphabet)
        return cls.of_automaton(given, alphabet)

    @classmethod
    def of_regex(cls, regex: str, alphabet: Alphabet) -> Guide:
        """Return the guide of a regular expression, see `regex_dfa`."""
        return cls(regex_dfa(regex, alphabet), regex)

    @classmethod
    def of_automaton(cls, automaton: WeightedAutomaton, alphabet: Alphabet) -> Guide:
        """Return the guide of a DFA, or of the words that an automaton gives a weight above 0.

        Parameters
        ----------
        automaton
            A DFA; or an automaton without negative weights. With negative ones, weights may cancel
            out, and which words remain is no regular language in general.
        alphabet
            The symbols of the box: the automaton has the same, in any order.
        """
        order = _order(automaton.alphabet, alphabet)
        if isinstance(automaton, DeterministicAutomaton) and automaton.is_dfa:
            dfa = automaton
        else:
            dfa = _support(automaton)
        table = dfa.next_state[:, order]
        ordered = DeterministicAutomaton(alphabet, table, dfa.outputs, start_state=dfa.start_state)
        return cls(ordered.minimised())

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.dfa.alphabet

    @cached_property
    def allowed(self) -> BoolArray:
        """Which symbols may follow each state, the end last, ``(n_states, n_symbols + 1)``."""
        table, accepts = self.dfa.next_state, self.dfa.outputs == 1
        # Of a minimal DFA, one state at most leads to no accepted word: it leads to itself alone.
        stays = (table == np.arange(len(table))[:, None]).all(axis=1)
        is_live = accepts | ~stays
        return read_only(np.column_stack([is_live[table], accepts]))

    @cached_property
    def is_open(self) -> BoolArray:
        """Whether a symbol may follow each state, shape ``(n_states,)``."""
        return read_only(np.asarray(self.allowed[:, :-1].any(axis=1)))

    @cached_property
    def fingerprint(self) -> str:
        """The same for guides that allow the same words."""
        digest = hashlib.sha256(self.dfa.next_state.tobytes() + self.dfa.outputs.tobytes())
        return digest.hexdigest()[:16]

    def allows(self, words: Words | Iterable[Word]) -> BoolArray:
        """Return whether each word is allowed as a whole, shape ``(n_words,)``."""
        return np.asarray(self.dfa.weights(words) > 0)

    def allows_prefixes(self, words: Words | Iterable[Word]) -> BoolArray:
        """Return whether an allowed word begins with each word, shape ``(n_words,)``."""
        return np.asarray(self.allowed[self.dfa.states(words)].any(axis=1))

    def masked(self, rows: FloatArray, states: IntArray) -> FloatArray:
        """Set the probabilities of what may not follow to 0, and scale the others to sum to 1.

        A row in which nothing is left becomes 0. Numbers below 0 count as 0.

        >>> guide = Guide.of_regex("a b*", Alphabet("ab"))
        >>> guide.masked(np.array([[0.5, 0.3, 0.2]]), guide.dfa.states(["a"]))
        array([[0. , 0.6, 0.4]])
        """
        left = np.where(self.allowed[states], np.maximum(rows, 0), 0.0)
        total = left.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(left, total, out=np.zeros_like(left), where=total > 0))

    def to_json(self) -> dict[str, Any]:
        """Return the guide as JSON holds it; `from_json` reads it."""
        symbols = {"alphabet": list(self.alphabet)}
        if self.regex is not None:
            return {**symbols, "regex": self.regex}
        accepts = np.flatnonzero(self.dfa.outputs).tolist()
        return {**symbols, "next_state": self.dfa.next_state.tolist(), "accepts": accepts}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Guide:
        """Return the guide that `to_json` returned.

        >>> guide = Guide.from_json({"alphabet": ["a"], "next_state": [[1], [1]], "accepts": [0]})
        >>> guide.allows(["", "a"])
        array([ True, False])
        """
        alphabet = Alphabet(document["alphabet"])
        if "regex" in document:
            return cls.of_regex(str(document["regex"]), alphabet)
        table = np.asarray(document["next_state"])
        outputs = np.isin(np.arange(len(table)), document["accepts"]).astype(np.int64)
        return cls(DeterministicAutomaton(alphabet, table, outputs).minimised())

    def __str__(self) -> str:
        return f"a DFA of {self.dfa.n_states} states" if self.regex is None else repr(self.regex)

    def __repr__(self) -> str:
        return f"Guide({self})"


def _order(own: Alphabet, alphabet: Alphabet) -> list[int]:
    """Return the code that each symbol of an alphabet has in another with the same symbols."""
    if set(own) != set(alphabet):
        odd = sorted(map(str, set(own) ^ set(alphabet)))[:5]
        raise ArgumentError(
            f"guide: expected an automaton with the symbols of the box, {alphabet}, got {own}: "
            f"only one of them has {', '.join(odd)}"
        )
    return [own.codes[symbol] for symbol in alphabet]


def _support(automaton: WeightedAutomaton) -> DeterministicAutomaton:
    """Return the DFA of the words that an automaton without negative weights gives more than 0."""
    if isinstance(automaton, ClassifierAutomaton | DeterministicAutomaton):
        raise ArgumentError(
            f"guide: expected a DFA, which accepts or rejects, got {automaton!r}: make one with "
            "the outputs no and yes"
        )
    edges = automaton.listed()
    for name, weights in zip(
        ("initial weights", "transitions", "final weights"),
        (automaton.initial, edges.weights, automaton.final),
        strict=True,
    ):
        if weights.min(initial=0) < 0:
            raise ArgumentError(
                f"guide: expected an automaton without negative weights, got {weights.min():.3g} "
                f"among the {name} of {automaton!r}: use a regular expression or a DFA"
            )
    after: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for code, origin, target, _ in edges.edges():
        after[origin].append((code, target))

    def successors(states: frozenset[int]) -> list[frozenset[int]]:
        targets: list[set[int]] = [set() for _ in automaton.alphabet]
        for state in states:
            for code, target in after[state]:
                targets[code].add(target)
        return [frozenset(each) for each in targets]

    final = set(np.flatnonzero(automaton.final).tolist())
    sets, table = explored(frozenset(np.flatnonzero(automaton.initial).tolist()), successors)
    outputs = [int(not final.isdisjoint(each)) for each in sets]
    return DeterministicAutomaton(automaton.alphabet, table, outputs)
