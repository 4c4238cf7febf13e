"""Words, layouts and numbers of structured fits, and a slow fit to compare with, for tests."""

import numpy as np

from seqray import WeightedAutomaton
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet
from seqray.extraction.structured.contexts import frequent_contexts
from seqray.extraction.structured.gradient import FitNumbers
from seqray.extraction.structured.layout import FitLayout
from seqray.fidelity.reference import Reference


def random_words(n_words=40, n_symbols=2, seed=0, max_length=6):
    """Draw words, of which the first symbol is the most frequent one."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(max_length + 1, size=n_words)
    share = 1 / np.arange(1, n_symbols + 1)
    draw = [rng.choice(n_symbols, n, p=share / share.sum()).tolist() for n in lengths]
    return Alphabet(range(n_symbols)).words(draw)


def contexts_of(words, min_visits=5, max_length=2):
    tree = PrefixTree.of(words)
    return frequent_contexts(tree, tree.counts().sum(axis=1), min_visits, max_length)


def random_layout(seed=0, *, words=None, n_classes=1, leaks=False, remembered=0.6, max_size=3):
    """Draw a layout: any sizes of contexts, any pairs that remember."""
    rng = np.random.default_rng(seed)
    contexts = contexts_of(random_words(seed=seed) if words is None else words)
    shape = contexts.next_context.shape
    return FitLayout(
        contexts,
        np.sort(rng.choice(np.arange(1, 5), n_classes - 1, replace=False)),
        rng.integers(1, max_size + 1, len(contexts)),
        rng.random(shape) < remembered,
        shape[1] + 1 + leaks,
    )


def random_numbers(layout, seed=0):
    """Draw logarithms of probabilities; they need not sum to 1. There is none beyond the states."""
    rng = np.random.default_rng(seed)
    size, has_state = layout.max_size, layout.has_state
    shapes = (
        (layout.n_rows, layout.n_outcomes),
        (len(layout.pairs), size, size),
        (len(layout.contexts), size),
        int(layout.sizes[layout.contexts.start]),
    )
    numbers = FitNumbers(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    numbers.entry[~has_state] = -np.inf
    for matrix, target in zip(numbers.moves, layout.pairs[:, 2], strict=True):
        matrix[:, ~has_state[target]] = -np.inf
    return numbers


def shares(rows):
    """Return probabilities of logarithms, along the last axis."""
    exponents = np.exp(np.asarray(rows, float))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def slow_predictions(layout, logarithms, codes):
    """Return what comes next after each prefix of a word, one symbol after the other."""
    state, context, rows = shares(logarithms.begin), layout.contexts.start, []
    for position in range(len(codes) + 1):
        group = (position >= layout.position_begins).sum() * len(layout.contexts) + context
        begin = layout.group_offsets[group]
        emission = shares(logarithms.emission[begin : begin + layout.sizes[context]])
        rows.append(state @ emission)
        if position == len(codes):
            return np.array(rows)
        given = state * emission[:, codes[position]] / rows[-1][codes[position]]
        pair = layout.pair_of[context, codes[position]]
        context = layout.contexts.next_context[context, codes[position]]
        state = shares(logarithms.entry[context, : layout.sizes[context]])
        if pair >= 0:
            state = given @ shares(layout.matrix(logarithms.moves, pair))


def fixed_length_box(length=4):
    """Return a box of words of one length over two symbols."""
    transitions = np.zeros((2, length + 1, length + 1))
    for position in range(length):
        transitions[:, position, position + 1] = 0.7, 0.3
    initial, final = np.eye(length + 1)[[0, -1]]
    return WeightedAutomaton("ab", initial, transitions, final)


def last_symbol_box():
    """Return a box that knows the last symbol and no more."""
    after_a, after_b = [[0.5, 0], [0.1, 0]], [[0, 0.3], [0, 0.6]]
    return WeightedAutomaton("ab", [0.5, 0.5], [after_a, after_b], [0.2, 0.3])


def leaking_box():
    """Return a box of three states that gives some probability to symbols of no alphabet."""
    rng = np.random.default_rng(5)
    rows = rng.dirichlet(np.full(8, 0.5), 3)
    transitions = rows[:, :6].reshape(3, 2, 3).transpose(1, 0, 2)
    return WeightedAutomaton("ab", [0.6, 0.3, 0.1], transitions, rows[:, 6], rows[:, 7])


def drawn(box, n_words=200, seed=0, max_length=12):
    return Reference.draw(box, n_words, seed=seed, max_length=max_length)
