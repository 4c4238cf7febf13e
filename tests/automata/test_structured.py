"""Structured automata: each answer is that of the dense automaton."""

import pickle

import numpy as np
import pytest
from hypothesis import given

import seqray
from automata import short_words
from seqray import ArgumentError, Grouping, PairMatrices, StructuredAutomaton, WeightedAutomaton
from seqray.automata import structured
from seqray.automata.generators import random_structured
from seqray.explain.facts import facts
from seqray.util.errors import SeqrayError
from structured_cases import NEAR, random_case, structured_automata

GROUPING = Grouping.by_last_symbol([2, 1])
EMISSION = [[0.5, 0.5, 0], [0, 0.5, 0.25], [0, 0.25, 0.5], [0.25, 0.25, 0.5]]
ENTRY = [1, 0.5, 0.5, 1]
MATRICES = {(1, 0): [[0, 0.25], [0.25, 0]]}


@given(structured_automata())
def test_words_have_the_weights_of_the_dense_automaton(wa):
    dense, words = wa.to_dense(), short_words(wa, 4)
    assert type(dense) is WeightedAutomaton
    np.testing.assert_allclose(wa.weights(words), dense.weights(words), **NEAR)
    for mine, other in zip(wa.log_weights(words), dense.log_weights(words), strict=True):
        np.testing.assert_allclose(mine, other, **NEAR)
    np.testing.assert_allclose(wa.prefix_final, dense.prefix_final, **NEAR)
    np.testing.assert_allclose(wa.prefix_weights(words), dense.prefix_weights(words), **NEAR)
    np.testing.assert_allclose(wa.next_symbol(words), dense.next_symbol(words), rtol=1e-9)


@given(structured_automata())
def test_facts_are_those_of_the_dense_automaton(wa):
    dense = wa.to_dense()
    np.testing.assert_allclose(wa.initial, dense.initial, **NEAR)
    np.testing.assert_allclose(wa.final, dense.final, **NEAR)
    np.testing.assert_allclose(wa.total, dense.total, **NEAR)
    np.testing.assert_allclose(wa.spectral_radius, dense.spectral_radius, **NEAR)
    assert wa.n_states == dense.n_states
    assert wa.is_distribution == dense.is_distribution
    assert wa.is_nonnegative == dense.is_nonnegative
    assert wa.edges() == dense.edges()
    assert wa.edges(0.1) == dense.edges(0.1)
    for word in short_words(wa, 2):
        np.testing.assert_allclose(wa.state_after(word), dense.state_after(word), **NEAR)


@given(structured_automata())
def test_other_automata_of_it_are_those_of_the_dense_automaton(wa):
    dense = wa.to_dense()
    assert wa.mirror.allclose(dense.mirror)
    assert wa.truncate(1).allclose(dense.truncate(1))
    assert wa.truncate(wa.n_states) is wa
    assert wa.within.elsewhere is None
    assert wa.within.allclose(dense.within)
    assert wa.allclose(dense)
    assert dense.allclose(wa)
    assert wa.allclose(wa.within) == (wa.elsewhere is None)


@given(structured_automata())
def test_files_hold_it_exactly(wa):
    again = WeightedAutomaton.from_npz(wa.to_npz())
    assert type(again) is StructuredAutomaton
    assert again.arrays.keys() == wa.arrays.keys()
    for name, array in wa.arrays.items():
        assert np.array_equal(array, again.arrays[name]), name


def test_it_is_a_weighted_automaton_with_read_only_numbers():
    wa = StructuredAutomaton("ab", GROUPING, [1], EMISSION, ENTRY, MATRICES)
    assert isinstance(wa, WeightedAutomaton)
    assert (wa.start_group, wa.group_sizes.tolist()) == (0, [1, 2, 1])
    assert wa.next_group.tolist() == [[1, 2]] * 3
    assert wa.offsets.tolist() == [0, 1, 3, 4]
    parts = wa.emission, wa.entry, wa.initial, wa.final, wa.transitions, wa.remembering.values
    for array in parts:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        wa.emission = wa.entry
    assert repr(wa) == "StructuredAutomaton(4 states in 3 groups, 2 symbols)"


def test_the_emission_of_a_remembering_transition_is_the_row_sums_of_its_matrix():
    emission = np.array(EMISSION)
    emission[1:3, 0] = 99  # not read
    wa = StructuredAutomaton("ab", GROUPING, [1], emission, ENTRY, MATRICES)
    assert wa.emission[1:3, 0].tolist() == [0.25, 0.25]
    assert wa.is_probabilistic
    assert wa.prefix_final.tolist() == [1, 1, 1, 1]


def test_matrices_can_be_given_flat():
    flat = PairMatrices([1], [0], [0, 0.25, 0.25, 0])
    one, two = (
        StructuredAutomaton("ab", GROUPING, [1], EMISSION, ENTRY, matrices)
        for matrices in (MATRICES, flat)
    )
    assert one.allclose(two)
    assert not one.allclose(StructuredAutomaton("ab", GROUPING, [1], EMISSION, ENTRY))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alphabet": "abc"}, "next_group: expected one column for each of 3 symbols, got 2"),
        ({"initial_vector": [1, 0]}, r"initial_vector: expected shape \(1\), got \(2,\)"),
        ({"emission": [[1, 0, 0]]}, r"emission: expected shape \(4, 3\), got \(1, 3\)"),
        ({"entry": [1]}, r"entry: expected shape \(4\), got \(1,\)"),
        ({"elsewhere": [1]}, r"elsewhere: expected shape \(4\), got \(1,\)"),
        ({"matrices": {(0, 0): [[1]]}}, r"matrices\[0, 0\]: expected shape \(1, 2\)"),
    ],
)
def test_wrong_parts_are_refused(changed, message):
    parts = {
        "alphabet": "ab",
        "grouping": GROUPING,
        "initial_vector": [1],
        "emission": EMISSION,
        "entry": ENTRY,
    }
    with pytest.raises(ArgumentError, match=message):
        StructuredAutomaton(**{**parts, **changed})


@pytest.mark.parametrize("name", ["transitions", "mirror", "step_sum"])
def test_dense_matrices_of_many_states_are_refused(monkeypatch, name):
    wa = random_structured("ab", 30, seed=0)
    monkeypatch.setattr(structured, "MAX_DENSE_NUMBERS", 3000)
    with pytest.raises(SeqrayError, match="this automaton has 61 states: dense matrices"):
        getattr(wa, name)


def test_nothing_that_all_automata_can_do_needs_dense_matrices(monkeypatch, tmp_path):
    wa = random_structured("ab", 30, seed=0, remembering=0.7)
    expected = wa.to_dense()
    wa = random_structured("ab", 30, seed=0, remembering=0.7)
    monkeypatch.setattr(structured, "MAX_DENSE_NUMBERS", 0)
    words = wa.sample(300, seed=1).words
    np.testing.assert_allclose(wa.weights(words), expected.weights(words), **NEAR)
    fidelity = seqray.compare(expected, wa, words)
    assert fidelity["ndcg5"] == 1
    assert fidelity["relative_error"] < 1e-12
    assert seqray.compare(wa, expected, words)["relative_error"] < 1e-12
    assert seqray.disagreements(wa, wa, n_drawn=20, n_rounds=1)[0].distance < 1e-12
    np.testing.assert_allclose(seqray.clipped(wa).weights(words), wa.weights(words), rtol=1e-9)
    assert wa.spectral_radius < 1
    assert wa.total == pytest.approx(1)
    wa.save(tmp_path / "wa.npz")
    assert seqray.open_black_box(f"wa:{tmp_path / 'wa.npz'}").allclose(wa)


def test_words_drawn_from_it_are_those_of_the_dense_automaton():
    wa = random_structured("abc", 4, seed=2)
    mine, other = (each.sample(200, seed=5) for each in (wa, wa.to_dense()))
    assert [*mine.words] == [*other.words]


def test_the_algebra_and_explanations_take_it_as_it_is():
    wa = random_case(3, n_groups=3, max_size=2)
    dense = wa.to_dense()
    assert seqray.equivalent(wa, dense)
    assert seqray.equivalent(seqray.minimise(wa), dense)
    assert seqray.equivalent(seqray.add(wa, wa), seqray.scale(dense, 2))
    assert seqray.equivalent(seqray.reverse(seqray.reverse(wa)), dense)
    assert seqray.distance(wa, dense) < 1e-7
    assert seqray.name_states(wa).names == seqray.name_states(dense).names
    assert facts(wa).mean_length == pytest.approx(facts(dense).mean_length)
    word = wa.alphabet.symbols[:1]
    assert seqray.explain_word(wa, word).weight == pytest.approx(dense.weight(word))
    assert seqray.to_svg(wa) == seqray.to_svg(dense)
    assert seqray.to_html(wa)


def test_a_copy_of_it_in_another_process_is_the_same():
    wa = random_structured("ab", 3, seed=0)
    wa.weights(["ab"])
    assert pickle.loads(pickle.dumps(wa)).allclose(wa)


def test_probabilities_that_do_not_sum_to_one_are_no_probabilities():
    whole = random_case(1)
    assert whole.is_probabilistic
    off = {**whole.arrays, "entry": whole.entry * 1.001}
    assert not StructuredAutomaton.from_arrays(whole.alphabet, off).is_probabilistic
    signed = random_case(1, signed=True)
    assert not signed.is_probabilistic


def test_negative_factors_may_make_no_negative_transition():
    emission, entry = [[-0.5, 0.5]], [-1.0]
    wa = StructuredAutomaton("a", Grouping([[0]], [1]), [1], emission, entry)
    assert wa.is_nonnegative
    assert wa.to_dense().is_nonnegative
    assert wa.weight("a") == 0.25
