"""Steppers: things that read a word symbol by symbol, and what can be done with any of them.

A network and a weighted automaton are the same kind of thing: they have a state, a symbol moves
it, and a state can be read. Scoring, predicting and sampling are written here once, for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np

from seqray.arrays import FloatArray, IntArray
from seqray.errors import ArgumentError
from seqray.tree import PrefixTree, States, distinct_keys, sort_codes, walk
from seqray.words import Alphabet, Words

LEAK = 1e-5
"""A box leaks where its next-symbol probabilities sum to less than 1 by more than this."""


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
    """A stepper that also says what comes next."""

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return what comes next, the end last, shape ``(n_states, n_symbols + 1)``."""


def predicts(box: object) -> TypeGuard[PredictingStepper]:
    """Whether what a box says of the next symbol means something.

    A weighted automaton always has an answer, but only one that is (nearly) a distribution has a
    meaningful one.

    >>> import seqray
    >>> predicts(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))
    True
    >>> predicts(seqray.WeightedAutomaton("a", [1], [[[-3]]], [2]))
    False
    """
    return isinstance(box, PredictingStepper) and getattr(box, "is_distribution", True)


def leak_of(chances: FloatArray) -> FloatArray:
    """Return the probability of symbols outside the alphabet: what a row lacks to sum to 1.

    ``chances`` have a row a state, the end last; a lack of up to `LEAK` is rounding.

    >>> leak_of(np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.1], [0.7, 0.6, -0.3]])).round(6)
    array([0. , 0.2, 0. ])
    """
    lack = 1 - chances.sum(axis=1)
    return np.where(lack > LEAK, lack, 0.0)


def with_elsewhere(chances: FloatArray) -> FloatArray:
    """Append what a row lacks to sum to 1 as one more outcome, see `leak_of`.

    >>> with_elsewhere(np.array([[0.4, 0.3, 0.1]])).round(6)
    array([[0.4, 0.3, 0.1, 0.2]])
    """
    return np.column_stack([chances, leak_of(chances)])


def as_probabilities(rows: FloatArray) -> FloatArray:
    """Read what an automaton says comes next as probabilities: none below 0, no sum above 1.

    Rows keep what they leak, see `leak_of`. A row without any positive entry becomes uniform.

    >>> as_probabilities(np.array([[0.5, 0.75, -0.25], [0, 0, 0], [0.4, 0.2, -0.1]])).round(3)
    array([[0.4  , 0.6  , 0.   ],
           [0.333, 0.333, 0.333],
           [0.333, 0.167, 0.   ]])
    """
    positive = np.maximum(rows, 0)
    total, uniform = positive.sum(axis=1, keepdims=True), np.full(positive.shape, 1 / rows.shape[1])
    found = np.divide(positive, total, out=uniform, where=total > 0)
    leak = np.where(total[:, 0] > 0, leak_of(rows), 0.0)
    return np.asarray(found * np.maximum(1 - leak, 0)[:, None])


def collect(stepper: Stepper, tree: PrefixTree, read: Callable[[States], FloatArray]) -> FloatArray:
    """Walk a tree and read every node, each once.

    Parameters
    ----------
    stepper
        What walks.
    tree
        The words to walk over.
    read
        Turns a batch of states into an array with one row a state.

    Returns
    -------
    array
        One row a node, in the order of the tree's nodes.

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
    """Read what each word leads to, equal prefixes walked once, one row a word.

    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> read_each(wa, wa.alphabet.words(["ab", "", "ab"]), wa.state_weights)
    array([0.03125, 0.25   , 0.03125])
    """
    tree = PrefixTree.of(words)
    return collect(stepper, tree, read)[tree.node_of_word]


def sample(
    stepper: PredictingStepper, n_words: int, *, rng: np.random.Generator, max_length: int = 1000
) -> tuple[Words, int]:
    """Draw words symbol by symbol from the next-symbol distributions.

    Equal prefixes are stepped once. Negative probabilities count as 0; where nothing is left, the
    word ends. From a box that leaks, words are drawn as if every one of them stayed within the
    alphabet: each next symbol in proportion to its probability.

    Parameters
    ----------
    stepper
        What to sample from.
    n_words
        How many words to draw.
    rng
        The source of chance.
    max_length
        A word that has not ended by then is cut there.

    Returns
    -------
    words, n_cut
        The words, and how many of them were cut.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> words, n_cut = sample(wa, 1000, rng=np.random.default_rng(0))
    >>> len(words), float(words.lengths.mean().round(1)), n_cut
    (1000, 3.0, 0)
    """
    if not all(hasattr(stepper, name) for name in ("start", "step", "state_next_symbol")):
        hint = ": write .best() for its automaton" if hasattr(stepper, "best") else ""
        raise ArgumentError(
            f"stepper: expected something that predicts next symbols, got {stepper!r}{hint}"
        )
    for name, number in (("n_words", n_words), ("max_length", max_length)):
        if number < 0:
            raise ArgumentError(f"{name}: expected 0 or more, got {number}")
    n_symbols = len(stepper.alphabet)
    alive: IntArray = np.arange(n_words)
    node: IntArray = np.zeros(n_words, np.int64)
    states = stepper.start()
    drawn: list[tuple[IntArray, IntArray]] = []
    while len(alive) and len(drawn) < max_length:
        chances = np.clip(stepper.state_next_symbol(states), 0, None).cumsum(axis=1)
        n_nodes = len(chances)
        at = rng.random(len(alive)) * chances[node, -1]
        symbol = (chances[node] <= at[:, None]).sum(axis=1)
        goes_on = symbol < n_symbols
        alive, node, symbol = alive[goes_on], node[goes_on], symbol[goes_on]
        drawn.append((alive, symbol))
        if not len(alive):
            break
        keys, node = distinct_keys(node * n_symbols + symbol, n_nodes * n_symbols)
        states = stepper.step(states, keys // n_symbols, keys % n_symbols)
    owners = np.concatenate([owner for owner, _ in drawn] or [alive[:0]])
    letters = np.concatenate([symbol for _, symbol in drawn] or [alive[:0]])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_words))])
    return Words(stepper.alphabet, letters[sort_codes(owners)], offsets), len(alive)
