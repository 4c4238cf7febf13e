import numpy as np
import pytest

from seqray.automata.decisions import (
    Question,
    answers_to,
    check_classes,
    check_threshold,
    decide,
    margins,
    scores_of,
)
from seqray.util.errors import ArgumentError

SCORES = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])


def test_the_largest_probability_decides():
    assert decide(SCORES).tolist() == [0, 2, 1]


def test_a_threshold_decides_for_the_second_of_two_classes():
    scores = np.array([[0.7, 0.3], [0.71, 0.29]])
    assert decide(scores, 0.3).tolist() == [1, 0]


def test_a_margin_is_what_the_second_largest_probability_lacks():
    np.testing.assert_allclose(margins(SCORES), [0.3, 0.4, 0.7])


def test_a_margin_is_the_distance_to_the_threshold_where_there_is_one():
    np.testing.assert_allclose(margins(np.array([[0.7, 0.3]]), 0.4), [0.1])


@pytest.mark.parametrize("question", Question)
def test_what_is_learnt_of_probabilities_leads_back_to_the_decision(question):
    scores = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    back = scores_of(question, answers_to(question, scores, None))
    np.testing.assert_array_equal(decide(back), decide(scores))
    np.testing.assert_allclose(back.sum(axis=1), 1)


@pytest.mark.parametrize("question", [Question.PROBABILITY, Question.LOGIT])
def test_probabilities_and_logits_keep_the_probabilities(question):
    np.testing.assert_allclose(scores_of(question, answers_to(question, SCORES, None)), SCORES)


def test_decisions_follow_the_threshold():
    answers = answers_to(Question.DECISION, np.array([[0.7, 0.3]]), 0.2)
    assert answers.tolist() == [[0, 1]]


def test_outputs_that_are_all_negative_decide_for_the_largest():
    scores = scores_of(Question.PROBABILITY, np.array([[-3.0, -1.0], [0.0, 0.0]]))
    assert scores.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("threshold", [0, 1, -0.5, "half", True])
def test_a_threshold_is_a_number_between_0_and_1(threshold):
    with pytest.raises(ArgumentError, match="expected a number between 0 and 1"):
        check_threshold(threshold, 2)


def test_only_two_classes_have_a_threshold():
    with pytest.raises(ArgumentError, match=r"expected none for 3 classes, got 0\.5"):
        check_threshold(0.5, 3)
    assert check_threshold(None, 3) is None


@pytest.mark.parametrize("classes", ["ab", 3, ["a"], ["a", "a"]])
def test_classes_are_at_least_two_different_names(classes):
    with pytest.raises(ArgumentError, match="classes: expected"):
        check_classes(classes)
