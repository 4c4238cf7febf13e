"""Weights of many words by a structured automaton."""

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
from structured_cases import (
    NEAR,
    precise_log_weights,
    prefix_tree_case,
    random_case,
    structured_automata,
)


@given(structured_automata(), st.data())
def test_words_of_any_length_weigh_what_the_dense_automaton_says(wa, data):
    letters = st.integers(0, len(wa.alphabet) - 1)
    words = data.draw(st.lists(st.lists(letters, max_size=12), max_size=20))
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)


def test_no_word_has_no_weight():
    assert random_structured("ab", 2, seed=0).weights([]).shape == (0,)


def test_words_in_batches_weigh_what_they_weigh_together(monkeypatch):
    wa = random_structured("abc", 4, seed=0)
    words = wa.sample(100, seed=0).words
    together = wa.weights(words)
    monkeypatch.setattr(structured_states, "MAX_BATCH_NUMBERS", 28)
    fresh = random_structured("abc", 4, seed=0)
    assert fresh.max_states == 7
    np.testing.assert_allclose(fresh.weights(words), together, rtol=1e-12)
    np.testing.assert_allclose(fresh.next_symbol(words), wa.next_symbol(words), rtol=1e-9)


@pytest.mark.parametrize("n_numbers", [0, 40, 200, 2**20])
def test_weights_that_are_looked_up_are_those_that_are_not(monkeypatch, n_numbers):
    for module in (structured_nodes, structured_scoring):
        monkeypatch.setattr(module, "MAX_TABLE_NUMBERS", n_numbers)
    for wa in (
        random_case(7, signed=True),
        prefix_tree_case(30),
        random_structured("ab", 3, seed=1),
    ):
        words = wa.sample(200, seed=0).words if wa.is_probabilistic else short_words(wa, 5)
        dense = wa.to_dense()
        np.testing.assert_allclose(wa.weights(words), dense.weights(words), **NEAR)
        np.testing.assert_allclose(wa.prefix_weights(words), dense.prefix_weights(words), **NEAR)


@pytest.mark.parametrize("n_numbers", [0, 72, 104, 216, 2**18])
def test_long_parts_weigh_the_same_from_roots_from_nodes_and_from_leaves(monkeypatch, n_numbers):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", n_numbers)
    wa = random_structured("abc", 4, seed=0)
    words = [*wa.sample(500, seed=0).words, "", "a", "ab", "abc"]
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), rtol=1e-12)
    assert wa.weights(words[-4:]).tolist() == pytest.approx(wa.weights(words)[-4:], rel=1e-12)


@pytest.mark.parametrize("cost", [0, 2**40])
def test_equal_prefixes_of_parts_may_be_shared_or_not(monkeypatch, cost):
    monkeypatch.setattr(structured_parts, "SHARING_COST", cost)
    wa = random_structured("ab", 3, seed=1)
    words = wa.sample(500, seed=0).words
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), rtol=1e-12)


@pytest.mark.parametrize("size", [4, 40])
def test_a_prefix_tree_of_groups_is_what_its_dense_automaton_is(size):
    wa = prefix_tree_case(50, size=size)
    dense, words = wa.to_dense(), wa.sample(300, seed=0).words
    np.testing.assert_allclose(wa.weights(words), dense.weights(words), rtol=1e-12)
    np.testing.assert_allclose(wa.next_symbol(words), dense.next_symbol(words), rtol=1e-9)
    assert dense.sample(300, seed=0).words == words


def test_a_large_prefix_tree_of_groups_is_read_as_letter_by_letter():
    wa = prefix_tree_case(20_000, n_contexts=20, n_symbols=6)
    words = wa.sample(500, seed=0).words
    weights = []
    for word in words:
        state, group = wa.initial_vector, wa.start_group
        for code in wa.alphabet.encode(word):
            state, group = state @ wa.blocks.block(group, code), wa.next_group[group, code]
        weights.append(state @ wa.final[wa.grouping.states(group)])
    np.testing.assert_allclose(wa.weights(words), weights, rtol=1e-12)
    assert len(wa.remembering) > 50_000


def test_long_words_do_not_underflow():
    wa = random_structured("ab", 3, seed=0)
    rng = np.random.default_rng(0)
    words = [rng.integers(2, size=n).tolist() for n in (2_000, 1_800, 5)]
    words = [["ab"[code] for code in word] for word in words]
    for mine, other in zip(wa.log_weights(words), wa.to_dense().log_weights(words), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    assert wa.weights(words[:2]).tolist() == [0, 0]
    assert wa.log_weights(words)[1][0] < -2_000
    np.testing.assert_allclose(wa.next_symbol(words).sum(axis=1), 1)


@pytest.mark.parametrize("n", [400, 3000])
def test_a_model_that_was_far_behind_and_came_back_counts(n):
    likes = [np.diag([0.9, 0.1]), np.diag([0.1, 0.9])]
    matrices = {(group, code): likes[code] for group in (0, 1) for code in (0, 1)}
    wa = StructuredAutomaton(
        "ab", Grouping([[0, 1], [0, 1]], [2, 2]), [0.5, 0.5], np.full((4, 3), 1.0), np.ones(4),
        matrices,
    )  # fmt: skip
    sign, log = wa.log_weights(["a" * n + "b" * n])
    assert sign[0] == 1
    assert log[0] == pytest.approx(n * np.log(0.09), rel=1e-12)


def test_a_forgetful_automaton_with_coordinates_of_all_sizes_is_precise():
    grouping = Grouping.by_last_symbol([2])
    emission = np.array([[1e-60, 1], [1e-100, 1], [1e100, 1]])
    wa = StructuredAutomaton("a", grouping, [1], emission, [1, 1, 1e-120])
    sign, log = wa.log_weights(["a" * 50])
    assert sign[0] == 1
    assert log[0] == pytest.approx(np.log(1e-60) + 49 * np.log(1e-20), rel=1e-12)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_products_of_many_parts_neither_overflow_nor_underflow(size):
    emission = [[-size, 0.5]]
    wa = StructuredAutomaton("a", Grouping([[0]], [1]), [1], emission, [1])
    sign, log = wa.log_weights(["a" * n for n in (0, 3, 50, 2001)])
    assert sign.tolist() == [1, -1, 1, -1]
    expected = np.array([0, 3, 50, 2001]) * np.log(size) + np.log(0.5)
    np.testing.assert_allclose(log, expected, rtol=1e-12)


def test_weights_above_1_and_words_far_below_are_right_in_one_batch():
    wa = StructuredAutomaton("a", Grouping([[0]], [1]), [1], [[1e-9, 3.0]], [1])
    np.testing.assert_allclose(wa.weights(["", "a" * 20, "a" * 50]), [3, 3e-180, 0], rtol=1e-12)


def test_a_part_of_weight_0_makes_the_word_weigh_0():
    wa = StructuredAutomaton("a", Grouping([[0]], [1]), [1], [[0, 1e-300]], [1])
    assert wa.weights(["", "a", "a" * 50]).tolist() == [1e-300, 0, 0]
    assert wa.log_weights(["a" * 50])[1].tolist() == [-np.inf]


@pytest.mark.parametrize("size", [3, 33])
@pytest.mark.parametrize(("step", "end"), [(1e-5, 1e-280), (1e5, 1e250), (1e-14, 1e200)])
def test_end_weights_far_from_1_leave_logarithms_right(size, step, end):
    wa = StructuredAutomaton(
        "ab", Grouping([[0, 0]], [size]), np.ones(size), [[0, 1 / size, end]] * size,
        np.ones(size), {(0, 0): step * np.eye(size)},
    )  # fmt: skip
    words = ["b" * 20 + "a" * n for n in range(14)] + ["a" * n for n in range(14)]
    for mine, other in zip(wa.log_weights(words), precise_log_weights(wa, words), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_a_weight_of_0_times_one_that_overflows_is_0():
    wa = StructuredAutomaton("ab", Grouping([[0, 0]], [1]), [1], [[1e200, 0, 1]], [1], {})
    assert wa.weights(["aab"]).tolist() == [0]
