import math

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
