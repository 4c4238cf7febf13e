"""The tree against a plain set of prefixes, and the walk against stepping word by word."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray import Alphabet
from seqray.automata.tree import PrefixTree, distinct_keys, walk

ABC = Alphabet("abc")
some_words = st.lists(st.text("abc", max_size=7), max_size=30)


def texts(words):
    return ["".join(word) for word in words]


def prefixes(words):
    """All prefixes in the order of the tree: by length, then by letters."""
    found = {"", *(word[:n] for word in words for n in range(len(word) + 1))}
    return sorted(found, key=lambda word: (len(word), word))


def random_words(seed, n_words, mean_length=6):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), rng.poisson(mean_length))) for _ in range(n_words)]


@given(some_words)
def test_nodes_are_the_prefixes_level_by_level_in_the_order_of_their_letters(words):
    tree = PrefixTree.of(ABC.words(words))
    nodes = prefixes(words)
    assert len(tree) == len(nodes)
    assert texts(tree.words()) == nodes
    assert [nodes[i] for i in tree.node_of_word] == words
    assert tree.depth.tolist() == [len(node) for node in nodes]
    assert (tree.parent[0], tree.symbol[0]) == (0, -1)
    for node, parent, symbol in zip(nodes[1:], tree.parent[1:], tree.symbol[1:], strict=True):
        assert node == nodes[parent] + "abc"[symbol]


@given(some_words)
def test_children_are_neighbours_and_levels_are_slices(words):
    tree = PrefixTree.of(ABC.words(words))
    nodes = prefixes(words)
    for i, node in enumerate(nodes):
        children = nodes[tree.first_child[i] : tree.first_child[i + 1]]
        assert children == [other for other in nodes if other and other[:-1] == node]
    longest = max((len(word) for word in words), default=0)
    assert len(tree.levels) == longest + 2
    for length in range(longest + 1):
        level = nodes[tree.levels[length] : tree.levels[length + 1]]
        assert level == [node for node in nodes if len(node) == length]


@given(some_words)
def test_counts_say_how_often_what_follows_each_prefix(words):
    tree = PrefixTree.of(ABC.words(words))
    follows = Counter((word[:n], word[n : n + 1]) for word in words for n in range(len(word) + 1))
    brute = [[follows[node, symbol] for symbol in ("a", "b", "c", "")] for node in prefixes(words)]
    np.testing.assert_array_equal(tree.counts(), brute)


@given(some_words, st.data())
def test_words_of_chosen_nodes_are_in_the_order_asked(words, data):
    tree = PrefixTree.of(ABC.words(words))
    n = len(tree)
    chosen = data.draw(st.lists(st.integers(-n, n - 1)))
    every = texts(tree.words())
    assert texts(tree.words(np.array(chosen, int))) == [every[i] for i in chosen]
    mask = np.arange(n) % 2 == 0
    assert texts(tree.words(mask)) == every[::2]


def test_a_large_tree_agrees_with_a_set_of_prefixes():
    words = random_words(0, 3000)
    tree = PrefixTree.of(ABC.words(words))
    nodes = prefixes(words)
    assert texts(tree.words()) == nodes
    assert [nodes[i] for i in tree.node_of_word] == words


def test_a_tree_over_a_large_alphabet_keeps_its_order():
    rng = np.random.default_rng(0)
    alphabet = Alphabet(range(50_000))
    words = [tuple(rng.integers(50_000, size=3).tolist()) for _ in range(200)]
    words += [(*word[:2], 7) for word in words]
    tree = PrefixTree.of(alphabet.words(words))
    assert list(tree.words()) == sorted(
        {word[:n] for word in words for n in range(4)}, key=lambda word: (len(word), word)
    )


@pytest.mark.parametrize("words", [[], [""], ["", ""]])
def test_without_letters_there_is_only_the_root(words):
    tree = PrefixTree.of(ABC.words(words))
    assert repr(tree) == f"PrefixTree(1 nodes, {len(words)} words)"
    assert tree.node_of_word.tolist() == [0] * len(words)
    assert tree.levels.tolist() == [0, 1]
    assert tree.first_child.tolist() == [1, 1]
    assert texts(tree.words()) == [""]
    np.testing.assert_array_equal(tree.counts(), [[0, 0, 0, len(words)]])
    assert [nodes for nodes, _ in walk(Reader(), tree, np.array([[0.0]]))] == [slice(0, 1)]


def test_the_arrays_of_a_tree_are_read_only():
    tree = PrefixTree.of(ABC.words(["ab"]))
    for array in (tree.parent, tree.symbol, tree.node_of_word, tree.first_child, tree.levels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


@pytest.mark.parametrize("n_keys", [300, 10**6])
def test_distinct_keys_are_sorted_and_found_again(n_keys):
    keys = np.random.default_rng(0).integers(300, size=100)
    distinct, which = distinct_keys(keys, n_keys)
    np.testing.assert_array_equal(distinct, np.unique(keys))
    np.testing.assert_array_equal(distinct[which], keys)


class Reader:
    """A stepper whose state is a number that only one word leads to; it counts steps."""

    def __init__(self):
        self.stepped = []

    def step(self, states, parents, symbols):
        assert parents.max() < len(states)
        self.stepped.append(len(parents))
        return states[parents] * 4 + symbols[:, None] + 1


def state(word, start=0.0):
    for letter in word:
        start = start * 4 + "abc".index(letter) + 1
    return start


@pytest.mark.parametrize("batch", [1, 2, 7, 64, 10**6])
def test_a_walk_visits_every_node_once_after_its_parent_whatever_the_batch(batch):
    tree = PrefixTree.of(ABC.words(random_words(1, 150)))
    reader, seen = Reader(), np.zeros(len(tree), int)
    states = np.full(len(tree), np.nan)
    for nodes, values in walk(reader, tree, np.array([[0.0]]), batch=batch):
        assert seen[tree.parent[nodes]].all() or nodes == slice(0, 1)
        seen[nodes] += 1
        states[nodes] = values[:, 0]
    assert (seen == 1).all()
    assert max(reader.stepped) <= batch
    assert sum(reader.stepped) == len(tree) - 1
    np.testing.assert_array_equal(states, [state(word) for word in texts(tree.words())])


@pytest.mark.parametrize("batch", [1, 5, 16, 10**6])
def test_walking_from_many_states_together_is_walking_from_each(batch):
    tree = PrefixTree.of(ABC.words(random_words(2, 60)))
    starts, reader = np.array([[0.0], [1.0], [2.0], [5.0], [9.0]]), Reader()
    width = len(starts)
    together = np.full((len(tree), width), np.nan)
    for nodes, values in walk(reader, tree, starts, width=width, batch=batch):
        together[nodes] = values[:, 0].reshape(-1, width)
    assert max(reader.stepped) <= max(batch, width)
    for lane, start in enumerate(starts[:, 0]):
        expected = [state(word, start) for word in texts(tree.words())]
        np.testing.assert_array_equal(together[:, lane], expected)


def test_a_walk_holds_no_more_than_one_batch_of_states_a_level():
    tree = PrefixTree.of(ABC.words(random_words(3, 2000)))
    alive = 0
    most = 0

    class Counted(np.ndarray):
        def __del__(self):
            nonlocal alive
            alive -= self.size

    class Counting:
        def step(self, states, parents, symbols):
            nonlocal alive, most
            alive += len(parents)
            most = max(most, alive)
            return np.zeros(len(parents)).view(Counted)

    for _ in walk(Counting(), tree, np.zeros(1), batch=16):
        pass
    assert len(tree) > 2000
    assert most <= 16 * (len(tree.levels) + 1)


@given(some_words, some_words)
def test_a_part_of_a_tree_is_found_in_it(some, others):
    part, whole = (PrefixTree.of(ABC.words(words)) for words in (some, [*others, *some]))
    assert whole.words(whole.find(part)) == part.words()
