"""What boxes decide: classifiers by their classes, others by a threshold."""

import numpy as np
import pytest

import seqray
from seqray import Alphabet, ArgumentError, ClassifierAutomaton, DeterministicAutomaton
from seqray.learning.decisions import decisions_of

EVEN = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])


class Thirds:
    """A classifier: the number of a's modulo 3."""

    alphabet = Alphabet("ab")
    classes = ("x", "y", "z")
    max_length = 9
    fingerprint = "thirds"
    deterministic = True

    def scores(self, words):
        return np.eye(3)[[word.count("a") % 3 for word in words]]


def decided(decisions, words):
    return decisions.by(decisions.box, decisions.box.alphabet.words(words)).tolist()


def test_a_classifier_decides_by_its_largest_score():
    decisions = decisions_of(Thirds())
    assert decisions.names == ("x", "y", "z")
    assert decisions.threshold is None
    assert decided(decisions, ["", "ab", "aa"]) == [0, 1, 2]


def test_a_classifier_stays_what_its_answers_are_cached_under():
    box = decisions_of(Thirds()).box
    assert box.backend.fingerprint == "thirds"
    assert box.backend.deterministic
    assert box.max_length == 9


def test_a_box_of_numbers_decides_by_a_threshold():
    box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    decisions = decisions_of(box, 2)
    assert decisions.names == ("no", "yes")
    assert decided(decisions, ["a", "ab", "abb"]) == [0, 1, 1]


def test_a_deterministic_automaton_decides_by_its_outputs():
    decisions = decisions_of(EVEN)
    assert decisions.names == ("no", "yes")
    assert decided(decisions, ["", "a"]) == [1, 0]


def test_what_holds_a_classifier_decides_by_its_classes():
    box = seqray.classifier(lambda words: [word.count("a") % 2 for word in words], "ab")
    extraction = seqray.extract(box, seed=0)
    assert decided(decisions_of(extraction), ["", "a", "aa"]) == [0, 1, 0]


def test_a_threshold_is_a_finite_number():
    box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    with pytest.raises(ArgumentError, match="threshold: expected a finite number, got nan"):
        decisions_of(box, np.nan)


def test_a_classifier_with_a_threshold_decides_by_it():
    box = seqray.classifier(lambda words: [0.1 * len(word) for word in words], "a", threshold=0.25)
    decisions = decisions_of(box)
    assert decisions.names == box.classes
    assert decided(decisions, ["", "aa", "aaa"]) == [0, 0, 1]


def test_a_hint_has_the_decisions_of_the_box():
    swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    parity = ClassifierAutomaton(
        "ab", [1, 0], [swap, stay], [[1, 0], [0, 1]], classes=["even", "odd"]
    )
    plain = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    numbers = decisions_of(seqray.black_box(lambda words: [0.0] * len(words), "ab"))
    numbers.check_hint(plain)
    numbers.check_hint(EVEN)
    decisions_of(parity).check_hint(parity)
    with pytest.raises(ArgumentError, match="the classes no, yes, got one with the classes even"):
        numbers.check_hint(parity)
    with pytest.raises(ArgumentError, match="the classes x, y, z, got one without classes"):
        decisions_of(Thirds()).check_hint(plain)
