import numpy as np
import pytest

import seqray
from seqray import Alphabet, ArgumentError, BlackBoxError
from seqray.blackbox.protocol import (
    BlackBox,
    allowed_length,
    check_lengths,
    checked_answers,
    max_length_of,
    name_of,
    unknown_of,
)

WORDS = Alphabet("ab").words(["", "ab"])


class Lengths:
    alphabet = Alphabet("ab")

    def weights(self, words):
        return words.lengths.astype(float)


def test_whatever_has_an_alphabet_and_weights_is_a_box():
    assert isinstance(Lengths(), BlackBox)
    assert not isinstance(len, BlackBox)


def test_a_box_is_named_after_its_class_or_as_it_says():
    assert name_of(Lengths()) == "the Lengths"
    assert name_of(seqray.black_box(len, "ab")) == "the function 'len'"


def test_a_box_may_have_a_largest_length():
    box = seqray.black_box(len, "ab", max_length=3)
    assert max_length_of(box) == 3
    assert max_length_of(Lengths()) is None
    assert allowed_length(box, None, 10) == 3
    assert allowed_length(Lengths(), None, 10) == 10
    with pytest.raises(ArgumentError, match="at most 3 symbols, got 4"):
        allowed_length(box, 4, 10)
    with pytest.raises(BlackBoxError, match="'aaaa' has 4"):
        check_lengths(Alphabet("ab").words(["a", "aaaa"]), 3, "the box")


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ([1.0], r"returned shape \(1,\)"),
        ([1.0, np.nan], "returned nan for the word 'ab'"),
        (["a", "b"], "returned strings"),
        ([1j, 2j], "returned complex numbers"),
        ([[1], [1, 2]], "no array"),
        ([1, 10**400], "returned a number that is too large"),
    ],
)
def test_answers_that_cannot_be_used_are_refused(answers, fault):
    with pytest.raises(BlackBoxError, match=fault):
        checked_answers(answers, WORDS, (2,), "the box")


def test_answers_become_float64():
    answers = checked_answers([True, 2], WORDS, (2,), "the box")
    assert answers.dtype == np.float64
    assert answers.tolist() == [1, 2]


def test_a_box_may_say_how_much_it_leaves_unknown():
    box = seqray.black_box(len, "ab")
    assert unknown_of(box) is None
    assert unknown_of(Lengths()) is None
    backend = type("Backend", (), {"unknown": "a tenth"})
    assert unknown_of(type("Box", (), {"backend": backend})) == "a tenth"
