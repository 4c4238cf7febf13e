"""What boxes decide: classifiers by their classes, others by a threshold."""

import numpy as np
import pytest

import seqray
from seqray import Alphabet, ArgumentError, BlackBoxError, DeterministicAutomaton
from seqray.learning.decisions import decisions_of


class Thirds:
    """A classifier: the number of a's modulo 3."""

    alphabet = Alphabet("ab")
    classes = ("x", "y", "z")
    max_length = 9
    fingerprint = "thirds"

    def scores(self, words):
        return np.eye(3)[[word.count("a") % 3 for word in words]]


def test_a_classifier_decides_by_its_largest_score():
    decisions = decisions_of(Thirds())
    words = decisions.box.alphabet.words(["", "ab", "aa"])
    assert decisions.names == ("x", "y", "z")
    assert decisions.of(decisions.box.weights(words)).tolist() == [0, 1, 2]
    assert decisions.box.max_length == 9
    assert decisions.box.who == "the Thirds"
    assert decisions.box.fingerprint == "thirds classes"


def test_a_classifier_without_a_name_is_not_cached():
    class Nameless(Thirds):
        fingerprint = None

    assert decisions_of(Nameless()).box.fingerprint is None


def test_scores_of_a_wrong_shape_are_refused():
    class Wrong(Thirds):
        def scores(self, words):
            return np.zeros((len(words), 2))

    box = decisions_of(Wrong()).box
    with pytest.raises(BlackBoxError, match=r"expected \(1, 3\)"):
        box.weights(box.alphabet.words(["a"]))


def test_a_box_of_numbers_decides_by_a_threshold():
    box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    decisions = decisions_of(box, 2)
    assert decisions.names == ("no", "yes")
    assert decisions.of(box.weights(["a", "ab", "abb"])).tolist() == [0, 1, 1]


def test_a_deterministic_automaton_decides_by_its_outputs():
    even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    decisions = decisions_of(even)
    assert decisions.names == ("no", "yes")
    assert decisions.of(decisions.box.weights(even.alphabet.words(["", "a"]))).tolist() == [1, 0]


def test_a_threshold_is_a_finite_number():
    box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    with pytest.raises(ArgumentError, match="threshold: expected a finite number, got nan"):
        decisions_of(box, np.nan)


def test_a_classifier_with_a_threshold_decides_by_it():
    box = seqray.classifier(lambda words: [0.1 * len(word) for word in words], "a", threshold=0.25)
    decisions = decisions_of(box)
    assert decisions.names == box.classes
    words = box.alphabet.words(["", "aa", "aaa"])
    assert decisions.of(decisions.box.weights(words)).tolist() == [0, 0, 1]
