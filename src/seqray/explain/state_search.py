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
    codes = tuple(automaton.alphabet.encode(word).tolist())
    scale = SAME_STATE * max(1.0, float(np.abs(automaton.initial).max()))
    nodes: dict[Key, _Node] = {}
    first = (0, _rounded(automaton.initial, scale))
    level = {first: _Node(automaton.initial, None, None)}
    for n_edits in range(max_edits + 1):
        level = _read_on(automaton, codes, level, nodes, scale)
        ended = [key for key in level if key[0] == len(codes)]
        if n_edits and ended:
            yield n_edits, _words(automaton, codes, ended, nodes)
        level = _edited(automaton, codes, level, nodes, scale)
        if not level or len(nodes) > MAX_NODES:
            return


def _rounded(vector: FloatArray, scale: float) -> tuple[int, ...]:
    return tuple(np.rint(vector / scale).astype(int).tolist())


def _read_on(
    automaton: ClassifierAutomaton,
    codes: tuple[int, ...],
    level: dict[Key, _Node],
    nodes: dict[Key, _Node],
    scale: float,
) -> dict[Key, _Node]:
    """Add to nodes all that follow by reading the word's own symbols."""
    reached: dict[Key, _Node] = {}
    for start, first in level.items():
        key, node = start, first
        while key not in nodes:
            nodes[key] = reached[key] = node
            place = key[0]
            if place == len(codes):
                break
            vector = node.vector @ automaton.transitions[codes[place]]
            key, node = (place + 1, _rounded(vector, scale)), _Node(vector, key, None)
    return reached


def _edited(
    automaton: ClassifierAutomaton,
    codes: tuple[int, ...],
    level: dict[Key, _Node],
    nodes: dict[Key, _Node],
    scale: float,
) -> dict[Key, _Node]:
    """Return the nodes that one edit leads to, and that are new."""
    fresh: dict[Key, _Node] = {}

    def add(place: int, vector: FloatArray, origin: Key, edit: Edit) -> None:
        key = (place, _rounded(vector, scale))
        if key not in nodes:
            fresh.setdefault(key, _Node(vector, origin, edit))

    for key, node in level.items():
        place = key[0]
        after = node.vector @ automaton.transitions  # one row per symbol
        if place < len(codes):
            own = codes[place]
            for code, vector in enumerate(after):
                if code != own:
                    add(place + 1, vector, key, Edit(place, own, code))
            add(place + 1, node.vector, key, Edit(place, own, None))
        for code, vector in enumerate(after):
            add(place, vector, key, Edit(place, None, code))
    return fresh


def _words(
    automaton: ClassifierAutomaton,
    codes: tuple[int, ...],
    ended: list[Key],
    nodes: dict[Key, _Node],
) -> list[tuple[int, EditedWord]]:
    """Return the words that lead to nodes behind the last symbol, with their classes there."""
    outputs = np.stack([nodes[key].vector for key in ended]) @ automaton.outputs
    decisions = decide(scores_of(automaton.question, outputs), automaton.threshold)
    words = [_word(automaton, codes, key, nodes) for key in ended]
    return list(zip(decisions.tolist(), words, strict=True))


def _word(
    automaton: ClassifierAutomaton, codes: tuple[int, ...], key: Key, nodes: dict[Key, _Node]
) -> EditedWord:
    """Return the word that leads to a node: its edits are made from the left to the right."""
    edits: list[Edit] = []
    at: Key | None = key
    while at is not None:
        node = nodes[at]
        if node.edit is not None:
            edits.append(node.edit)
        at = node.origin
    decode = automaton.alphabet.decode
    current, shift, steps = codes, 0, []
    for edit in reversed(edits):
        moved = edit._replace(position=edit.position + shift)
        steps.append((decode(current), moved))
        current = edited(current, moved)
        shift += (edit.after is not None) - (edit.before is not None)
    return EditedWord(decode(current), tuple(steps))
