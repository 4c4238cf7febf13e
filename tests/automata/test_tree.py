"""The tree against a plain set of prefixes, and the walk against stepping word by word."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray import Alphabet
from seqray.automata.tree import PrefixTree, distinct_keys, grow, sort_codes, walk

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


@pytest.mark.parametrize("by", ["origin", "symbol"])
@pytest.mark.parametrize("direction", [1, -1])
@given(words=some_words, n_roots=st.sampled_from([None, 1, 2]))
def test_trees_grow_from_several_roots_and_in_both_directions(by, direction, words, n_roots):
    encoded = ABC.words(words)
    ends = encoded.offsets[1:] - 1
    starts = encoded.offsets[:-1] if direction == 1 else np.maximum(ends, 0)
    roots = None if n_roots is None else np.arange(len(words)) % n_roots
    root_of = [0] * len(words) if roots is None else roots.tolist()
    read = [(root, word[::direction]) for root, word in zip(root_of, words, strict=True)]
    n_ended, names = 0, []
    levels = grow(encoded, starts, encoded.lengths, roots=roots, direction=direction, by=by)
    for depth, level in enumerate(levels):
        if depth:
            keys = [*zip(level.origins.tolist(), level.symbols.tolist(), strict=True)]
            assert keys == sorted(set(keys), key=lambda key: key if by == "origin" else key[::-1])
            names = [(names[o][0], names[o][1] + "abc"[s]) for o, s in keys]
            expected = {(root, word[:depth]) for root, word in read if len(word) >= depth}
            assert set(names) == expected
        else:
            assert level.symbols.tolist() == [-1] * len(level.origins)
            names = [(root, "") for root in level.origins.tolist()]
        assert [read[i] for i in level.ended] == [names[at] for at in level.ended_at]
        n_ended += len(level.ended)
    assert n_ended == len(words)


@pytest.mark.parametrize("largest", [0, 255, 256, 300, 65_535, 65_536, 70_000, 2**40])
def test_codes_are_sorted_stably_whatever_their_size(largest):
    codes = np.array([largest, 0, 3, largest, 3, largest // 2, 0])
    assert sort_codes(codes).tolist() == sorted(range(7), key=codes.tolist().__getitem__)
    assert sort_codes(codes[:0]).tolist() == []


@pytest.mark.parametrize(("max_states", "batch", "most"), [(3, 64, 3), (64, 5, 5), (None, 7, 7)])
def test_a_walk_takes_no_more_states_at_once_than_the_stepper_wants(max_states, batch, most):
    tree = PrefixTree.of(ABC.words(random_words(1, 150)))
    reader = Reader()
    reader.max_states = max_states
    for _ in walk(reader, tree, np.array([[0.0]]), batch=batch):
        pass
    assert max(reader.stepped) == most
    assert sum(reader.stepped) == len(tree) - 1


def test_pieces_of_a_wide_walk_are_as_large_as_they_may_be():
    tree = PrefixTree.of(ABC.words(random_words(2, 60)))
    reader = Reader()
    for _ in walk(reader, tree, np.zeros((5, 1)), width=5, batch=16):
        pass
    assert max(reader.stepped) == 15


def test_keys_are_sorted_only_where_a_table_of_all_would_be_large():
    keys = np.array([5, 3, 5])
    for n_keys in (6, 1024 + 32 * 3, 1025 + 32 * 3, 2**60):  # no table has so many entries
        distinct, which = distinct_keys(keys, n_keys)
        assert distinct.tolist() == [3, 5]
        assert which.tolist() == [1, 0, 1]
