"""Long parts of words read sweep by sweep over all matrices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata import short_words
from seqray import Grouping, StructuredAutomaton
from seqray.automata import (
    structured_nodes,
    structured_parts,
    structured_scoring,
    structured_states,
)
from seqray.automata.generators import random_structured
from seqray.automata.structured_scoring import PartScorer
from seqray.automata.structured_states import StructuredSteps
from structured_cases import (
    NEAR,
    precise_log_weights,
    prefix_tree_case,
    random_case,
    structured_automata,
)


@pytest.fixture(scope="module", autouse=True)
def _no_matrix_is_stacked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structured_states, "MAX_STACKED_SIZE", 0)
        yield


def words_of(wa):
    """Return words that have long parts."""
    return wa.sample(100, seed=0).words if wa.is_probabilistic else short_words(wa, 5)


@given(structured_automata(), st.data())
def test_words_of_any_length_weigh_what_the_dense_automaton_says(wa, data):
    letters = st.integers(0, len(wa.alphabet) - 1)
    words = data.draw(st.lists(st.lists(letters, max_size=12), max_size=20))
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)


@pytest.mark.parametrize("n_numbers", [0, 40, 2**20])
def test_weights_are_the_same_with_and_without_tables(monkeypatch, n_numbers):
    for module in (structured_nodes, structured_scoring):
        monkeypatch.setattr(module, "MAX_TABLE_NUMBERS", n_numbers)
    for wa in (
        random_case(7, signed=True),
        prefix_tree_case(30),
        random_structured("ab", 3, seed=1),
    ):
        words, dense = words_of(wa), wa.to_dense()
        np.testing.assert_allclose(wa.weights(words), dense.weights(words), **NEAR)
        np.testing.assert_allclose(wa.prefix_weights(words), dense.prefix_weights(words), **NEAR)


@pytest.mark.parametrize("cost", [0, 2**40])
def test_equal_beginnings_may_be_shared_or_not(monkeypatch, cost):
    monkeypatch.setattr(structured_parts, "SHARING_COST", cost)
    wa = random_structured("ab", 3, seed=1)
    words = words_of(wa)
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), rtol=1e-12)


def test_words_in_batches_weigh_what_they_weigh_together(monkeypatch):
    wa, fresh = (random_structured("abc", 4, seed=0) for _ in range(2))
    words = words_of(wa)
    together = wa.weights(words)
    monkeypatch.setattr(structured_states, "MAX_BATCH_NUMBERS", 28)
    np.testing.assert_allclose(fresh.weights(words), together, rtol=1e-12)


def test_long_words_do_not_underflow():
    wa = random_structured("ab", 3, seed=0)
    rng = np.random.default_rng(0)
    words = [["ab"[code] for code in rng.integers(2, size=n)] for n in (2_000, 1_800, 5)]
    for mine, other in zip(wa.log_weights(words), wa.to_dense().log_weights(words), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    assert wa.weights(words[:2]).tolist() == [0, 0]


def test_a_model_that_was_far_behind_and_came_back_counts():
    likes = [np.diag([0.9, 0.1]), np.diag([0.1, 0.9])]
    matrices = {(group, code): likes[code] for group in (0, 1) for code in (0, 1)}
    wa = StructuredAutomaton(
        "ab", Grouping([[0, 1], [0, 1]], [2, 2]), [0.5, 0.5], np.full((4, 3), 1.0), np.ones(4),
        matrices,
    )  # fmt: skip
    sign, log = wa.log_weights(["a" * 400 + "b" * 400])
    assert sign[0] == 1
    assert log[0] == pytest.approx(400 * np.log(0.09), rel=1e-12)


@pytest.mark.parametrize("size", [1e-20, 1e20])
def test_words_whose_weight_leaves_the_range_of_float64_have_the_right_logarithm(size):
    matrix = size * np.array([[0.5, 0.25], [0.25, 0.5]])
    wa = StructuredAutomaton(
        "a", Grouping([[0]], [2]), [1, 1], np.ones((2, 2)), [1, 1], {(0, 0): matrix}
    )
    lengths = np.array([0, 3, 12, 14, 15, 16, 17, 40])
    sign, log = wa.log_weights(["a" * n for n in lengths.tolist()])
    assert (sign == 1).all()
    np.testing.assert_allclose(log, np.log(2) + lengths * np.log(0.75 * size), rtol=1e-12)


def test_a_word_of_weight_0_weighs_0():
    nothing = np.zeros((2, 2))
    wa = StructuredAutomaton(
        "a", Grouping([[0]], [2]), [1, 1], np.ones((2, 2)), [1, 1], {(0, 0): nothing}
    )
    assert wa.weights(["", "a" * 9, "a" * 40]).tolist() == [2, 0, 0]


@pytest.mark.parametrize("min_words", [0, 2**40])
def test_weights_are_the_same_with_large_and_small_tables(monkeypatch, min_words):
    monkeypatch.setattr(structured_scoring, "MIN_WORDS_OF_LARGE_TABLES", min_words)
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", 0)
    monkeypatch.setattr(structured_scoring, "MAX_TABLE_NUMBERS", 0)
    for wa in (random_case(7, signed=True), random_structured("ab", 3, seed=1)):
        words, dense = words_of(wa), wa.to_dense()
        np.testing.assert_allclose(wa.weights(words), dense.weights(words), **NEAR)
        np.testing.assert_allclose(wa.prefix_weights(words), dense.prefix_weights(words), **NEAR)


def test_tables_are_large_for_many_words_alone(monkeypatch):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", 2**13)
    wa = random_structured("abcdefgh", 40, seed=0)
    steps = StructuredSteps(wa.blocks)
    scorer = PartScorer(steps, wa.initial_vector)
    n_few, n_many = (len(each.nodes.groups) for each in (scorer, scorer.with_large_tables))
    most = len(wa.remembering.values) // structured_nodes.MAX_NODE_SHARE
    assert n_few < n_many
    assert n_few * 40 <= structured_nodes.MAX_NODE_NUMBERS
    assert n_many * 40 <= max(structured_nodes.MAX_NODE_NUMBERS, most)
    scorer = PartScorer(steps, wa.initial_vector)
    scorer.products(wa.sample(structured_scoring.MIN_WORDS_OF_LARGE_TABLES - 1, seed=0).words)
    assert "with_large_tables" not in vars(scorer)
    scorer.products(wa.sample(structured_scoring.MIN_WORDS_OF_LARGE_TABLES, seed=0).words)
    assert "with_large_tables" in vars(scorer)


@pytest.mark.parametrize("node_numbers", [0, 2**18])
def test_vectors_that_begin_outside_the_safe_range_have_scales(monkeypatch, node_numbers):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", node_numbers)
    matrix = np.array([[0.5, 0.25], [0.25, 0.5]])
    for initial in ([1e-150, 1e-150], [1.0, 1e-120], [1e140, 1e-140]):
        wa = StructuredAutomaton(
            "ab", Grouping([[0, 0]], [2]), initial, [[1, 1, 1]] * 2, [1, 1e-120],
            {(0, 0): matrix},
        )  # fmt: skip
        words = ["a" * n for n in range(1, 40)] + ["aab" + "a" * n for n in range(20)]
        for mine, other in zip(wa.log_weights(words), precise_log_weights(wa, words), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_what_is_read_at_a_time_is_bounded(monkeypatch):
    n = 16  # groups in a ring: no vector waits before it is back at the first one
    ring = {(group, 0): np.full((3, 3), 0.3) for group in range(n)}
    wa = StructuredAutomaton(
        "a", Grouping([[(group + 1) % n] for group in range(n)], [3] * n), np.ones(3),
        np.ones((3 * n, 2)), np.ones(3 * n), ring,
    )  # fmt: skip
    monkeypatch.setattr(structured_states, "MAX_BATCH_NUMBERS", 3 * 100)
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", 0)
    scorer = PartScorer(StructuredSteps(wa.blocks), wa.initial_vector)
    words = wa.alphabet.words(["a" * length for length in range(1, 60)])
    parts = scorer.cuts.parts(words)
    readers, pieces = scorer.part_readers(parts), list(scorer.pieces(parts))
    assert np.concatenate(pieces).tolist() == list(range(len(parts.starts)))
    for some in pieces:
        _, trees = scorer.part_trees(parts, readers, some)
        assert scorer.sweeps.schedule(trees).n_rows <= 2 * (100 + max(words.lengths))
    expected = 3 * 0.9**words.lengths
    np.testing.assert_allclose(wa.weights(words), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def schedule():
    """The schedule of 500 words over six symbols."""
    wa = random_structured("abcdef", 3, seed=0)
    scorer = PartScorer(StructuredSteps(wa.blocks), wa.initial_vector)
    parts = scorer.cuts.parts(wa.sample(500, seed=0).words)
    _, trees = scorer.part_trees(parts, scorer.part_readers(parts), np.arange(len(parts.starts)))
    return scorer.sweeps.schedule(trees)


def test_each_vector_is_computed_after_its_parent(schedule):
    trees = schedule.trees
    when = np.empty_like(schedule.order)
    when[schedule.order] = np.arange(len(when))
    nodes = np.arange(schedule.roots.stop, len(when))
    parents = trees.parents[nodes]
    assert (when[parents] < when[nodes]).all()
    later = schedule.sweep_of_node[nodes] - schedule.sweep_of_node[parents]
    assert set(later.tolist()) == {0, 1}
    assert (schedule.places[parents] < schedule.places[nodes])[later == 0].all()
    assert not schedule.is_due[parents][later == 0].any()


@pytest.mark.parametrize("max_age", [1, 2, 3, 5])
def test_no_vector_makes_more_steps_than_it_may_before_it_is_brought_back(schedule, max_age):
    schedule = replace(schedule, max_age=max_age)
    ages = np.zeros(len(schedule.order), int)
    for node in range(schedule.roots.stop, len(ages)):
        parent = schedule.trees.parents[node]
        ages[node] = 1 if schedule.is_due[parent] else ages[parent] + 1
    assert ages.max() == max_age
    parents = schedule.trees.parents[schedule.roots.stop :]
    waits = schedule.sweep_of_node[schedule.roots.stop :] > schedule.sweep_of_node[parents]
    assert waits[schedule.is_due[parents]].all()


def test_a_row_is_used_again_two_sweeps_later_at_the_earliest(schedule):
    rows, sweeps = schedule.rows, schedule.sweep_of_node
    assert rows.max() < schedule.n_rows
    for sweep in range(len(schedule.sizes) - 1):
        here = rows[(sweeps == sweep) | (sweeps == sweep + 1)]
        assert len(np.unique(here)) == len(here)


def test_the_runs_of_a_sweep_are_its_nodes_by_matrix(schedule):
    places = schedule.places[schedule.order]
    for sweep in list(schedule.sweeps())[1:]:
        runs = [run for batch in sweep.batches for run in batch]
        assert [begin for begin, _, _ in runs] + [sweep.end] == (
            [sweep.begin] + [end for _, end, _ in runs]
        )
        run_places = [place for _, _, place in runs]
        assert np.repeat(run_places, [end - begin for begin, end, _ in runs]).tolist() == (
            places[sweep.begin : sweep.end].tolist()
        )
        assert (np.diff(run_places) > 0).all()


def test_no_vector_of_a_batch_is_computed_from_another_one(schedule):
    order, parents = schedule.order, schedule.trees.parents
    for sweep in schedule.sweeps():
        for batch in sweep.batches:
            nodes = order[batch[0][0] : batch[-1][1]]
            assert not np.isin(parents[nodes], nodes).any()


def test_what_is_read_waits_only_where_a_group_has_no_lower_neighbour(schedule):
    trees = schedule.trees
    nodes = np.arange(trees.levels[0].stop, len(trees.parents))
    parents = trees.parents[nodes]
    waits = schedule.sweep_of_node[nodes] > schedule.sweep_of_node[parents]
    # A matrix leads from the group of one symbol to that of the next one, six from each group.
    before, here = trees.numbers[parents] // 6, trees.numbers[nodes] // 6
    after = trees.numbers[nodes] % 6
    is_repeated = (before == here) & (here == after)
    expected = (before >= here) & (after > here) | is_repeated
    assert (waits == expected)[~schedule.is_due[parents]].all()
    assert 0.2 < waits.mean() < 0.6
