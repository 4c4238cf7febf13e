import numpy as np
import pytest

from conditional_boxes import machine
from seqray.automata.generators import random_structured
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.structured.spectral import (
    GroupFactors,
    low_rank_share,
    spectral_by_last_symbol,
)
from seqray.fidelity.reference import Reference


def blocks_of(box, n_contexts=150, n_columns=60, n_words=400):
    words = Reference.draw(box, n_words, seed=1, max_length=30)
    return fill_conditional(box, words, n_contexts=n_contexts, n_columns=n_columns)


def factors_of(box, **sizes):
    return GroupFactors(blocks_of(box, **sizes))


def held_out(box):
    return Reference.draw(box, 300, seed=2, max_length=30)


@pytest.mark.parametrize("seed", range(3))
def test_a_box_whose_states_know_the_last_symbol_comes_back(seed):
    box = random_structured("abc", 4, seed=seed)
    automaton = spectral_by_last_symbol(factors_of(box), 1e-3, 50)
    assert automaton.n_states <= box.n_states
    fidelity = held_out(box).compare(automaton)
    assert fidelity["kl_per_symbol"] < 1e-4
    assert fidelity["ndcg5"] > 0.9999


def test_a_dense_machine_comes_back_too():
    box = machine(n_states=3, n_symbols=2)
    automaton = spectral_by_last_symbol(factors_of(box), 1e-4, 50)
    assert automaton.group_sizes.max() <= 3
    assert held_out(box).compare(automaton)["kl_per_symbol"] < 1e-4


def test_the_weights_of_all_words_sum_to_one():
    automaton = spectral_by_last_symbol(factors_of(random_structured("abc", 4, seed=0)), 1e-3, 50)
    assert automaton.total == pytest.approx(1)
    np.testing.assert_allclose(automaton.prefix_final, 1, rtol=1e-6)


def test_no_group_is_larger_than_the_limit():
    automaton = spectral_by_last_symbol(factors_of(random_structured("abc", 9, seed=0)), 1e-6, 5)
    assert automaton.group_sizes.max() == 5


def test_a_larger_tolerance_leaves_fewer_states():
    blocks = blocks_of(random_structured("abc", 9, seed=0))
    few, many = (
        spectral_by_last_symbol(GroupFactors(blocks), each, 50).n_states for each in (0.1, 1e-3)
    )
    assert few < many


def test_factors_that_are_cut_several_times_give_what_new_ones_do():
    factors = factors_of(random_structured("abc", 9, seed=0))
    for tolerance in (0.1, 1e-3, 1e-5):
        shared, fresh = (
            spectral_by_last_symbol(each, tolerance, 50)
            for each in (factors, GroupFactors(factors.blocks))
        )
        np.testing.assert_array_equal(shared.emission, fresh.emission)
        np.testing.assert_array_equal(shared.group_sizes, fresh.group_sizes)


def test_the_factors_of_each_symbol_are_the_svd_of_its_contexts():
    factors = factors_of(random_structured("abc", 4, seed=0))
    blocks = factors.blocks
    words = list(blocks.rows.words(blocks.contexts))
    for symbol, members, (sizes, right) in zip(
        "abc", factors.members, factors.by_symbol, strict=True
    ):
        assert members.tolist() == [i for i, word in enumerate(words) if word[-1:] == (symbol,)]
        features = blocks.features[blocks.contexts[members]]
        gram = (features.T * blocks.visits[members]) @ features
        np.testing.assert_allclose(right.T * sizes**2 @ right, gram, atol=1e-9 * sizes[0] ** 2)


def test_a_symbol_that_no_context_ends_with_has_one_state():
    box = machine(n_states=2, n_symbols=2)
    blocks = blocks_of(box, n_contexts=1)
    automaton = spectral_by_last_symbol(GroupFactors(blocks), 1e-3, 50)
    assert automaton.group_sizes.tolist() == [1, 1, 1]
    np.testing.assert_allclose(automaton.next_symbol([()]), box.next_symbol([()]), atol=1e-9)


def test_contexts_of_a_box_of_few_states_have_a_clear_rank():
    assert low_rank_share(factors_of(random_structured("abc", 3, seed=0)), 1e-3) > 0.8


def test_too_few_contexts_show_no_clear_rank():
    blocks = blocks_of(random_structured("abc", 9, seed=0), n_contexts=12)
    assert low_rank_share(GroupFactors(blocks), 1e-3) == 0


def test_symbols_that_no_context_ends_with_take_no_matrices():
    blocks = blocks_of(random_structured(range(40), 2, seed=0), n_contexts=20)
    automaton = spectral_by_last_symbol(GroupFactors(blocks), 1e-3, 50)
    last = blocks.rows.symbol[blocks.contexts]
    unknown = 1 + np.setdiff1d(np.arange(40), last)
    assert len(unknown) > 10
    assert (automaton.group_sizes[unknown] == 1).all()
    assert not np.isin(automaton.remembering.groups, unknown).any()
