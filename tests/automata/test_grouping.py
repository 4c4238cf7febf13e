"""Groups of states, and the matrices between them."""

import numpy as np
import pytest

from seqray import ArgumentError, Grouping, PairMatrices
from seqray.automata.grouping import Remembering

GROUPING = Grouping([[1, 0], [1, 0]], [1, 2])


def test_states_of_a_group_are_neighbours():
    grouping = Grouping([[1], [2], [0]], [2, 1, 3], start=2)
    assert grouping.offsets.tolist() == [0, 2, 3, 6]
    assert grouping.group_of_state.tolist() == [0, 0, 1, 2, 2, 2]
    assert (grouping.n_groups, grouping.n_symbols, grouping.n_states) == (3, 1, 6)
    assert grouping.states(2) == slice(3, 6)
    assert grouping.max_size == 3
    assert grouping.path([0, 0]) == [2, 0, 1]


def test_the_last_symbol_can_choose_the_group():
    grouping = Grouping.by_last_symbol([4, 5, 6], start_size=2)
    assert grouping.sizes.tolist() == [2, 4, 5, 6]
    assert grouping.path([2, 0, 1]) == [0, 3, 1, 2]


def test_arrays_are_copies_that_cannot_be_changed():
    table = np.zeros((1, 1), int)
    grouping = Grouping(table, [1])
    table[0, 0] = 7
    assert grouping.next_group[0, 0] == 0
    for array in (grouping.next_group, grouping.sizes, grouping.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        grouping.start = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1]], [1]), r"next_group: expected 0 … 0, got 1"),
        (([[-1]], [1]), r"next_group: expected 0 … 0, got -1"),
        (([[0.5]], [1]), "next_group: expected whole numbers, got dtype float64"),
        (([0], [1]), "next_group: expected 2 dimensions, got 1"),
        (([[0], [0, 1]], [1]), "next_group: expected rows of equal lengths"),
        (([[0]], [0]), "group_sizes: expected 1 or more, got 0 at group 0"),
        (([[0]], [1, 1]), "group_sizes: expected one size for each of 1 groups.* got 2"),
        ((np.zeros((0, 2), int), []), "group_sizes: expected one size for each of 0 groups"),
        (([[0]], [2**40]), "group_sizes: expected at most 2147483647, got 1099511627776"),
        (([[0]], [1], 1), "start_group: expected 0 … 0, got 1"),
        (([[0]], [1], 0.5), "start_group: expected a whole number"),
    ],
)
def test_a_wrong_grouping_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Grouping(*arguments)


def test_matrices_are_stored_by_group_and_symbol():
    one, two = [[1, 2], [3, 4]], [[5, 6]]
    kept = Remembering(GROUPING, {(1, 0): one, (0, 0): two})
    assert kept.groups.tolist() == [0, 1]
    assert kept.symbols.tolist() == [0, 0]
    assert kept.values.tolist() == [5, 6, 1, 2, 3, 4]
    assert kept.shapes.tolist() == [[1, 2], [2, 2]]
    assert kept.index.tolist() == [[0, -1], [1, -1]]
    assert [each.tolist() for each in kept.all] == [two, one]
    assert len(kept) == 2


def test_flat_matrices_are_the_same_as_single_ones():
    kept = Remembering(GROUPING, {(1, 0): [[1, 2], [3, 4]], (0, 0): [[5, 6]]})
    flat = Remembering(GROUPING, PairMatrices(kept.groups, kept.symbols, kept.values))
    for name, array in kept.arrays.items():
        assert np.array_equal(array, flat.arrays[name])


def test_there_may_be_no_matrix():
    kept = Remembering(GROUPING, {})
    assert len(kept) == 0
    assert kept.all == []


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ({(0, 0): [[1]]}, r"matrices\[0, 0\]: expected shape \(1, 2\), got \(1, 1\)"),
        ({(2, 0): [[1]]}, "matrices: group: expected 0 … 1, got 2"),
        ({(0, 2): [[1]]}, "matrices: symbol: expected 0 … 1, got 2"),
        (PairMatrices([0, 0], [0, 0], [1, 2, 3, 4]), r"pairs that rise.* got \(0, 0\) after"),
        (PairMatrices([1, 0], [0, 0], [1] * 6), r"got \(0, 0\) after \(1, 0\)"),
        (PairMatrices([0], [0, 1], [1, 2]), "pair_symbols: expected one for each of 1 pairs"),
        (PairMatrices([0], [0], [1]), r"values: expected shape \(2\), got \(1,\)"),
        (PairMatrices([0], [0], [1, np.nan]), "values: expected finite numbers"),
        (PairMatrices([2], [0], [1]), "pair_groups: expected 0 … 1, got 2"),
        (PairMatrices([0], [0.5], [1]), "pair_symbols: expected whole numbers"),
    ],
)
def test_wrong_matrices_are_refused(matrices, message):
    with pytest.raises(ArgumentError, match=message):
        Remembering(GROUPING, matrices)
