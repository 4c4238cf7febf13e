"""Deterministic automata: one state after every word.

A `DeterministicAutomaton` decides: each state has an output, such as yes or no (a DFA) or one of
several classes (a Moore machine). A deterministic probabilistic automaton (PDFA) predicts: each
state has the probabilities of the next symbol; `deterministic_pfa` makes one.

Both are a `StructuredAutomaton` with one state in each group, so that weights, files, drawings,
exports and comparisons work as for every other automaton.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import Question
from seqray.automata.grouping import Grouping, check_below, whole_array
from seqray.automata.probabilities import leak_of
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

DECISIONS = "no", "yes"
"""The outputs of a DFA: a word is rejected or accepted."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DeterministicAutomaton(StructuredAutomaton):
    """A DFA or Moore machine: after each word it is in one state, whose output is its decision.

    As a weighted automaton it gives each word the number of its output: 0 or 1 for a DFA.

    Parameters
    ----------
    alphabet
        The symbols, an `Alphabet` or what makes one.
    next_state
        The state after reading each symbol in each state, shape ``(n_states, n_symbols)``.
    outputs
        The number of the output of each state, shape ``(n_states,)``.
    output_names
        What each output is called; ``("no", "yes")`` for a DFA.
    start_state
        The state before the first symbol.

    Examples
    --------
    Words with an even number of a's:

    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> even
    DeterministicAutomaton(2 states, 2 symbols, outputs no, yes)
    >>> even.decide(["", "a", "aba"])
    ['yes', 'no', 'yes']
    >>> even.weights(["", "a", "aba"])
    array([1., 0., 1.])
    """

    outputs: IntArray
    output_names: tuple[str, ...]

    def __init__(
        self,
        alphabet: Alphabet | Iterable[Symbol],
        next_state: ArrayLike,
        outputs: ArrayLike,
        output_names: Iterable[str] = DECISIONS,
        start_state: int = 0,
    ) -> None:
        table = whole_array("next_state", next_state, 2)
        numbers = whole_array("outputs", outputs, 1)
        names = tuple(str(name) for name in output_names)
        if len(numbers) != len(table):
            raise ArgumentError(
                f"outputs: expected one for each of {len(table)} states, got {len(numbers)}"
            )
        check_below("outputs", numbers, len(names))
        if len(set(names)) < len(names):
            raise ArgumentError(f"output_names: expected different names, got {names}")
        grouping = Grouping(table, np.ones(len(table), np.int64), start_state)
        emission = np.ones((len(table), table.shape[1] + 1))
        emission[:, -1] = numbers
        super().__init__(alphabet, grouping, [1.0], emission, np.ones(len(table)))
        object.__setattr__(self, "outputs", numbers)
        object.__setattr__(self, "output_names", names)

    # Parts --------------------------------------------------------------------------------------

    @property
    def next_state(self) -> IntArray:
        """The state after reading each symbol in each state, shape ``(n_states, n_symbols)``."""
        return self.next_group

    @property
    def start_state(self) -> int:
        """The state before the first symbol."""
        return self.start_group

    @property
    def classes(self) -> tuple[str, ...]:
        """The output names: a deterministic automaton is a classifier."""
        return self.output_names

    @property
    def is_dfa(self) -> bool:
        """Whether it accepts and rejects, and has no other outputs."""
        return self.output_names == DECISIONS

    @property
    def arrays(self) -> dict[str, Any]:
        """The numbers, by name."""
        names = np.array(self.output_names)
        return {**super().arrays, "outputs": self.outputs, "output_names": names}

    @classmethod
    def from_arrays(
        cls, alphabet: Alphabet | Iterable[Symbol], arrays: Mapping[str, Any]
    ) -> DeterministicAutomaton:
        """Return the automaton of what `arrays` returned."""
        names = np.asarray(arrays["output_names"]).tolist()
        start = np.asarray(arrays["start_group"]).item()
        return cls(alphabet, arrays["next_group"], arrays["outputs"], names, start)

    def to_weighted(self, output: str | None = None) -> StructuredAutomaton:
        """Return the weighted automaton alone: of the outputs' numbers, or 1 for one output.

        >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
        >>> even.to_weighted("no").weights(["", "a"])
        array([0., 1.])
        """
        final = self.outputs
        if output is not None:
            if output not in self.output_names:
                raise ArgumentError(
                    f"output: expected one of {', '.join(self.output_names)}, got {output!r}"
                )
            final = (final == self.output_names.index(output)).astype(np.int64)
        emission = np.column_stack([self.emission[:, :-1], final])
        return StructuredAutomaton(self.alphabet, self.grouping, [1.0], emission, self.entry)

    def to_classifier(self) -> ClassifierAutomaton:
        """Return the same decisions with one output per class, to be drawn and explained.

        A classifier has at least two classes: where there is one output ``x`` only, the second
        class is ``not x``, which no word has.

        >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
        >>> even.to_classifier()
        ClassifierAutomaton(2 states, 2 symbols, 2 classes)
        """
        names = self.output_names
        if len(names) == 1:
            names = (*names, f"not {names[0]}")
        return ClassifierAutomaton(
            self.alphabet,
            self.initial,
            self.transitions,
            np.eye(len(names))[self.outputs],
            classes=names,
            question=Question.DECISION,
        )

    def allclose(
        self, other: WeightedAutomaton, *, rtol: float = 1e-9, atol: float = 1e-12
    ) -> bool:
        """Whether both have the same alphabet and the same numbers, state by state."""
        if isinstance(other, DeterministicAutomaton):
            same_names = self.output_names == other.output_names
            return same_names and self.to_weighted().allclose(other.to_weighted())
        return self.to_weighted().allclose(other, rtol=rtol, atol=atol)

    def __repr__(self) -> str:
        size = f"{self.n_states} states, {len(self.alphabet)} symbols"
        return f"DeterministicAutomaton({size}, outputs {', '.join(self.output_names)})"

    # Reading ------------------------------------------------------------------------------------

    def states(self, words: Words | Iterable[Word]) -> IntArray:
        """Return the state after each word, shape ``(n_words,)``."""
        return groups_after(self, self.alphabet.words(words))

    def decide(self, words: Words | Iterable[Word]) -> list[str]:
        """Return the output of each word, by name."""
        return [self.output_names[number] for number in self.outputs[self.states(words)].tolist()]

    def scores(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return 1 for the output of each word and 0 for others, ``(n_words, n_outputs)``."""
        return np.asarray(np.eye(len(self.output_names))[self.outputs[self.states(words)]])

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the number of each word's output, shape ``(n_words,)``."""
        return self.outputs[self.states(words)].astype(np.float64)

    # Other automata -----------------------------------------------------------------------------

    def minimised(self) -> DeterministicAutomaton:
        """Return the smallest automaton with the same outputs, states in the order of short words.

        Two automata decide all words alike exactly if their minimal ones have equal tables.

        >>> DeterministicAutomaton("a", [[1], [2], [0]], [1, 1, 1]).minimised().n_states
        1
        """
        reached = self._reached()
        table = np.searchsorted(reached, self.next_state[reached])
        block = np.unique(self.outputs[reached], return_inverse=True)[1].ravel()
        n_blocks = 0
        while n_blocks < (n_blocks := int(block.max()) + 1):
            signature = np.column_stack([block, block[table]])
            block = np.unique(signature, axis=0, return_inverse=True)[1].ravel()
        first = np.unique(block, return_index=True)[1]
        start = int(block[np.searchsorted(reached, self.start_state)])
        merged = DeterministicAutomaton(
            self.alphabet,
            block[table[first]],
            self.outputs[reached][first],
            self.output_names,
            start,
        )
        return merged._in_order()

    def _reached(self) -> IntArray:
        """Return the states that some word leads to, in rising order."""
        return np.sort(breadth_first(self.next_state, self.start_state))

    def _in_order(self) -> DeterministicAutomaton:
        """Return the same automaton, its states in the order in which words reach them."""
        order = breadth_first(self.next_state, self.start_state)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return DeterministicAutomaton(
            self.alphabet, place[self.next_state[order]], self.outputs[order], self.output_names
        )


def breadth_first(next_state: IntArray, start: int) -> IntArray:
    """Return the states that can be reached, in the order in which short words reach them.

    >>> breadth_first(np.array([[2, 0], [1, 1], [2, 0]]), 0)
    array([0, 2])
    """
    order, seen = [start], {start}
    for state in order:  # it grows meanwhile
        for target in next_state[state].tolist():
            if target not in seen:
                seen.add(target)
                order.append(target)
    return np.array(order, np.int64)


def groups_after(automaton: StructuredAutomaton, words: Words) -> IntArray:
    """Return the group after each word; where each group has one state, that is the state.

    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> groups_after(even, even.alphabet.words(["", "a", "aba"]))
    array([0, 1, 0])
    """
    states = np.full(len(words), automaton.start_group, np.int64)
    order = np.argsort(-words.lengths, kind="stable")
    lengths, begins = words.lengths[order], words.offsets[:-1][order]
    for place in range(int(words.lengths.max(initial=0))):
        n_alive = int(np.searchsorted(-lengths, -place))
        here = order[:n_alive]
        codes = words.codes[begins[:n_alive] + place]
        states[here] = automaton.next_group[states[here], codes]
    return states


def is_deterministic(automaton: WeightedAutomaton) -> bool:
    """Whether an automaton is in one state after every word: a DFA, Moore machine or PDFA.

    >>> is_deterministic(deterministic_pfa("a", [[0]], [[0.5, 0.5]]))
    True
    """
    return (
        isinstance(automaton, StructuredAutomaton)
        and automaton.n_states == len(automaton.group_sizes)
        and not len(automaton.remembering)
    )


def deterministic_pfa(
    alphabet: Alphabet | Iterable[Symbol],
    next_state: ArrayLike,
    next_symbol: ArrayLike,
    start_state: int = 0,
) -> StructuredAutomaton:
    """Return the PDFA of a table of states and the next-symbol probabilities of each state.

    Parameters
    ----------
    alphabet
        The symbols.
    next_state
        The state after reading each symbol in each state, shape ``(n_states, n_symbols)``.
    next_symbol
        The probabilities of what follows each state, the end last, shape
        ``(n_states, n_symbols + 1)``. What a row lacks to sum to 1 goes elsewhere.
    start_state
        The state before the first symbol.

    Examples
    --------
    >>> coin = deterministic_pfa("ab", [[0, 1], [1, 0]], [[0.5, 0.25, 0.25], [0, 0.5, 0.5]])
    >>> coin
    StructuredAutomaton(2 states in 2 groups, 2 symbols)
    >>> coin.weights(["", "b", "ba"])
    array([0.25 , 0.125, 0.   ])
    """
    rows = np.asarray(next_symbol, np.float64)
    table = whole_array("next_state", next_state, 2)
    leak = leak_of(rows)
    return StructuredAutomaton(
        alphabet,
        Grouping(table, np.ones(len(table), np.int64), start_state),
        [1.0],
        rows,
        np.ones(len(table)),
        elsewhere=leak if leak.any() else None,
    )


def separating_word(
    a: DeterministicAutomaton, b: DeterministicAutomaton
) -> tuple[Symbol, ...] | None:
    """Return a shortest word on which two automata have different outputs; None: there is none.

    Examples
    --------
    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> every = DeterministicAutomaton("ab", [[0, 0]], [1])
    >>> separating_word(even, every), separating_word(even, even)
    (('a',), None)
    """
    if a.alphabet != b.alphabet:
        raise ArgumentError(
            f"the automata read {a.alphabet} and {b.alphabet}: expected the same symbols in the "
            "same order"
        )
    a, b = a.minimised(), b.minimised()
    begin = a.start_state, b.start_state
    came_from: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {begin: None}
    waiting = deque([begin])
    while waiting:
        pair = waiting.popleft()
        if a.output_names[a.outputs[pair[0]]] != b.output_names[b.outputs[pair[1]]]:
            return a.alphabet.decode(_path(came_from, pair))
        rows = a.next_state[pair[0]].tolist(), b.next_state[pair[1]].tolist()
        for code, target in enumerate(zip(*rows, strict=True)):
            if target not in came_from:
                came_from[target] = pair, code
                waiting.append(target)
    return None


def _path(
    came_from: Mapping[tuple[int, int], tuple[tuple[int, int], int] | None], pair: tuple[int, int]
) -> list[int]:
    """Return the codes of the word that leads to a pair of states."""
    codes: list[int] = []
    step = came_from[pair]
    while step is not None:
        pair, code = step
        codes.append(code)
        step = came_from[pair]
    return codes[::-1]
