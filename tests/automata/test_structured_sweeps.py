"""Parts of words read from both ends, sweep by sweep over all matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata import short_words
from seqray import Grouping, StructuredAutomaton
from seqray.automata import (
    structured_nodes,
    structured_scoring,
    structured_states,
    structured_sweeps,
)
from seqray.automata.generators import random_structured
from seqray.automata.structured_nodes import part_nodes
from seqray.automata.structured_parts import WordCuts
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.structured_sweeps import HalfReader, Halves, SweepSchedule
from structured_cases import NEAR, prefix_tree_case, random_case, structured_automata


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
def test_equal_beginnings_of_halves_may_be_shared_or_not(monkeypatch, cost):
    monkeypatch.setattr(structured_sweeps, "SHARING_COST", cost)
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
def test_halves_whose_product_leaves_the_range_of_float64_are_right(size):
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


@pytest.fixture(scope="module")
def schedule():
    """The schedule of 200 words of 12 letters, read in both directions."""
    wa = random_structured("abcd", 3, seed=0)
    steps = StructuredSteps(wa.blocks)
    cuts = WordCuts(steps, part_nodes(steps, wa.initial_vector))
    path = np.random.default_rng(0).integers(4, size=(200, 13))
    cells = ((path[:, :-1] + 1) * cuts.n_columns + path[:, 1:]).ravel()
    starts = np.arange(200) * 12
    halves = Halves(
        np.concatenate([path[:, 0], path[:, -1]]),
        np.concatenate([starts, starts + 11]),
        np.repeat([1, -1], 200),
        np.full(400, 12),
    )
    return SweepSchedule(HalfReader(cuts).trees(cells, halves, 4), max_age=8)


def test_each_vector_is_computed_after_its_parent(schedule):
    trees = schedule.trees
    when = np.empty_like(schedule.order)
    when[schedule.order] = np.arange(len(when))
    nodes = np.arange(4, len(when))
    parents = trees.parents[nodes]
    assert (when[parents] < when[nodes]).all()
    later = schedule.sweep_of_node[nodes] - schedule.sweep_of_node[parents]
    assert set(later.tolist()) == {0, 1}
    assert (trees.numbers[parents] < trees.numbers[nodes])[later == 0].all()
    assert not schedule.is_due[parents][later == 0].any()


def test_a_row_is_used_again_two_sweeps_later_at_the_earliest(schedule):
    rows, sweeps = schedule.rows, schedule.sweep_of_node
    assert rows.max() < schedule.n_rows
    for sweep in range(len(schedule.sizes) - 1):
        here = rows[(sweeps == sweep) | (sweeps == sweep + 1)]
        assert len(np.unique(here)) == len(here)


def test_the_runs_of_a_sweep_are_its_nodes_by_matrix(schedule):
    numbers = schedule.trees.numbers[schedule.order]
    for sweep in list(schedule.sweeps())[1:]:
        assert sweep.runs[0] == sweep.begin
        assert sweep.runs[-1] == sweep.end
        assert np.repeat(sweep.numbers, np.diff(sweep.runs)).tolist() == (
            numbers[sweep.begin : sweep.end].tolist()
        )
        assert (np.diff(sweep.numbers) > 0).all()


def test_there_are_fewer_sweeps_than_levels(schedule):
    assert len(schedule.sizes) - 1 < len(schedule.trees.levels)
