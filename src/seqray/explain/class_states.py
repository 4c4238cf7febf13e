"""States of an automaton that classifies, as prefixes: what class it decides for after each."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, product

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import decide, scores_of
from seqray.automata.sampling import uniform_words
from seqray.automata.stepper import collect
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Word, Words
from seqray.explain.named_automaton import NamedAutomaton
from seqray.util.arrays import FloatArray, IntArray

N_CANDIDATES = 2000
"""Short words that states are named after."""

N_VISITED_WORDS, MAX_VISITED_LENGTH = 300, 20
"""Random words that show how often states are visited, and their length."""

NEARLY_FARTHEST = 0.5
"""Of words this nearly as far from the states so far as the farthest, the first is taken."""

ROUNDING = 1e-12
"""Smaller numbers, relative to the largest, are rounding of 0."""

MIXTURE, NO_STATE = "a mixture", -1
"""What a state is called whose class no named state has, and its number."""

N_COMPARED_SYMBOLS = 5
"""States are alike if their outputs are, at once and after so many symbols."""

COORDINATE_WEIGHT = 1e-3
"""How much coordinates count beside outputs: states with equal outputs differ in them."""

MIN_DISTANCE = 1e-6
"""Words that are nearer to the states so far, relative to the first, add no state."""


def short_words(alphabet: Alphabet, n_words: int) -> Words:
    """Return the first words by length, and by the order of the alphabet.

    >>> short_words(Alphabet("ab"), 4)
    Words(4 words over 2 symbols: λ, a, b, aa)
    """
    lengths = range(n_words)
    words = (w for length in lengths for w in product(alphabet.symbols, repeat=length))
    return alphabet.words([*islice(words, n_words)])


def name_class_states(
    automaton: ClassifierAutomaton, *, candidates: Words | Iterable[Word] | None = None
) -> NamedAutomaton:
    """Give an automaton that classifies states that are prefixes, the empty one first.

    The outputs of such a state are those after its prefix, so that it has a class. An automaton
    that is deterministic in disguise shows its own states: each symbol leads from one to one other.

    Parameters
    ----------
    automaton
        The automaton; all its decisions stay, up to rounding. Directions that no word reaches are
        dropped.
    candidates
        The prefixes to choose from, and longer ones where these are not enough; by default all
        short words.

    Examples
    --------
    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> hidden = ClassifierAutomaton("ab", [1, 0], [swap, stay], [[1, 0], [0, 1]],
    ...     classes=["even", "odd"]).in_basis(np.array([[1.0, 2.0], [1.0, -1.0]]))
    >>> named = name_class_states(hidden)
    >>> named.names, state_classes(named.automaton)
    (('start', 'after a'), ['even', 'odd'])
    """
    alphabet = automaton.alphabet
    words = short_words(alphabet, N_CANDIDATES)
    if candidates is not None:
        words = Words.concatenate([words[:1], alphabet.words(candidates)]).unique()[0]
    words = _spanning(automaton, words)
    named = _without_noise(automaton.in_basis(_vectors(automaton, words)))
    checked = uniform_words(
        alphabet, N_VISITED_WORDS, seed=np.random.default_rng(0), max_length=MAX_VISITED_LENGTH
    )
    before, after = automaton.class_outputs(checked), named.class_outputs(checked)
    loss = float(np.abs(after - before).max() / (np.abs(before).max() or 1.0))
    coordinates = np.abs(_vectors(named, checked))
    shares = coordinates / np.maximum(coordinates.sum(axis=1, keepdims=True), 1e-300)
    return NamedAutomaton(named, words, np.ones(len(words)), shares.mean(axis=0), loss)


def _spanning(automaton: ClassifierAutomaton, words: Words) -> Words:
    """Return words whose states span all that is reached: of those given, and of longer ones.

    Where the states after some words do not span it, a symbol after one of them leads out.
    """
    n_symbols, n_before = len(automaton.alphabet), 0
    while True:
        chosen = _spread(_vectors(automaton, words), automaton.n_states)
        if len(chosen) in (n_before, automaton.n_states):
            return words[np.array(chosen)]
        n_before = len(chosen)
        some = words[np.repeat(chosen, n_symbols)]
        longer = some.extended(np.tile(np.arange(n_symbols), len(chosen)))
        words = Words.concatenate([words, longer]).unique()[0]


def _without_noise(automaton: ClassifierAutomaton) -> ClassifierAutomaton:
    """Return an automaton whose numbers that are 0 up to rounding are 0."""
    arrays = (automaton.initial, automaton.transitions, automaton.outputs)
    sizes = [max(1.0, float(np.abs(array).max())) for array in arrays]
    clean = [
        np.where(np.abs(a) > ROUNDING * size, a, 0.0) for a, size in zip(arrays, sizes, strict=True)
    ]
    return automaton.with_arrays(*clean)


def _vectors(automaton: ClassifierAutomaton, words: Words) -> FloatArray:
    """Return the state after each word; distinct words are read once."""
    tree = PrefixTree.of(words)
    return collect(automaton, tree, automaton.state_vectors)[tree.node_of_word]


def _spread(vectors: FloatArray, n_states: int) -> list[int]:
    """Return which vectors, the first one first, span as much as possible, each far from others.

    Lengths do not count: a vector is as far as the sine of its angle to those chosen.
    """
    sizes = np.linalg.norm(vectors, axis=1)
    rest = np.divide(vectors, sizes[:, None], where=sizes[:, None] > 0, out=np.zeros_like(vectors))
    chosen = [0]
    for _ in range(n_states):
        axis = rest[chosen[-1]]
        axis = axis / (np.linalg.norm(axis) or 1.0)
        rest = rest - np.outer(rest @ axis, axis)
        rest -= np.outer(rest @ axis, axis)  # twice, against rounding
        distances = np.linalg.norm(rest, axis=1)
        if len(chosen) == n_states or distances.max() <= MIN_DISTANCE:
            break
        chosen.append(int((distances >= NEARLY_FARTHEST * distances.max()).argmax()))
    return chosen


def classifier_of(named: NamedAutomaton) -> ClassifierAutomaton:
    """Return the automaton that `name_class_states` gave names to its states."""
    assert isinstance(named.automaton, ClassifierAutomaton)
    return named.automaton


def vector_decisions(automaton: ClassifierAutomaton, vectors: FloatArray) -> IntArray:
    """Return the number of the class that the automaton decides for in mixtures of its states."""
    return decide(scores_of(automaton.question, vectors @ automaton.outputs), automaton.threshold)


def likeness(automaton: ClassifierAutomaton) -> FloatArray:
    """Return a matrix G: ``(v - u) @ G @ (v - u)`` says how differently states v and u go on.

    It is the mean squared difference of their outputs, at once and after up to
    `N_COMPARED_SYMBOLS` random symbols, and a little of the difference of the vectors themselves.
    """
    outputs = automaton.outputs @ automaton.outputs.T
    total = outputs.copy()
    for _ in range(N_COMPARED_SYMBOLS):
        outputs = np.mean([step @ outputs @ step.T for step in automaton.transitions], axis=0)
        total += outputs
    size = float(np.diag(total).max()) or 1.0
    return np.asarray(total / size + COORDINATE_WEIGHT * np.eye(automaton.n_states))


def nearest_states(automaton: ClassifierAutomaton, vectors: FloatArray) -> IntArray:
    """Return the state of the same class that each mixture of states is most like.

    Mixtures have negative parts, too, and the largest part of one may be negative. So it is not
    the parts that are compared, but how both go on, see `likeness`.

    Parameters
    ----------
    automaton
        The automaton, in readable coordinates.
    vectors
        Mixtures of its states, shape ``(n, n_states)``.

    Returns
    -------
    IntArray
        The number of a state for each; `NO_STATE` where no state has the class of the mixture.

    Examples
    --------
    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> parity = ClassifierAutomaton("ab", [1, 0], [swap, stay], [[1, 0], [0, 1]],
    ...     classes=["even", "odd"])
    >>> nearest_states(parity, np.array([[0.9, 0.1], [-2.0, 1.0]]))
    array([0, 1])
    """
    gram = likeness(automaton)
    # The distance to each state, without what is the same for all of them.
    distances = np.diag(gram) - 2 * vectors @ gram
    classes = vector_decisions(automaton, vectors)
    is_alike = classes[:, None] == automaton.state_decisions
    nearest = np.where(is_alike, distances, np.inf).argmin(axis=1)
    return np.where(is_alike.any(axis=1), nearest, NO_STATE)


def state_name(named: NamedAutomaton, number: int) -> str:
    """Return the name of a state that `nearest_states` returned."""
    return MIXTURE if number == NO_STATE else named.names[number]


def state_classes(automaton: ClassifierAutomaton) -> list[str]:
    """Return the class that each state decides for, if the automaton is in it alone."""
    return [automaton.classes[number] for number in automaton.state_decisions]
