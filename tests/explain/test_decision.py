import json

import numpy as np
import pytest

import seqray
from classifier_boxes import THREE, remainder_automaton, three_classes
from seqray import Background
from seqray.explain.decision import explain_decision
from seqray.util.errors import ArgumentError

LATCH = seqray.ClassifierAutomaton(
    *("ab", [1, 0], [[[0, 1], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 1]]),
    classes=["without a", "with a"],
)


def test_the_class_after_every_prefix_is_shown():
    explanation = explain_decision(remainder_automaton(), "abcb")
    assert [THREE[n] for n in explanation.decisions] == ["zero", "one", "zero", "zero", "two"]
    assert explanation.name == "two"
    assert explanation.decided_at == 4
    names = explanation.named.names
    assert [names[q] for q in explanation.states] == [
        *("start", "after a", "start", "start", "after b")
    ]


def test_a_decision_that_nothing_changes_is_settled():
    explanation = explain_decision(LATCH, "bbab")
    assert (explanation.decided_at, explanation.settled_at) == (3, 3)
    assert "no continuation of up to" in str(explanation)


def test_a_decision_that_may_change_is_not_settled():
    explanation = explain_decision(LATCH, "bb")
    assert (explanation.decided_at, explanation.settled_at) == (0, None)
    assert "It is never settled" in str(explanation)


def test_the_box_is_queried_about_a_settled_decision():
    box = seqray.classifier(lambda ws: ["a" in w for w in ws], "ab", LATCH.classes, max_length=8)
    explanation = explain_decision(LATCH, "bab", box=box)
    assert explanation.settled_share == 1
    assert explanation.box_class == "with a"
    assert "100.0 % of those sent to the box" in str(explanation)


def test_shapley_values_of_a_class_sum_to_what_the_word_differs_from_the_mean():
    automaton, word = remainder_automaton(), "abca"
    explanation = explain_decision(automaton, word)
    background = Background.uniform("abc")
    for column, name in enumerate(THREE):
        values = seqray.shapley_values(automaton.of_class(name), word, background=background)
        np.testing.assert_allclose(explanation.shapley[:, column], values.values)
        expected = automaton.of_class(name).weight(word) - values.expected
        assert explanation.shapley[:, column].sum() == pytest.approx(expected)
    np.testing.assert_allclose(explanation.shapley.sum(axis=1), 0, atol=1e-12)


def test_flips_are_confirmed_by_the_box():
    explanation = explain_decision(remainder_automaton(), "ab", box=three_classes())
    assert explanation.flips.flips
    assert all(flip.is_confirmed for flip in explanation.flips.flips)
    assert "confirmed" in str(explanation)


def test_a_box_that_decides_otherwise_is_named():
    box = seqray.classifier(lambda words: ["two"] * len(words), "abc", THREE)
    text = str(explain_decision(remainder_automaton(), "ab", box=box))
    assert "The box decides otherwise: two." in text


def test_nothing_is_said_of_ends_or_probabilities_of_words():
    text = str(explain_decision(remainder_automaton(), "ab"))
    assert not any(word in text for word in ("end", "perplexity", "weight", "next"))


def test_many_classes_show_one_column():
    names = [f"c{i}" for i in range(6)]
    automaton = seqray.ClassifierAutomaton("a", [1], [[[1]]], [np.eye(6)[2]], classes=names)
    columns = explain_decision(automaton, "aa").sections()[1].columns
    assert columns[-1] == " c2 adds"


def test_all_numbers_can_be_written_as_json():
    explanation = explain_decision(remainder_automaton(), "ab", box=three_classes())
    document = json.loads(json.dumps(explanation.as_dict()))
    assert document["class"] == document["box_class"] == "zero"
    assert document["flips"][0]["confirmed"] is True
    assert document["flips_refuted"] == 0


def test_other_automata_and_boxes_are_refused():
    with pytest.raises(ArgumentError, match="expected one that classifies"):
        explain_decision(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), "a")
    with pytest.raises(ArgumentError, match="box: expected one over"):
        explain_decision(LATCH, "a", box=three_classes())


def test_a_box_with_other_classes_is_refused():
    swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    parity = seqray.ClassifierAutomaton(
        "ab", [1, 0], [swap, stay], [[1, 0], [0, 1]], classes=["even", "odd"]
    )
    box = seqray.classifier(lambda words: ["odd" for _ in words], "ab", ["odd", "even"])
    for explain in (seqray.explain_decision, seqray.find_flips):
        with pytest.raises(seqray.ArgumentError, match="expected the same in the same order"):
            explain(parity, "ab", box=box)


def test_a_box_of_short_words_is_asked_about_the_settled_prefix_at_least():
    ends = [[0, 1], [0, 1]]
    settled = seqray.ClassifierAutomaton(
        "ab", [1, 0], [ends, ends], [[1, 0], [0, 1]], classes=["new", "old"]
    )
    box = seqray.classifier(
        lambda words: ["old" if w else "new" for w in words], "ab", ["new", "old"], max_length=3
    )
    explanation = seqray.explain_decision(settled, "bba", box=box)
    assert explanation.as_dict()["settled_share"] == 1


def test_a_frame_has_one_row_per_prefix():
    pytest.importorskip("pandas")
    frame = explain_decision(remainder_automaton(), "ab").to_frame()
    assert frame["symbol"].tolist() == ["", "a", "b"]
    assert frame["class"].tolist() == ["zero", "one", "zero"]
    assert frame["p(one)"].tolist() == pytest.approx([0, 1, 0])
    assert frame["adds(one)"].isna().tolist() == [True, False, False]
