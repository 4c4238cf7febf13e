import numpy as np
import pytest

import seqray
from seqray import Alphabet, BlackBoxError
from seqray.blackbox.arguments import as_box
from seqray.blackbox.classifier_box import QueriedClassifier, class_scores, queried_classifier

AB = Alphabet("ab")


class OwnClassifier:
    """A classifier of somebody's own, without weights."""

    alphabet, classes, max_length = AB, ("no", "yes"), 5

    def scores(self, words):
        return np.array([[1 - len(w) / 10, len(w) / 10] for w in words])


def answering(*answers, classes=("no", "yes")):
    return seqray.classifier(lambda words: list(answers)[: len(words)], AB, classes)


def test_rows_of_probabilities_are_taken_as_they_are():
    assert answering([0.25, 0.75]).scores(["a"]).tolist() == [[0.25, 0.75]]


def test_of_two_classes_the_probability_of_the_second_is_enough():
    assert answering(0.75).scores(["a"]).tolist() == [[0.25, 0.75]]
    assert answering([0.75]).scores(["a"]).tolist() == [[0.25, 0.75]]


def test_the_name_of_a_class_is_an_answer():
    box = answering("c", "a", classes=("a", "b", "c"))
    assert box.scores(["a", "b"]).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_weights_are_the_probabilities_of_the_last_class():
    assert answering([0.25, 0.75]).weights(["a"]).tolist() == [0.75]


def test_an_unknown_class_is_refused_with_its_word():
    with pytest.raises(BlackBoxError, match=r"the class 'maybe' for the word 'a'.*one of no, yes"):
        answering("maybe").scores(["a"])


@pytest.mark.parametrize("row", [[0.5, 0.2], [2.0, -1.0], 1.5])
def test_what_is_no_probability_is_refused_with_its_word(row):
    with pytest.raises(BlackBoxError, match="for the word 'a': expected probabilities"):
        answering(row).scores(["a"])


def test_names_have_to_be_one_per_word():
    with pytest.raises(BlackBoxError, match="expected one name of a class for each word"):
        class_scores([["no", "yes"]], AB.words(["a"]), ("no", "yes"), "the box")


def test_small_errors_of_rounding_are_corrected():
    assert answering([0.501, 0.501]).scores(["a"]).sum() == pytest.approx(1)


def test_a_threshold_moves_decisions():
    box = seqray.classifier(lambda words: [0.3] * len(words), AB, threshold=0.2)
    assert box.classify(["a"]) == ["yes"]
    assert repr(box) == "QueriedClassifier(the function '<lambda>', 2 symbols, 2 classes)"


def test_a_classifier_of_ones_own_is_queried_in_batches():
    box = queried_classifier(OwnClassifier())
    assert isinstance(box, QueriedClassifier)
    assert box.max_length == 5
    np.testing.assert_allclose(box.scores(["a", ""]), [[0.9, 0.1], [1, 0]])


def test_a_classifier_of_ones_own_is_a_box():
    assert as_box(OwnClassifier()).weights(["aa"]).tolist() == [0.2]


def test_no_words_have_no_scores():
    assert answering([0.25, 0.75]).scores([]).shape == (0, 2)


@pytest.mark.parametrize(
    "answers", [[[0.5, 0.5]], [0.5], [[0.2, 0.2, 0.2, 0.4]], [[0.1, 0.9], [1.0]]]
)
def test_answers_for_other_classes_than_there_are_are_refused_by_name(answers):
    words = Alphabet("ab").words(["a"])
    with pytest.raises(BlackBoxError, match="each of the 3 classes x, y, z") as error:
        class_scores(answers, words, ("x", "y", "z"), "the box")
    assert "or for each word the name of a class" in str(error.value)
    assert "next" not in str(error.value)


def test_of_two_classes_the_second_is_enough():
    words = Alphabet("ab").words(["a"])
    with pytest.raises(BlackBoxError, match="or only that of yes"):
        class_scores([[0.2, 0.2, 0.6]], words, ("no", "yes"), "the box")
