import math

import pytest

from large_alphabets import zipf_machine
from memory import peak_bytes
from seqray import WeightedAutomaton
from seqray.explain.neighbours import N_QUERIED, OneEditWords
from seqray.fidelity.reference import Reference

PREDICTING = WeightedAutomaton(
    "ab", [1, 0], [[[0.1, 0.5], [0.1, 0.2]], [[0.1, 0.1], [0.4, 0.1]]], [0.2, 0.2]
)
COUNTING = WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]], [[1, 0], [0, 1]]], [0, 1])


def test_neighbours_say_why_they_are_shown():
    near = OneEditWords.of(PREDICTING, tuple("ab"), 4, None).neighbours(None)
    assert {each.why for each in near} <= {"heavier", "lighter", "next"}
    own = PREDICTING.weight("ab")
    assert all(each.weight > own for each in near if each.why == "heavier")
    assert all(each.weight < own for each in near if each.why == "lighter")
    assert all(0 <= each.distance <= 1 and math.isnan(each.box_weight) for each in near)


def test_without_predictions_only_weights_count():
    near = OneEditWords.of(COUNTING, tuple("ab"), 2, None).neighbours(None)
    assert [each.why for each in near] == ["heavier", "lighter"]
    assert [each.weight for each in near] == [2, 0]
    assert all(math.isnan(each.distance) and each.next_symbol == "" for each in near)


def test_the_box_is_queried_on_the_word_and_on_some_of_its_edits():
    near = OneEditWords.of(PREDICTING, tuple("abab" * 5), 4, None)
    queries = near.queries()
    assert queries[0] == tuple("abab" * 5)
    assert len(queries) == 1 + N_QUERIED
    shown = near.neighbours(Reference.query(PREDICTING, queries))
    assert all(math.isclose(each.box_weight, each.weight, rel_tol=1e-9) for each in shown)
    assert all(each.box_next_symbol == each.next_symbol for each in shown)


def test_no_edit_is_longer_than_the_box_allows():
    near = OneEditWords.of(PREDICTING, tuple("ab"), 4, 2)
    assert near.words.lengths.max() == 2


def test_next_symbols_are_read_after_the_heaviest_of_very_many_words(monkeypatch):
    machine = zipf_machine(300)
    every = OneEditWords.of(machine, (3, 14), 5, None)
    monkeypatch.setattr("seqray.explain.neighbours.MAX_NUMBERS_AT_ONCE", 5000)
    assert OneEditWords.of(machine, (3, 14), 5, None).neighbours(None) == every.neighbours(None)
    monkeypatch.setattr("seqray.explain.neighbours.MAX_NUMBERS", 301 * 100)
    some = OneEditWords.of(machine, (3, 14), 5, None).neighbours(None)
    weights = sorted(every.weights, reverse=True)
    assert all(each.weight >= weights[99] for each in some if each.why == "next")
    assert all(each.next_symbol for each in some)


@pytest.mark.slow(reason="thousands of symbols")
def test_words_with_one_edit_over_thousands_of_symbols_take_little_memory():
    machine = zipf_machine()
    assert peak_bytes(lambda: OneEditWords.of(machine, (3, 14, 1), 5, None)) < 200e6
