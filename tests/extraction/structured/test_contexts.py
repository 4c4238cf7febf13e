from collections import Counter
from itertools import product

import numpy as np
import pytest

from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet
from seqray.extraction.structured.contexts import frequent_contexts
from structured_fits import contexts_of, random_words

CASES = [(seed, 1 + seed % 3, 2 + seed % 7, 1 + seed % 4) for seed in range(8)]


def endings(codes, n_symbols, max_length):
    """Return the endings of a word, the beginning counted as a symbol, the longest last."""
    whole = (n_symbols, *codes)
    return [whole[len(whole) - n :] for n in range(min(max_length, len(whole)) + 1)]


def counted(words, n_symbols, max_length):
    """Count the endings of all prefixes of words."""
    counts = Counter()
    for word in words:
        for end in range(len(word) + 1):
            counts.update(endings(word[:end], n_symbols, max_length))
    return counts


@pytest.mark.parametrize(("seed", "n_symbols", "min_visits", "max_length"), CASES)
def test_contexts_are_the_endings_that_are_frequent(seed, n_symbols, min_visits, max_length):
    words = random_words(30, n_symbols, seed)
    counts = counted(words, n_symbols, max_length)
    often = {ending for ending, count in counts.items() if count >= min_visits}
    contexts = contexts_of(words, min_visits, max_length)
    assert len(contexts) == len(contexts.endings) == len(set(contexts.endings))
    assert set(contexts.endings) == often | {(), (n_symbols,)}
    assert contexts.endings[0] == ()
    assert contexts.endings[contexts.start] == (n_symbols,)


@pytest.mark.parametrize(("seed", "n_symbols", "min_visits", "max_length"), CASES)
def test_the_current_context_is_the_longest_ending_of_a_word_that_is_one(
    seed, n_symbols, min_visits, max_length
):
    contexts = contexts_of(random_words(30, n_symbols, seed), min_visits, max_length)
    number = {ending: i for i, ending in enumerate(contexts.endings)}
    for length in range(6):
        for word in product(range(n_symbols), repeat=length):
            current = contexts.start
            for code in word:
                current = contexts.next_context[current, code]
            known = [each for each in endings(word, n_symbols, max_length) if each in number]
            assert contexts.endings[current] == known[-1]


@pytest.mark.parametrize(("seed", "n_symbols", "min_visits", "max_length"), CASES)
def test_a_context_without_its_first_or_last_symbol_is_a_context(
    seed, n_symbols, min_visits, max_length
):
    known = contexts_of(random_words(30, n_symbols, seed), min_visits, max_length).endings
    assert {each[1:] for each in known} | {each[:-1] for each in known} <= set(known)


def test_the_nodes_of_a_tree_have_the_contexts_of_their_words():
    contexts = contexts_of(random_words())
    tree = PrefixTree.of(random_words(seed=1))
    expected = []
    for word in tree.words():
        current = contexts.start
        for code in word:
            current = contexts.next_context[current, code]
        expected.append(current)
    np.testing.assert_array_equal(contexts.of_nodes(tree), expected)


def test_visits_decide_and_not_the_number_of_words():
    tree = PrefixTree.of(Alphabet("ab").words(["a", "b"]))
    contexts = frequent_contexts(tree, np.array([0.0, 1.0, 9.0]), 2, 3)
    assert contexts.endings == [(), (1,), (2,), (2, 1)]


def test_where_nothing_is_frequent_only_the_beginning_is_known():
    contexts = contexts_of(random_words(), min_visits=10_000)
    assert contexts.endings == [(), (2,)]
    np.testing.assert_array_equal(contexts.next_context, 0)


def test_the_table_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        contexts_of(random_words()).next_context[0, 0] = 1
