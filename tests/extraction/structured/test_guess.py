from dataclasses import replace

import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet
from seqray.extraction.structured.contexts import frequent_contexts
from seqray.extraction.structured.fit import FitWords
from seqray.extraction.structured.guess import MIN_PROBABILITY, Followed, first_guess
from seqray.extraction.structured.layout import FitLayout
from structured_fits import drawn, fixed_length_box, last_symbol_box, leaking_box, shares

NOWHERE = np.empty(0, np.int64)


def layout_of(words, *, size=1, max_length=1, begins=NOWHERE):
    """Return the layout of contexts of one size, of which all pairs remember."""
    tree = words.followed.tree
    contexts = frequent_contexts(tree, words.followed.visits, 20, max_length)
    sizes = np.full(len(contexts), size)
    remembers = np.full(contexts.next_context.shape, size > 1)
    return FitLayout(contexts, begins, sizes, remembers, words.followed.rows.shape[1])


def guessed(words, layout, seed=0):
    return first_guess(layout, words.followed, np.random.default_rng(seed))


def parity_box():
    """Return a box that knows whether it has read an even number of symbols a."""
    to = {"a": [[0, 0.7], [0.2, 0]], "b": [[0.2, 0], [0, 0.5]]}
    return WeightedAutomaton("ab", [1, 0], [to["a"], to["b"]], [0.1, 0.3])


def test_a_box_that_knows_the_last_symbol_comes_back_from_contexts_of_it():
    words = FitWords(drawn(last_symbol_box()), leaks=False)
    layout = layout_of(words)
    assert words.divergence(layout, guessed(words, layout)) < 1e-6


def test_words_of_one_length_come_back_where_positions_are_known():
    words = FitWords(drawn(fixed_length_box()), leaks=False)
    layout = layout_of(words, begins=np.array([4]))
    assert words.divergence(layout, guessed(words, layout)) < 1e-3
    assert words.divergence(layout_of(words), guessed(words, layout_of(words))) > 0.3


def test_prefixes_that_go_on_alike_share_a_state():
    box = parity_box()
    words = FitWords(drawn(box, 500), leaks=False)
    layout = layout_of(words, size=2)
    logarithms = guessed(words, layout)
    emission = shares(logarithms.emission)
    rows = box.next_symbol([(), ("a",)])
    number = {ending: i for i, ending in enumerate(layout.contexts.endings)}
    parity = np.abs(emission[:, None] - rows).max(axis=2).argmin(axis=1).reshape(-1, 2)
    for ending in ((0,), (1,)):  # after either symbol there are both
        own = emission[2 * number[ending] : 2 * number[ending] + 2]
        order = parity[number[ending]]
        assert sorted(order) == [0, 1]
        np.testing.assert_allclose(own, rows[order], atol=1e-2)
    for (origin, symbol, target), matrix in zip(
        layout.pairs.tolist(), logarithms.moves, strict=True
    ):
        if layout.contexts.endings[origin] in ((0,), (1,)):
            follows = matrix.argmax(axis=1)
            changed = parity[target][follows] != parity[origin]
            assert changed.tolist() == [symbol == 0] * 2


@pytest.mark.parametrize("begins", [NOWHERE, np.array([2])])
def test_all_guesses_are_probabilities_above_0(begins):
    words = FitWords(drawn(leaking_box()), leaks=True)
    layout = layout_of(words, size=3, max_length=2, begins=begins)
    logarithms = guessed(words, layout)
    for numbers in logarithms:
        assert numbers.dtype == np.float32
        assert np.isfinite(numbers).all()
        assert numbers.min() >= np.log(MIN_PROBABILITY) - 1e-5
    assert logarithms.emission.shape == (layout.n_rows, 4)
    np.testing.assert_allclose(np.exp(logarithms.emission).sum(axis=1), 1, atol=1e-5)
    assert np.exp(logarithms.begin).max() == 1
    np.testing.assert_allclose(np.exp(logarithms.entry).sum(axis=1), 1, atol=1e-4)
    assert (np.abs(np.exp(logarithms.moves).sum(axis=2) - 1) < 0.11).all()


def test_there_is_nothing_beyond_the_states_of_a_context():
    words = FitWords(drawn(leaking_box()), leaks=True)
    layout = layout_of(words, size=3, max_length=2)
    layout = replace(layout, sizes=np.where(np.arange(len(layout.sizes)) % 2, 3, 2))
    logarithms = guessed(words, layout)
    np.testing.assert_array_equal(np.isfinite(logarithms.entry), layout.has_state)
    for matrix, target in zip(logarithms.moves, layout.pairs[:, 2].tolist(), strict=True):
        assert (np.isfinite(matrix) == layout.has_state[target]).all()


def test_the_same_seed_guesses_the_same():
    words = FitWords(drawn(leaking_box()), leaks=True)
    layout = layout_of(words, size=3)
    one, same, other = (guessed(words, layout, seed).moves for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_where_prefixes_and_outcomes_are_many_some_of_them_are_clustered():
    n_symbols, n_words = 70, 3000
    rng = np.random.default_rng(0)
    two = rng.dirichlet(np.full(n_symbols + 1, 0.1), 2)
    words = rng.integers(n_symbols, size=(n_words, 2))
    tree = PrefixTree.of(Alphabet(range(n_symbols)).words(words.tolist()))
    rows = two[(tree.symbol > n_symbols // 2).astype(int)].astype(np.float32)
    followed = Followed(tree, rows, tree.counts().sum(axis=1))
    contexts = frequent_contexts(tree, followed.visits, 1e9, 1)
    sizes = np.full(len(contexts), 2)
    remembers = np.ones(contexts.next_context.shape, bool)
    layout = FitLayout(contexts, NOWHERE, sizes, remembers, n_symbols + 1)
    logarithms = first_guess(layout, followed, np.random.default_rng(0))
    found = np.exp(logarithms.emission[:2])
    expected = two[[0, 1]] if np.abs(found[0] - two[0]).max() < 0.01 else two[[1, 0]]
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_flow_is_how_often_outcomes_follow_the_nodes_of_a_key():
    words = FitWords(drawn(last_symbol_box(), 30), leaks=False)
    followed = words.followed
    keys = np.random.default_rng(0).choice([0, 2, 3], len(followed.tree))
    flow = followed.flow(keys, 5)
    for key in range(5):
        expected = followed.visits[keys == key] @ followed.rows[keys == key]
        np.testing.assert_allclose(flow[key], expected, rtol=1e-5)
