"""Symbols of several tokens: their probabilities, against streams of tokens read one by one."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.token_tree import token_tree
from seqray.util.errors import ArgumentError
from token_streams import StreamReader

N_TOKENS = 4


@cache
def next_tokens(context):
    """Return the probability of each token after others, of a model that remembers three."""
    return np.random.default_rng([5, *context[-3:]]).dirichlet(np.ones(N_TOKENS))


ALPHABETS = {
    "one token each": ([(1,), (2,)], [(0,)]),
    "no symbol begins with another": ([(1, 2), (1, 3), (2,)], [(0,)]),
    "one begins with another": ([(1,), (1, 2)], [(0,)]),
    "two short ones make a long one": ([(1,), (2,), (1, 2)], [(0,)]),
    "three short ones make a long one": ([(1,), (2,), (3,), (1, 2, 3)], [(0,)]),
    "nested": ([(1,), (1, 2), (1, 2, 3), (2, 3), (3,)], [(0,)]),
    "a token again and again": ([(1,), (1, 1), (1, 1, 1)], [(0,)]),
    "overlapping": ([(1, 2), (2, 1), (1, 2, 1), (2,)], [(0,)]),
    "a rest that begins with a symbol": ([(1,), (1, 2, 3, 3), (2, 3), (2,)], [(0,)]),
    "symbols with an end inside": ([(1,), (1, 0), (0, 2), (2,)], [(0,)]),
    "two ends": ([(1,), (1, 3), (2,)], [(0,), (3, 3)]),
}


def rows_of(tree, words):
    """Return the rows after words, from the probabilities that the tree's queries name."""
    logs = np.full((len(words), len(tree.paths)), np.nan)
    for query in tree.queries(words):
        logs[query.prefix, query.columns] = np.log(next_tokens(query.read)[list(query.tokens)])
    return np.exp(tree.log_rows(tree.exclusions(words), logs))


def words_up_to(length, n_symbols):
    alphabet = Alphabet(range(n_symbols))
    words = [w for n in range(length + 1) for w in product(range(n_symbols), repeat=n)]
    return alphabet.words(words)


@pytest.mark.parametrize("name", ALPHABETS)
def test_rows_are_those_of_all_streams_of_tokens(name):
    symbols, ends = ALPHABETS[name]
    reader = StreamReader(symbols, ends, next_tokens)
    words = words_up_to(3, len(symbols))
    leaking = rows_of(token_tree(symbols, ends, renormalise=False), words)
    rows = rows_of(token_tree(symbols, ends), words)
    for word, row, part in zip(words, rows, leaking, strict=True):
        expected = reader.row(tuple(symbols[code] for code in word))
        if expected is None:
            assert row.sum() == pytest.approx(1)
            assert 0 < part.sum() <= 1 + 1e-12
            continue
        np.testing.assert_allclose(part, expected, atol=1e-12)
        np.testing.assert_allclose(row, expected / np.sum(expected), atol=1e-12)
        np.testing.assert_array_equal(np.array(expected) == 0, row == 0)


@pytest.mark.parametrize("name", [name for name in ALPHABETS if "end" not in name])
def test_of_all_words_with_the_same_tokens_one_has_their_probability_and_the_others_0(name):
    symbols, (end, *_) = ALPHABETS[name]
    tree = token_tree(symbols, [end], renormalise=False)
    words = words_up_to(3, len(symbols))
    rows = dict(zip(words, rows_of(tree, words), strict=True))
    weights = {}
    for word, tokens in zip(words, tree.contexts(words), strict=True):
        steps = [rows[word[:at]][code] for at, code in enumerate(word)]
        weights.setdefault(tokens, []).append(np.prod([*steps, rows[word][-1]]))
    reader = StreamReader(symbols, [end], next_tokens)
    for tokens, some in weights.items():
        if len(tokens) <= 3:  # then all words with these tokens are there
            assert sum(some) == pytest.approx(reader.probability((*tokens, *end)))
            assert np.count_nonzero(some) == 1


def test_symbols_of_one_token_need_one_query_and_no_exclusion():
    tree = token_tree([(4,), (2,), (7,)], [(5,)])
    words = words_up_to(2, 3)
    (node,) = tree.nodes(0)
    assert (node.path, node.tokens, node.columns.tolist()) == ((), (4, 2, 7, 5), [0, 1, 2, 3])
    assert tree.n_exclusions == 1
    assert len(list(tree.queries(words))) == len(words)
    assert repr(tree) == "TokenTree(3 symbols, 1 tokens each, 1 nodes)"


def test_nodes_are_shared_by_symbols_that_begin_alike():
    tree = token_tree([(1, 2, 3), (1, 2, 4), (1, 5), (6,)], [(0,)])
    assert [node.path for node in tree.nodes(0)] == [(), (1,), (1, 2)]
    assert [node.tokens for node in tree.nodes(0)] == [(1, 6, 0), (2, 5), (3, 4)]


def test_an_excluded_rest_that_no_symbol_begins_with_costs_nothing_if_rows_are_renormalised():
    symbols = [(1,), (1, 2), (3,)]
    assert token_tree(symbols, [(0,)]).n_exclusions == 1
    leaking = token_tree(symbols, [(0,)], renormalise=False)
    assert [node.tokens for node in leaking.nodes(1)] == [(1, 3, 0, 2), (2,)]


def test_probabilities_of_0_stay_0():
    tree = token_tree([(1,), (1, 2), (3,)], [(0,)])
    zero = -np.inf
    logs = np.array([[zero, np.log(0.5), np.log(0.25), zero], [0, zero, zero, 0], [zero] * 4])
    rows = np.exp(tree.log_rows(np.zeros(3, int), logs))
    np.testing.assert_allclose(rows[0], [0, 0, 2 / 3, 1 / 3])
    np.testing.assert_allclose(rows[1], [0, 1, 0, 0])
    assert np.isnan(rows[2]).all()


def test_the_length_of_words_leaves_room_for_the_longest_symbols():
    tree = token_tree([(1,), (1, 2, 3)], [(0,)])
    assert tree.max_length(None, 1) is None
    assert tree.max_length(64, 1) == 20
    assert tree.max_length(3, 1) == 0
    with pytest.raises(
        ArgumentError, match="2 tokens have no room for the 1 before a word and the 2 that"
    ):
        tree.max_length(2, 1)
    assert token_tree([(1,)], [(0,)]).max_length(64, 1) == 63


@pytest.mark.parametrize(
    ("symbols", "ends", "message"),
    [
        ([(1,), (2,), (1,)], [(0,)], r"symbol 0 and symbol 2 have the same tokens \[1\]"),
        ([(1,), (2,)], [(2,)], r"symbol 1 and end 0 have the same tokens \[2\]"),
        ([(1,), ()], [(0,)], "symbol 1: expected one token at least, got none"),
        ([(1,)], [], "ends: expected the token ids of one at least, got none"),
        ([], [(0,)], "symbols: expected the token ids of one at least, got none"),
        ([(1, -1)], [(0,)], "tokens of symbol 0: expected a whole number from 0, got -1"),
    ],
)
def test_what_cannot_be_read_is_refused(symbols, ends, message):
    with pytest.raises(ArgumentError, match=message):
        token_tree(symbols, ends)
