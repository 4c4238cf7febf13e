"""The fewest edits that lead an automaton to another class, searched over its states.

A node of the search is a place in the word and a state of the automaton. To read the next symbol
costs nothing; to replace it, to leave it out, or to put another one in costs one edit. States that
are nearly the same count as one, so that an automaton that is deterministic in disguise has few
nodes, however many edits it takes. What is found is one word for each node, with the fewest edits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import decide, scores_of
from seqray.automata.words import Symbol, Word
from seqray.explain.edits import Edit, edited
from seqray.util.arrays import FloatArray

SAME_STATE = 0.02
"""States whose coordinates differ by less than this, relative to the largest, may count as one."""

MAX_NODES = 5000
"""After so many nodes the search ends."""

Key = tuple[int, tuple[int, ...]]
"""A place in the word, and the rounded coordinates of a state."""


class _Node(NamedTuple):
    """How a node was reached first: from which, and by which edit, None for the word's symbol."""

    vector: FloatArray
    origin: Key | None
    edit: Edit | None


class EditedWord(NamedTuple):
    """A word, and the edits that lead to it: one after the other, each with the word it changes."""

    word: tuple[Symbol, ...]
    steps: tuple[tuple[tuple[Symbol, ...], Edit], ...]


def search_states(
    automaton: ClassifierAutomaton, word: Word, max_edits: int
) -> Iterator[tuple[int, list[tuple[int, EditedWord]]]]:
    """Yield for each number of edits the words that get a new class, with the number of the class.

    Parameters
    ----------
    automaton
        The automaton, in coordinates in which states that are reached are of like size.
    word
        The word to edit.
    max_edits
        The most edits.

    Examples
    --------
    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> parity = ClassifierAutomaton("ab", [1, 0], [swap, stay], [[1, 0], [0, 1]],
    ...     classes=["even", "odd"])
    >>> n_edits, words = next(search_states(parity, "ab", 2))
    >>> n_edits, words[0][0], words[0][1].word
    (1, 0, ('b', 'b'))
    """
    search = _StateSearch(automaton, tuple(automaton.alphabet.encode(word).tolist()))
    level = {search.key(0, automaton.initial): _Node(automaton.initial, None, None)}
    for n_edits in range(max_edits + 1):
        level = search.read_on(level)
        last = [key for key in level if key[0] == len(search.codes)]
        if n_edits and last:
            yield n_edits, search.words(last)
        level = search.edited(level)
        if not level or len(search.nodes) > MAX_NODES:
            return


class _StateSearch:
    """The nodes that were reached, each with the fewest edits."""

    def __init__(self, automaton: ClassifierAutomaton, codes: tuple[int, ...]) -> None:
        self.automaton, self.codes = automaton, codes
        self.scale = SAME_STATE * max(1.0, float(np.abs(automaton.initial).max()))
        self.nodes: dict[Key, _Node] = {}

    def key(self, place: int, vector: FloatArray) -> Key:
        """Return the node of a place and a state."""
        return place, tuple(np.rint(vector / self.scale).astype(int).tolist())

    def read_on(self, level: dict[Key, _Node]) -> dict[Key, _Node]:
        """Add to the nodes all that follow by reading the word's own symbols; return the new."""
        reached: dict[Key, _Node] = {}
        for start, first in level.items():
            key, node = start, first
            while key not in self.nodes:
                self.nodes[key] = reached[key] = node
                place = key[0]
                if place == len(self.codes):
                    break
                vector = node.vector @ self.automaton.transitions[self.codes[place]]
                key, node = self.key(place + 1, vector), _Node(vector, key, None)
        return reached

    def edited(self, level: dict[Key, _Node]) -> dict[Key, _Node]:
        """Return the nodes that one edit leads to, and that are new."""
        fresh: dict[Key, _Node] = {}
        for origin, node in level.items():
            for place, vector, edit in self._edits(origin[0], node.vector):
                key = self.key(place, vector)
                if key not in self.nodes:
                    fresh.setdefault(key, _Node(vector, origin, edit))
        return fresh

    def _edits(self, place: int, vector: FloatArray) -> Iterator[tuple[int, FloatArray, Edit]]:
        """Yield all edits at a place, with the place and the state after them."""
        after = vector @ self.automaton.transitions  # one row per symbol
        if place < len(self.codes):
            own = self.codes[place]
            for code, row in enumerate(after):
                if code != own:
                    yield place + 1, row, Edit(place, own, code)
            yield place + 1, vector, Edit(place, own, None)
        for code, row in enumerate(after):
            yield place, row, Edit(place, None, code)

    def words(self, last: list[Key]) -> list[tuple[int, EditedWord]]:
        """Return the words that lead to nodes behind the last symbol, with their classes there."""
        automaton = self.automaton
        outputs = np.stack([self.nodes[key].vector for key in last]) @ automaton.outputs
        decisions = decide(scores_of(automaton.question, outputs), automaton.threshold)
        return [(int(d), self._word(key)) for d, key in zip(decisions, last, strict=True)]

    def _word(self, key: Key) -> EditedWord:
        """Return the word that leads to a node: its edits are made from the left to the right."""
        edits: list[Edit] = []
        at: Key | None = key
        while at is not None:
            node = self.nodes[at]
            if node.edit is not None:
                edits.append(node.edit)
            at = node.origin
        decode = self.automaton.alphabet.decode
        current, shift, steps = self.codes, 0, []
        for edit in reversed(edits):
            moved = edit._replace(position=edit.position + shift)
            steps.append((decode(current), moved))
            current = edited(current, moved)
            shift += (edit.after is not None) - (edit.before is not None)
        return EditedWord(decode(current), tuple(steps))
