"""Steppers: things that read a word symbol by symbol, and what can be done with any of them.

A network and a weighted automaton are the same kind of thing: they have a state, a symbol moves
it, and a state can be read. Scoring and predicting are written here once, for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np

from seqray.automata.tree import PrefixTree, States, walk
from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import FloatArray, IntArray


@runtime_checkable
class Stepper(Protocol):
    """Something with states that gives a real weight to every word."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``.

        Several children may share a parent: what depends on the parent alone need be computed
        only once.
        """

    def state_weights(self, states: States) -> FloatArray:
        """Return the weight of the word that leads to each state, shape ``(n_states,)``."""


@runtime_checkable
class PredictingStepper(Stepper, Protocol):
    """A stepper that also predicts the next symbol."""

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return next-symbol probabilities, the end last, shape ``(n_states, n_symbols + 1)``."""


def predicts(box: object) -> TypeGuard[PredictingStepper]:
    """Whether the next-symbol probabilities of a box mean something.

    A weighted automaton always has an answer, but only one that is (nearly) a distribution has a
    meaningful one.

    >>> import seqray
    >>> predicts(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))
    True
    >>> predicts(seqray.WeightedAutomaton("a", [1], [[[-3]]], [2]))
    False
    """
    return isinstance(box, PredictingStepper) and getattr(box, "is_distribution", True)


def collect(stepper: Stepper, tree: PrefixTree, read: Callable[[States], FloatArray]) -> FloatArray:
    """Walk a tree and read every node, each once.

    Parameters
    ----------
    stepper
        What walks.
    tree
        The words to walk over.
    read
        Turns a batch of states into an array with one row per state.

    Returns
    -------
    array
        One row per node, in the order of the tree's nodes.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> tree = PrefixTree.of(wa.alphabet.words(["ab"]))
    >>> collect(wa, tree, wa.state_weights)
    array([0.25   , 0.125  , 0.03125])
    """
    result: FloatArray | None = None
    for nodes, states in walk(stepper, tree, stepper.start()):
        values = read(states)
        if result is None:
            result = np.empty((len(tree), *values.shape[1:]), values.dtype)
        result[nodes] = values
    assert result is not None
    return result


def read_each(stepper: Stepper, words: Words, read: Callable[[States], FloatArray]) -> FloatArray:
    """Read what each word leads to, equal prefixes walked once, one row per word.

    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> read_each(wa, wa.alphabet.words(["ab", "", "ab"]), wa.state_weights)
    array([0.03125, 0.25   , 0.03125])
    """
    tree = PrefixTree.of(words)
    order = np.argsort(tree.node_of_word, kind="stable")
    nodes_of_words = tree.node_of_word[order]
    result: FloatArray | None = None
    for nodes, states in walk(stepper, tree, stepper.start()):
        begin, end = np.searchsorted(nodes_of_words, [nodes.start, nodes.stop])
        if begin == end and result is not None:
            continue  # only longer words pass here
        values = read(states)
        if result is None:
            result = np.empty((len(words), *values.shape[1:]), values.dtype)
        result[order[begin:end]] = values[nodes_of_words[begin:end] - nodes.start]
    assert result is not None
    return result
