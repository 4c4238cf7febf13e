import numpy as np
import pytest

from automata import short_words
from seqray import Grouping, StructuredAutomaton, WeightedAutomaton
from seqray.automata.grouping import MAX_GROUP_SIZE, PairMatrices, Remembering
from seqray.util.errors import ArgumentError

GROUPING = Grouping([[1, 2], [1, 2], [1, 2]], [2, 2, 3])
PAIRS = [0, 0, 1, 1, 2], [0, 1, 0, 1, 0]  # group 1 shares with group 0
NUMBERS = [0, 1, 0, 1, 2]
RNG = np.random.default_rng(0)
VALUES = RNG.random(4 + 6 + 6) / 9


def automaton(matrices):
    rng = np.random.default_rng(1)
    return StructuredAutomaton(
        "ab", GROUPING, [0.5, 0.5], rng.random((7, 3)) / 4, rng.random(7) / 4, matrices
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
    remembering = Remembering(GROUPING, shared())
    assert len(remembering) == 5
    assert remembering.values.tolist() == VALUES.tolist()
    for at, number in enumerate(NUMBERS):
        begin, end = [(0, 4), (4, 10), (10, 16)][number]
        shape = (3 if at == 4 else 2), (3 if number == 1 else 2)
        np.testing.assert_array_equal(remembering.all[at], VALUES[begin:end].reshape(shape))
    flat = np.concatenate([each.ravel() for each in remembering.all])
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
        Remembering(GROUPING, PairMatrices(*PAIRS, VALUES, numbers))


def test_values_must_be_as_many_as_distinct_matrices_have():
    with pytest.raises(ArgumentError, match=r"values: expected shape \(16\)"):
        Remembering(GROUPING, PairMatrices(*PAIRS, VALUES[:-1], NUMBERS))


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
        Remembering(GROUPING, PairMatrices(groups, symbols, VALUES))


def test_no_pairs_are_no_numbers():
    remembering = Remembering(GROUPING, {})
    assert (len(remembering), len(remembering.values), remembering.all) == (0, 0, [])
    assert (remembering.index == -1).all()


@pytest.mark.parametrize(
    ("table", "sizes", "start", "message"),
    [
        ([[0]], [1, 2], 0, "group_sizes: expected one size for each of 1 groups.* got 2 sizes"),
        ([[0]], [0], 0, "group_sizes: expected 1 or more, got 0 at group 0"),
        ([[0]], [MAX_GROUP_SIZE + 1], 0, "group_sizes: expected at most .* at group 0"),
        ([[1]], [1], 0, "next_group: expected 0 … 0, got 1"),
        ([[0]], [1], 2, "start_group: expected 0 … 0, got 2"),
        ([[0]], [1], 0.5, "start_group: expected a whole number"),
        ([[0], [0, 1]], [1, 1], 0, "next_group: expected rows of equal lengths"),
    ],
)
def test_groups_that_cannot_be_are_refused(table, sizes, start, message):
    with pytest.raises(ArgumentError, match=message):
        Grouping(table, sizes, start)


def test_a_path_and_the_states_of_groups():
    grouping = Grouping.by_last_symbol([3, 2])
    assert grouping.path([1, 0]) == [0, 2, 1]
    assert grouping.states(1) == slice(1, 4)
    assert grouping.group_of_state.tolist() == [0, 1, 1, 1, 2, 2]
    assert (grouping.max_size, grouping.n_states) == (3, 6)
    assert grouping.same_as(Grouping.by_last_symbol([3, 2]))
    assert not grouping.same_as(Grouping.by_last_symbol([2, 3]))
