import pytest

import seqray
from seqray.blackbox.protocol import Classifier, threshold_of
from seqray.util.errors import ArgumentError


def test_a_function_is_a_classifier():
    box = seqray.classifier(lambda words: [len(w) > 1 for w in words], "ab", ["short", "long"])
    assert isinstance(box, Classifier)
    assert box.classes == ("short", "long")
    assert box.classify(["a", "ab"]) == ["short", "long"]


def test_two_classes_that_nobody_named_are_no_and_yes():
    assert seqray.classifier(len, "ab").classes == ("no", "yes")


def test_words_of_other_symbols_come_as_tuples():
    seen = []
    box = seqray.classifier(lambda words: [seen.append(w) or 0.5 for w in words], ["up", "down"])
    box.scores([("up", "down")])
    assert seen == [("up", "down")]


def test_the_longest_word_is_known():
    assert seqray.classifier(len, "ab", max_length=4).max_length == 4


def test_a_threshold_is_checked():
    assert threshold_of(seqray.classifier(len, "ab", threshold=0.9)) == 0.9
    with pytest.raises(ArgumentError, match="threshold"):
        seqray.classifier(len, "ab", ["a", "b", "c"], threshold=0.9)


@pytest.mark.parametrize("classes", [3, "ab", {"x", "y"}, None])
def test_classes_that_are_no_list_of_names_are_refused(classes):
    with pytest.raises(ArgumentError, match=r'classes: expected a list of names, as in \["no"'):
        seqray.classifier(len, "ab", classes)
