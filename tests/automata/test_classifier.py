import numpy as np
import pytest

import seqray
from classifier_boxes import THREE, all_words, remainder, remainder_automaton
from seqray import ClassifierAutomaton, WeightedAutomaton
from seqray.automata.decisions import Question
from seqray.util.errors import ArgumentError, RankError

WORDS = all_words("abc", 5)


def test_classes_are_those_of_the_rule():
    expected = [THREE[remainder(word)] for word in WORDS]
    assert remainder_automaton().classify(WORDS) == expected


def test_outputs_are_the_weights_of_one_automaton_per_class():
    rng = np.random.default_rng(0)
    automaton = ClassifierAutomaton(
        "ab", rng.normal(size=4), rng.normal(size=(2, 4, 4)), rng.normal(size=(4, 3)), classes=THREE
    )
    words = all_words("ab", 6)
    expected = np.stack([automaton.of_class(name).weights(words) for name in THREE], axis=1)
    np.testing.assert_allclose(automaton.class_outputs(words), expected, atol=1e-9)
    np.testing.assert_allclose(automaton.weights(words), expected[:, -1], atol=1e-9)


def test_an_unknown_class_is_refused():
    with pytest.raises(RankError, match="expected one of zero, one, two, got 'four'"):
        remainder_automaton().of_class("four")


def test_it_is_a_classifier_and_predicts_no_next_symbols():
    automaton = remainder_automaton()
    assert isinstance(automaton, seqray.Classifier)
    assert not automaton.is_distribution
    assert automaton.n_classes == 3


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_file_keeps_everything(tmp_path, ending):
    path = tmp_path / f"wa.{ending}"
    automaton = ClassifierAutomaton(
        *("ab", [1], [[[1]], [[0.5]]], [[0.5, 0.25]]),
        classes=["no", "yes"],
        question="logit",
        threshold=0.3,
    )
    automaton.save(path)
    again = WeightedAutomaton.load(path)
    assert isinstance(again, ClassifierAutomaton)
    assert (again.classes, again.question, again.threshold) == (("no", "yes"), "logit", 0.3)
    np.testing.assert_array_equal(again.outputs, automaton.outputs)
    np.testing.assert_array_equal(again.transitions, automaton.transitions)


def test_an_automaton_of_decisions_has_no_threshold():
    made = ClassifierAutomaton(
        *("a", [1], [[[1]]], [[1, 0]]), classes=["no", "yes"], question="decision", threshold=0.2
    )
    assert made.question is Question.DECISION
    assert made.threshold is None


def test_other_states_keep_the_function():
    automaton, rng = remainder_automaton("logit"), np.random.default_rng(1)
    moved = automaton.in_basis(rng.normal(size=(3, 3)))
    np.testing.assert_allclose(moved.scores(WORDS), automaton.scores(WORDS), atol=1e-9)
    assert moved.question is Question.LOGIT


def test_a_smaller_rank_is_its_leading_part():
    cut = remainder_automaton().truncate(2)
    assert (cut.n_states, cut.outputs.shape) == (2, (2, 3))
    with pytest.raises(RankError, match="rank 4 is outside 1 … 3"):
        remainder_automaton().truncate(4)


def test_outputs_that_overflow_are_cut():
    automaton = ClassifierAutomaton("a", [1], [[[1e200]]], [[1, -1]], classes=["no", "yes"])
    assert automaton.scores(["a" * 9]).tolist() == [[1, 0]]


def test_each_state_has_its_class():
    assert remainder_automaton().state_decisions.tolist() == [0, 1, 2]


def test_outputs_need_one_column_per_class():
    with pytest.raises(ArgumentError, match="outputs"):
        ClassifierAutomaton("a", [1], [[[1]]], [[1, 0, 0]], classes=["no", "yes"])
