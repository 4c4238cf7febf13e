"""Groups of states, and the matrices between them."""

import numpy as np
import pytest

from automata import short_words
from seqray import ArgumentError, Grouping, PairMatrices, StructuredAutomaton, WeightedAutomaton
from seqray.automata import grouping as grouping_module
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
    assert [each.tolist() for each in (kept[0], kept[1])] == [two, one]
    assert len(kept) == 2


@pytest.mark.parametrize("n_numbers", [1, 9, 2**17])
def test_batches_hold_each_matrix_once(monkeypatch, n_numbers):
    monkeypatch.setattr(grouping_module, "BATCH_NUMBERS", n_numbers)
    remembering = Remembering(SHARED_GROUPING, shared())
    pairs = np.array([4, 1, 0, 3])
    places = []
    for some, matrices in remembering.batches(pairs):
        assert matrices[0].size * len(matrices) <= max(n_numbers, matrices[0].size)
        for place, matrix in zip(some.tolist(), matrices, strict=True):
            np.testing.assert_array_equal(matrix, remembering[pairs[place]])
            places.append(place)
    assert sorted(places) == [0, 1, 2, 3]


def test_flat_matrices_are_the_same_as_single_ones():
    kept = Remembering(GROUPING, {(1, 0): [[1, 2], [3, 4]], (0, 0): [[5, 6]]})
    flat = Remembering(GROUPING, PairMatrices(kept.groups, kept.symbols, kept.values))
    for name, array in kept.arrays.items():
        assert np.array_equal(array, flat.arrays[name])


def test_there_may_be_no_matrix():
    kept = Remembering(GROUPING, {})
    assert len(kept) == 0
    assert list(kept.batches()) == []


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


SHARED_GROUPING = Grouping([[1, 2], [1, 2], [1, 2]], [2, 2, 3])
PAIRS = [0, 0, 1, 1, 2], [0, 1, 0, 1, 0]  # group 1 shares with group 0
NUMBERS = [0, 1, 0, 1, 2]
RNG = np.random.default_rng(0)
VALUES = RNG.random(4 + 6 + 6) / 9


def automaton(matrices):
    rng = np.random.default_rng(1)
    return StructuredAutomaton(
        "ab", SHARED_GROUPING, [0.5, 0.5], rng.random((7, 3)) / 4, rng.random(7) / 4, matrices
    )


def shared():
    return PairMatrices(*PAIRS, VALUES, NUMBERS)


def unshared():
    first, second, third = np.split(VALUES, [4, 10])
    return PairMatrices(*PAIRS, np.concatenate([first, second, first, second, third]))


def test_shared_matrices_give_the_same_answers_as_unshared_ones():
    one, other = automaton(shared()), automaton(unshared())
    words = short_words(one, 4)
    assert one.n_bytes < other.n_bytes
    assert (one.cost_per_symbol, one.n_states) == (other.cost_per_symbol, other.n_states)
    np.testing.assert_array_equal(one.emission, other.emission)
    np.testing.assert_array_equal(one.transitions, other.transitions)
    for dense in (other, other.to_dense()):
        np.testing.assert_allclose(one.weights(words), dense.weights(words), rtol=1e-12)
        np.testing.assert_allclose(one.next_symbol(words), dense.next_symbol(words), rtol=1e-12)
        np.testing.assert_allclose(one.prefix_final, dense.prefix_final, rtol=1e-12)
        np.testing.assert_allclose(one.spectral_radius, dense.spectral_radius, rtol=1e-9)


def test_matrices_that_are_shared_are_stored_once():
    remembering = Remembering(SHARED_GROUPING, shared())
    assert len(remembering) == 5
    assert remembering.values.tolist() == VALUES.tolist()
    for at, number in enumerate(NUMBERS):
        begin, end = [(0, 4), (4, 10), (10, 16)][number]
        shape = (3 if at == 4 else 2), (3 if number == 1 else 2)
        np.testing.assert_array_equal(remembering[at], VALUES[begin:end].reshape(shape))
    flat = np.concatenate([remembering[at].ravel() for at in range(5)])
    np.testing.assert_array_equal(remembering.values[remembering.places], flat)
    assert repr(remembering) == "Remembering(5 matrices, 16 numbers)"


@pytest.mark.parametrize("ending", ["npz", "json"])
@pytest.mark.parametrize("matrices", [shared, unshared])
def test_files_keep_the_sharing(tmp_path, ending, matrices):
    path, one = tmp_path / f"automaton.{ending}", automaton(matrices())
    one.save(path)
    again = WeightedAutomaton.load(path)
    assert type(again) is StructuredAutomaton
    assert ("pair_matrices" in again.arrays) == (matrices is shared)
    assert again.arrays.keys() == one.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)


def test_matrices_may_be_numbered_in_any_order():
    first, second, third = np.split(VALUES, [4, 10])
    values = np.concatenate([third, second, first])
    other = automaton(PairMatrices(*PAIRS, values, [2, 1, 2, 1, 0]))
    np.testing.assert_array_equal(other.transitions, automaton(shared()).transitions)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([0, 1, 0, 1], "pair_matrices: expected one for each of 5 pairs, got 4"),
        ([0, 1, 0, 1, 3], r"pair_matrices: expected each of 0 … 2, got \[0, 1, 3\]"),
        ([1, 2, 1, 2, 3], r"pair_matrices: expected each of 0 … 2, got \[1, 2, 3\]"),
        ([-1, 0, -1, 0, 1], r"pair_matrices: expected each of 0 … 2, got \[-1, 0, 1\]"),
        (
            [0, 1, 0, 0, 2],
            r"pair_matrices: pair 3 shares matrix 0 with a pair of another shape: "
            r"expected \(2, 3\) for both",
        ),
        ([0.0, 1, 0, 1, 2], "pair_matrices: expected whole numbers, got dtype float64"),
        ([NUMBERS], "pair_matrices: expected 1 dimensions, got 2"),
    ],
)
def test_numbers_of_matrices_that_cannot_be_are_refused(numbers, message):
    with pytest.raises(ArgumentError, match=message):
        Remembering(SHARED_GROUPING, PairMatrices(*PAIRS, VALUES, numbers))


def test_values_must_be_as_many_as_distinct_matrices_have():
    with pytest.raises(ArgumentError, match=r"values: expected shape \(16\)"):
        Remembering(SHARED_GROUPING, PairMatrices(*PAIRS, VALUES[:-1], NUMBERS))


@pytest.mark.parametrize(
    ("groups", "symbols", "message"),
    [
        ([0, 0], [0], "pair_symbols: expected one for each of 2 pairs, got 1"),
        ([1, 0], [0, 0], r"expected pairs that rise, .* got \(0, 0\) after \(1, 0\)"),
        ([0, 0], [1, 1], r"expected pairs that rise, .* got \(0, 1\) after \(0, 1\)"),
        ([0, 3], [0, 0], "pair_groups: expected 0 … 2, got 3"),
        ([0, 1], [0, -1], "pair_symbols: expected 0 … 1, got -1"),
    ],
)
def test_pairs_that_cannot_be_are_refused(groups, symbols, message):
    with pytest.raises(ArgumentError, match=message):
        Remembering(SHARED_GROUPING, PairMatrices(groups, symbols, VALUES))


def test_no_pairs_are_no_numbers():
    remembering = Remembering(SHARED_GROUPING, {})
    assert (len(remembering), len(remembering.values)) == (0, 0)
    assert (remembering.index == -1).all()
