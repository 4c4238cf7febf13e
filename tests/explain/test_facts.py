import json
from itertools import pairwise, product

import numpy as np
import pytest

from automata import FIGURE_1
from classifier_boxes import remainder_automaton
from large_alphabets import N_SYMBOLS, zipf_machine
from memory import peak_bytes
from seqray import WeightedAutomaton, facts, name_states
from seqray.automata.algebra import change_basis, scale
from seqray.automata.generators import random_automaton, random_machine
from seqray.util.errors import ArgumentError


@pytest.fixture(scope="module")
def short():
    """A machine whose words are short, so that they can be summed over."""
    return random_machine(
        "pfa", 3, 2, seed=np.random.default_rng(2), stopping=1, stop_probabilities=(0.7, 0.8)
    )


def every_word(alphabet, length):
    return alphabet.words([w for n in range(length + 1) for w in product(alphabet, repeat=n)])


@pytest.mark.parametrize("hidden", [False, True])
def test_lengths_and_symbols_are_sums_over_all_words(short, hidden):
    wa = change_basis(short, [[1, 2, 0], [0, 1, 3], [1, -1, 1]]) if hidden else short
    found = facts(wa)
    words = every_word(short.alphabet, 11)
    weights = short.weights(words)
    mean = weights @ words.lengths
    assert found.mean_length == pytest.approx(mean, rel=1e-4)
    square = weights @ words.lengths**2
    assert found.deviation == pytest.approx(np.sqrt(square - mean**2), rel=1e-3)
    counts = weights @ np.array([[word.count(s) for s in short.alphabet] for word in words])
    np.testing.assert_allclose(found.counts, counts, rtol=1e-4)
    assert found.total == pytest.approx(1)


def test_what_comes_after_a_symbol_is_counted_over_all_words(short):
    found = facts(short)
    words, k = every_word(short.alphabet, 11), len(short.alphabet)
    follows, average = np.zeros((k, k + 1)), np.zeros(k + 1)
    for word, weight in zip(words, short.weights(words), strict=True):
        codes = [*short.alphabet.encode(word).tolist(), k]
        average[codes[0]] += weight
        for one, two in pairwise(codes):
            follows[one, two] += weight
            average[two] += weight
    follows /= follows.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.after, follows, atol=1e-4)
    distances = np.abs(follows - average / average.sum()).sum(axis=1) / 2
    np.testing.assert_allclose(found.influence, distances, atol=1e-4)


def test_weights_that_do_not_sum_to_1_have_the_same_averages(short):
    one, three = facts(short), facts(scale(short, 3))
    assert three.total == pytest.approx(3)
    assert three.mean_length == pytest.approx(one.mean_length)
    assert three.deviation == pytest.approx(one.deviation)
    np.testing.assert_allclose(three.counts, one.counts)


def test_words_of_even_length_have_period_2():
    even = WeightedAutomaton("ab", [1, 0], [[[0, 1], [0.25, 0]], [[0, 0], [0.25, 0]]], [0.5, 0])
    found = facts(even)
    assert [(part.states, part.period) for part in found.periodic] == [((0, 1), 2)]
    assert found.rhythms[0].period == pytest.approx(2)
    assert found.rhythms[0].strength == pytest.approx(1)
    assert found.absorbing == ()
    assert "a wave that stays" in repr(found)
    assert "period" in repr(found)


def test_a_rotation_has_its_period_as_a_rhythm():
    angle = 2 * np.pi / 7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = facts(WeightedAutomaton("a", [1, 0], [turn], [1, 0.5]))
    assert found.rhythms[0].period == pytest.approx(7)
    assert len(found.rhythms) == 1
    assert found.parts is None


def test_parts_that_are_never_left_again_are_found():
    wa = WeightedAutomaton(
        "ab",
        [1, 0, 0],
        [[[0.2, 0.3, 0], [0, 0.5, 0], [0, 0, 0.5]], [[0, 0, 0.3], [0, 0, 0], [0, 0, 0]]],
        [0.2, 0.5, 0.5],
    )
    found = facts(wa)
    names = found.named.names
    absorbing = {names[part.states[0]] for part in found.absorbing}
    assert len(absorbing) == 2
    assert "start" not in absorbing
    assert "never left again" in repr(found)


def test_dead_states_are_counted():
    wa = WeightedAutomaton("a", [1, 0, 0], [[[0.5, 0.1, 0], [0, 1, 0], [0.2, 0, 0]]], [0.4, 0, 0.8])
    found = facts(wa)
    assert found.unreached == (2,)
    assert found.endless == (1,)
    assert "states never reached" in repr(found)
    assert "states that never end" in repr(found)
    many = np.zeros((1, 12, 12))
    many[0, 0, 0] = 0.5
    lost = facts(WeightedAutomaton("a", np.eye(12)[0], many, np.full(12, 0.5)))
    assert lost.unreached == tuple(range(1, 12))
    assert "…" in repr(lost)


def test_the_most_probable_words_are_exact_without_negative_weights(short):
    assert facts(short).heaviest.exact
    hidden = change_basis(random_machine("hmm", 3, 2, seed=np.random.default_rng(1)), np.eye(3))
    assert facts(hidden, n_words=2).heaviest.words.lengths.shape == (2,)


def test_automata_whose_weights_do_not_sum_have_facts_too():
    found = facts(random_automaton(3, 2, seed=np.random.default_rng(3)))
    assert np.isnan(found.mean_length)
    assert found.counts is found.after is found.influence is None
    text = repr(found)
    assert "The heaviest words" in text
    assert "expected length" not in text
    assert "mass" not in text
    assert json.loads(json.dumps(found.as_dict()))["counts"] is None


def test_nothing_has_no_words():
    found = facts(WeightedAutomaton("a", [0], [[[0]]], [1]))
    assert len(found.heaviest.words) == 0
    assert found.rhythms == ()
    assert "heaviest" not in repr(found)


def test_a_named_automaton_is_taken_as_it_is():
    named = name_states(FIGURE_1)
    found = facts(named, n_words=2)
    assert found.named is named
    assert len(found.continuations) == 2
    with pytest.raises(ArgumentError, match="n_words"):
        facts(named, n_words=0)


def test_facts_are_shown_within_80_columns_and_as_json(short):
    found = facts(short)
    text = repr(found)
    for title in ("The whole", "The most probable words", "The states", "The symbols"):
        assert title in text
    assert max(map(len, text.splitlines())) <= 88
    written = json.loads(json.dumps(found.as_dict()))
    assert written["mean_length"] == found.mean_length
    assert [state["name"] for state in written["states"]] == [*found.named.names]


def test_the_most_probable_words_of_long_names_are_shown_whole():
    names = ["Assign seriousness", "Take in charge ticket", "Resolve ticket"]
    edges = [(i, name, i + 1, 1) for i, name in enumerate(names)]
    automaton = WeightedAutomaton.from_edges(names, 4, initial={0: 1}, edges=edges, final={3: 1})
    text = repr(facts(automaton))
    assert "Assign seriousness | Take in charge ticket | Resolve ticket" in text
    assert "Assign seri… | Take in cha… | Resolve tic… 1" in text  # after the start


def test_facts_about_a_classifier_are_elsewhere():
    with pytest.raises(ArgumentError, match=r"class_facts\.class_facts"):
        facts(remainder_automaton())


def test_of_many_symbols_the_rare_ones_are_counted_together():
    weights = 0.9 / 100 * np.ones((100, 1, 1))
    text = str(facts(WeightedAutomaton(range(100), [1], weights, [0.1])))
    others = next(line for line in text.splitlines() if "61 others" in line)
    assert "5.49" in others.split()  # 61 symbols of 100, in words of 9 symbols


@pytest.mark.slow(reason="thousands of symbols")
def test_facts_of_thousands_of_symbols_hold_no_table_of_pairs():
    machine = zipf_machine()
    assert peak_bytes(lambda: str(facts(machine))) < 150e6  # a table of pairs alone has 72 MB
    document = facts(machine).as_dict()
    assert document["after"] is None
    assert len(document["influence"]) == N_SYMBOLS


def test_the_influence_of_symbols_read_in_parts_is_that_of_all_pairs(monkeypatch):
    whole = facts(zipf_machine(50))
    monkeypatch.setattr("seqray.explain.facts.MAX_NUMBERS_AT_ONCE", 200)
    assert np.array_equal(facts(zipf_machine(50)).influence, whole.influence)
    average = whole.successors.rows([-1])
    np.testing.assert_allclose(whole.influence, np.abs(whole.after - average).sum(axis=1) / 2)
