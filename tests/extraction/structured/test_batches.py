import numpy as np
import pytest

from seqray.automata.tree_batches import Corpus
from seqray.automata.words import Alphabet
from seqray.extraction.structured.batches import MAX_COPIED_NUMBERS, GroupedCorpus, Runs
from structured_fits import random_layout, random_words

CHOSEN = np.arange(5, 30)


@pytest.fixture(params=enumerate([0.5, 0.7, 0.9, 0.0, 1.0]))
def grouped(request):
    seed, remembered = request.param
    words = random_words(seed=seed, n_symbols=2 + seed % 2)
    layout = random_layout(seed, words=words, n_classes=1 + seed % 3, remembered=remembered)
    return GroupedCorpus(layout, Corpus(words))


def test_a_batch_has_every_node_of_its_words_once_with_their_visits(grouped):
    batch, plain = grouped.batch(CHOSEN), grouped.corpus.batch(CHOSEN)
    order = np.argsort(batch.nodes)
    np.testing.assert_array_equal(batch.nodes[order], plain.nodes)
    visits = plain.counts.sum(axis=1) / plain.n_letters
    np.testing.assert_allclose(batch.visits[order, 0], visits, rtol=1e-6)
    assert batch.visits.sum() == pytest.approx(1)


def test_parents_come_before_their_children(grouped):
    batch, tree = grouped.batch(CHOSEN), grouped.corpus.tree
    assert batch.parents[0] == batch.nodes[0] == 0
    assert (batch.parents[1:] < np.arange(1, len(batch.nodes))).all()
    np.testing.assert_array_equal(batch.nodes[batch.parents], tree.parent[batch.nodes])


def test_steps_are_the_group_and_the_symbol_that_lead_to_a_node(grouped):
    batch, tree, layout = grouped.batch(CHOSEN), grouped.corpus.tree, grouped.layout
    groups = layout.groups(tree)
    np.testing.assert_array_equal(grouped.groups, groups)
    np.testing.assert_array_equal(batch.contexts, groups[batch.nodes] % len(layout.contexts))
    group, symbol = np.divmod(grouped.table.steps[batch.steps[1:]], layout.n_symbols)
    np.testing.assert_array_equal(group, groups[tree.parent[batch.nodes[1:]]])
    np.testing.assert_array_equal(symbol, tree.symbol[batch.nodes[1:]])


def test_levels_cover_all_nodes_and_their_runs_all_of_a_level(grouped):
    batch, tree, layout = grouped.batch(CHOSEN), grouped.corpus.tree, grouped.layout
    contexts = layout.contexts.of_nodes(tree)
    pair_of_node = layout.pair_of[contexts[tree.parent], tree.symbol][batch.nodes]
    end = 1
    for depth, level in enumerate(batch.levels, 1):
        assert level.nodes.start == end
        end = level.nodes.stop
        here = batch.nodes[level.nodes]
        assert set(tree.depth[here].tolist()) == {depth}
        pairs = [-1] * level.n_forgetful + level.few.tolist()
        for pair, first, last in level.runs:
            assert first == len(pairs)
            pairs += [pair] * (last - first)
        assert pairs == pair_of_node[level.nodes].tolist()
        assert set(tree.depth[batch.nodes[level.above]].tolist()) == {depth - 1}
        above = range(level.above.start, level.above.stop)
        is_child = np.equal.outer(above, batch.parents[level.nodes])
        np.testing.assert_array_equal(level.over_children.toarray(), is_child)
    assert end == len(batch.nodes)


def test_runs_cover_the_nodes_that_they_are_for(grouped):
    batch, tree, layout = grouped.batch(CHOSEN), grouped.corpus.tree, grouped.layout
    n, groups = len(batch.nodes), grouped.groups[batch.nodes]
    pairs = layout.pair_of[batch.contexts[batch.parents], tree.symbol[batch.nodes]]
    pairs[0] = -2
    for runs, keys, nodes in (
        (batch.by_group, groups, range(n)),
        (batch.by_pair, pairs, np.flatnonzero(pairs >= 0)),
    ):
        assert len(set(runs.keys.tolist())) == len(runs.keys) == len(list(runs.each()))
        for key, some in runs.each():
            assert set(keys[runs.nodes[some]].tolist()) == {key}
        assert sorted(runs.nodes.tolist()) == list(nodes)


def test_steps_and_entries_are_summed_over_the_nodes_that_they_are_for(grouped):
    batch, tree, layout = grouped.batch(CHOSEN), grouped.corpus.tree, grouped.layout
    pairs = layout.pair_of[batch.contexts[batch.parents], tree.symbol[batch.nodes]]
    is_inner = np.arange(len(batch.nodes)) > 0
    for summing, keys, nodes, n_keys in (
        (batch.over_steps, batch.steps, is_inner, len(grouped.table.steps)),
        (batch.over_entries, batch.contexts, is_inner & (pairs < 0), len(layout.contexts)),
    ):
        is_summed = np.equal.outer(np.arange(n_keys), keys) & nodes
        np.testing.assert_array_equal(summing.toarray(), is_summed)


def test_a_pair_has_a_run_of_its_own_where_it_leads_to_many_nodes_of_a_level():
    words = random_words(5000, max_length=9)
    layout = random_layout(words=words, remembered=0.7, max_size=40)
    min_run = max(2, MAX_COPIED_NUMBERS // layout.max_size**2)
    kinds = set()
    for level in GroupedCorpus(layout, Corpus(words)).batch(np.arange(5000)).levels:
        _, counts = np.unique(level.few, return_counts=True)
        assert (counts < min_run).all()
        assert all(last - first >= min_run for _, first, last in level.runs)
        kinds |= {bool(len(level.few)), bool(level.runs)}
    assert min_run > 1
    assert kinds == {True, False}


def test_the_columns_of_a_step_are_the_emissions_of_its_symbol(grouped):
    layout, table = grouped.layout, grouped.table
    emission = np.random.default_rng(0).random((layout.n_rows, layout.n_outcomes))
    found = np.append(emission.ravel(), 0)[table.columns(layout)]
    for row, step in zip(found, table.steps.tolist(), strict=True):
        group, symbol = divmod(step, layout.n_symbols)
        begin, size = layout.group_offsets[group], layout.group_sizes[group]
        np.testing.assert_array_equal(row[:size], emission[begin : begin + size, symbol])
        assert not row[size:].any()


def test_runs_hold_the_nodes_of_each_key():
    runs = Runs.by(np.array([2, 0, 2, 5, 0, 2]), np.array([0, 1, 2, 4, 5]))
    assert [(key, runs.nodes[some].tolist()) for key, some in runs.each()] == [
        (0, [1, 4]),
        (2, [0, 2, 5]),
    ]


def test_no_nodes_have_no_runs():
    assert list(Runs.by(np.arange(3), np.empty(0, np.int64)).each()) == []


def test_empty_words_alone_are_a_batch_of_the_root():
    words = Alphabet(range(2)).words([(), ()])
    grouped = GroupedCorpus(random_layout(), Corpus(words))
    batch = grouped.batch(np.arange(2))
    assert batch.nodes.tolist() == [0]
    assert batch.visits.tolist() == [[1]]
    assert batch.levels == []
    assert batch.steps[0] < len(grouped.table.steps)
