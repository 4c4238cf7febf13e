"""What one side of a comparison answers on the words of a prefix tree."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from seqray.automata.stepper import PredictingStepper, Stepper, collect
from seqray.automata.tree import PrefixTree, States, walk
from seqray.blackbox.protocol import checked_answers, name_of, query_weights
from seqray.util.arrays import FloatArray

MAX_WEIGHT = np.finfo(float).max
"""Weights of an automaton are cut here: at a high rank it may overflow."""


class Answers(NamedTuple):
    """The answers of a box or an automaton.

    ``weights`` has shape ``(n_words,)``. ``next_symbol`` holds the probabilities of the next symbol
    at each node of the tree, the end last, shape ``(n_symbols + 1, n_nodes)``; None for a side that
    does not predict.
    """

    weights: FloatArray
    next_symbol: FloatArray | None


@runtime_checkable
class StateReader(Protocol):
    """An automaton: it reads weights and next symbols of states at once, and may overflow."""

    def read_states(self, states: Any, /) -> tuple[FloatArray, FloatArray]:
        """Return the weights, and the probabilities of next symbols, one column per state."""


def read_answers(box: Any, tree: PrefixTree, *, with_next: bool) -> Answers:
    """Query anything that weighs words, by the cheapest method it allows.

    Next symbols are read ``with_next``, where the box has them.
    """
    next_symbol: FloatArray | None = None
    weights: FloatArray
    if isinstance(box, PredictingStepper) and with_next:
        weights, next_symbol = _read_nodes(box, tree)
    elif isinstance(box, Stepper):
        weights = collect(box, tree, box.state_weights)
    else:
        distinct, which = np.unique(tree.node_of_word, return_inverse=True)
        return Answers(query_weights(box, tree.words(distinct))[which], None)
    weights = weights[tree.node_of_word]
    if isinstance(box, StateReader):
        return Answers(np.clip(weights, -MAX_WEIGHT, MAX_WEIGHT), next_symbol)
    return checked(Answers(weights, next_symbol), tree, name_of(box))


def _read_nodes(box: PredictingStepper, tree: PrefixTree) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the next symbols of all nodes of a tree."""
    weights = np.empty(len(tree))
    next_symbol = np.empty((len(tree.alphabet) + 1, len(tree)))
    read = box.read_states if isinstance(box, StateReader) else partial(_read_states, box)
    for nodes, states in walk(box, tree, box.start()):
        weights[nodes], next_symbol[:, nodes] = read(states)
    return weights, next_symbol


def _read_states(box: PredictingStepper, states: States) -> tuple[FloatArray, FloatArray]:
    return box.state_weights(states), np.asarray(box.state_next_symbol(states)).T


def checked(answers: Answers, tree: PrefixTree, who: str) -> Answers:
    """Return answers on the words of a tree if all are finite numbers; else raise an error."""
    weights, next_symbol = answers
    if next_symbol is not None and not np.isfinite(next_symbol).all():  # name the prefix
        checked_answers(next_symbol.T, tree.words(), next_symbol.T.shape, who)
    words = tree.words(tree.node_of_word)
    return Answers(checked_answers(weights, words, (len(words),), who), next_symbol)
