import numpy as np
import pytest

from seqray.automata.tree import PrefixTree
from seqray.extraction.structured.layout import FitLayout, remembering_pairs
from structured_fits import contexts_of, random_layout, random_words

LAYOUTS = [
    random_layout(seed, n_classes=1 + seed % 3, leaks=seed % 2 > 0, remembered=remembered)
    for seed, remembered in enumerate([0.0, 0.3, 0.6, 0.9, 1.0])
]


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


def test_a_context_has_the_first_of_all_places_for_states(layout):
    for has_state, size in zip(layout.has_state, layout.sizes.tolist(), strict=True):
        assert has_state.tolist() == [True] * size + [False] * (layout.max_size - size)


def test_every_pair_that_remembers_has_a_matrix_of_the_right_shape(layout):
    assert len(layout.pairs) == layout.remembers.sum()
    np.testing.assert_array_equal(layout.pair_of >= 0, layout.remembers)
    for pair, (context, symbol, target) in enumerate(layout.pairs.tolist()):
        assert layout.pair_of[context, symbol] == pair
        assert layout.contexts.next_context[context, symbol] == target
        shape = layout.sizes[context], layout.sizes[target]
        moves = np.arange(len(layout.pairs) * layout.max_size**2)
        moves = moves.reshape(-1, layout.max_size, layout.max_size)
        matrix = layout.matrix(moves, pair)
        assert matrix.shape == shape
        assert matrix[0, 0] == moves[pair, 0, 0]


def test_groups_tile_the_rows_of_emissions(layout):
    n_contexts = len(layout.contexts)
    rows = []
    for group in range(layout.n_classes * n_contexts):
        begin, end = layout.group_offsets[group : group + 2]
        assert layout.rows_of(group) == slice(begin, end)
        assert end - begin == layout.group_sizes[group] == layout.sizes[group % n_contexts]
        rows += range(begin, end)
    assert rows == list(range(layout.n_rows))
    assert layout.n_rows == layout.n_classes * layout.offsets[-1]
    assert layout.max_size == max(layout.sizes)


def test_a_group_is_a_context_at_a_position(layout):
    tree = PrefixTree.of(random_words(seed=7, max_length=8))
    contexts = layout.contexts.of_nodes(tree)
    for node, word in enumerate(tree.words()):
        position_class = sum(len(word) >= begin for begin in layout.position_begins.tolist())
        assert layout.groups(tree)[node] == position_class * len(layout.contexts) + contexts[node]


def test_sizes_of_the_alphabet_and_of_the_classes():
    words = random_words(n_symbols=3)
    layout = random_layout(words=words, n_classes=3, leaks=True)
    assert (layout.n_symbols, layout.n_classes, layout.n_outcomes) == (3, 3, 5)


def test_a_pair_remembers_where_it_is_frequent_and_leads_to_several_states():
    contexts = contexts_of(random_words())
    sizes = np.ones(len(contexts), np.int64)
    sizes[contexts.next_context[0, 0]] = 2
    flow = np.zeros(contexts.next_context.shape)
    flow[0] = 5
    flow[1, 0] = 4
    remembers = remembering_pairs(contexts, sizes, flow, 5)
    assert np.argwhere(remembers).tolist() == [[0, 0]]


def test_contexts_of_one_state_need_no_matrix():
    contexts = contexts_of(random_words())
    sizes = np.ones(len(contexts), np.int64)
    remembers = remembering_pairs(contexts, sizes, np.full((len(contexts), 2), 99.0), 1)
    layout = FitLayout(contexts, np.empty(0, np.int64), sizes, remembers, 3)
    assert layout.pairs.shape == (0, 3)
