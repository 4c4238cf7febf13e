"""The discrimination tree: words go to the state of their row; a split makes two states."""

import numpy as np

from seqray import Alphabet
from seqray.learning.discrimination_tree import DiscriminationTree
from seqray.learning.known_rows import KnownRows, RowEquality


def tree_of(period, max_states=10, max_length=None):
    """Return a tree for the words whose length is a multiple of a period."""
    rows = KnownRows(
        Alphabet("a"),
        lambda words: np.eye(2)[(words.lengths % period == 0).astype(int)],
        None,
        max_length=max_length,
    )
    return DiscriminationTree(rows, RowEquality(0.5), max_states)


def words(*lengths):
    return [(0,) * n for n in lengths]


def test_words_with_equal_rows_share_a_state():
    tree = tree_of(3)
    assert tree.sift(words(0, 1, 2, 3)).tolist() == [0, 1, 1, 0]
    assert tree.access == words(0, 1)


def test_a_split_distinguishes_words_by_a_suffix():
    tree = tree_of(3)
    tree.sift(words(0, 1))
    node = tree.split(1, (0, 0), (0,))
    assert tree.sift(words(4, 5), node).tolist() == [1, 2]
    assert tree.sift(words(0, 1, 2, 3, 4, 5)).tolist() == [0, 1, 2, 0, 1, 2]
    assert tree.access == words(0, 1, 2)


def test_a_suffix_that_distinguishes_nothing_does_not_split():
    tree = tree_of(3)
    tree.sift(words(0, 1))
    assert tree.split(1, (0, 0), ()) is None
    assert len(tree.access) == 2
    assert not tree.is_capped


def test_at_the_most_states_words_go_to_the_nearest_row():
    tree = tree_of(3, max_states=1)
    assert tree.sift(words(0, 1, 2)).tolist() == [0, 0, 0]
    assert tree.is_capped


def test_at_the_most_states_nothing_is_split():
    tree = tree_of(3, max_states=2)
    tree.sift(words(0, 1))
    assert tree.split(1, (0, 0), (0,)) is None
    assert tree.is_capped


def test_a_word_that_is_too_long_with_the_suffix_goes_to_a_known_state():
    tree = tree_of(3, max_length=5)
    tree.sift(words(0, 1))
    assert tree.split(1, (0,) * 5, (0,)) is None
    assert tree.split(1, (0, 0), (0,)) is not None
    assert tree.sift(words(2, 4, 5)).tolist() == [2, 1, 1]
    assert len(tree.access) == 3
