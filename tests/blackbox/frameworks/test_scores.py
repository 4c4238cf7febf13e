import numpy as np
import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.scores import checked_scores
from seqray.util.errors import ArgumentError, BlackBoxError

AB = Alphabet("ab")
NAN, INF = np.nan, np.inf


def checked(scores, *fields, **more):
    card = Card(AB, *fields, **more)
    return checked_scores(scores, card, 2, "the net", lambda row: f"in row {row}")


def test_scores_become_rows_of_double_precision():
    actual = checked(np.ones((2, 3), np.float32), "next")
    assert actual.dtype == np.float64
    assert actual.shape == (2, 3)
    assert checked([1, 2], "value").tolist() == [[1], [2]]
    assert checked(np.array([True, False]), "value").tolist() == [[1], [0]]


def test_an_end_that_is_guessed_among_several_outputs_is_warned_of_once(caplog):
    def warnings_of(who, n_outputs, **fields):
        card = Card(AB, "next", **fields)
        checked_scores(np.zeros((1, n_outputs)), card, 1, who, str)
        return [record.getMessage() for record in caplog.records]

    assert not warnings_of("a net of its own size", 3)
    assert not warnings_of("a net with a card that says it", 4, end=2)
    (message,) = warnings_of("a larger net", 4)
    assert "a larger net has 4 outputs" in message
    assert "output 2, counted from 0, is taken for it" in message
    assert len(warnings_of("a larger net", 4)) == 1


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        (("next",), [0, -INF, 1]),
        (("next", "log-probabilities"), [np.log(0.5), -INF, np.log(0.5)]),
        (("next", "probabilities"), [0.505, 0, 0.505]),  # as sharp as 16 bits are
        (("next", "probabilities"), [0.1, 0.1, 0.1]),
        (("value",), [-3, NAN, NAN]),
        (("value", "probabilities"), [1, 7, 7]),
        (("value", "logits"), [-INF, 0, 0]),
    ],
)
def test_usable_scores_are_returned(fields, row):
    np.testing.assert_array_equal(checked([row, row], *fields), [row, row])


@pytest.mark.parametrize(
    ("fields", "row", "message"),
    [
        (("next",), [0, NAN, 1], r"the net answered \[ 0. nan  1.\] in row 1: expected numbers"),
        (("next",), [0, INF, 1], "none nan or inf"),
        (("next", "probabilities"), [0.6, -0.1, 0.5], "probabilities, none below 0"),
        (("next", "probabilities"), [0.6, 0.6, 0.5], "probabilities that sum to 1"),
        (("next", "log-probabilities"), [0, 0, 0], 'or say "logits" in the card'),
        (("next", "log-probabilities"), [1e3, 0, 0], 'or say "logits" in the card'),
        (("value",), [INF, 0, 0], "a finite number as output 0"),
        (("value",), [-INF, 0, 0], "a finite number as output 0"),
        (("value", "probabilities"), [-0.1, 0, 0], "a probability as output 0"),
        (("value", "probabilities"), [1.1, 0, 0], "a probability as output 0"),
        (("value", "logits"), [0, NAN, 0], "none nan or inf"),
        (("value", "log-probabilities"), [3, 0, 0], "logarithms of probabilities"),
    ],
)
def test_what_cannot_be_used_is_shown_with_its_place(fields, row, message):
    with pytest.raises(BlackBoxError, match=message):
        checked([[-1e9 if "log" in fields[-1] else 0] * 2 + [0], row], *fields)


@pytest.mark.parametrize("shape", [(3, 3), (2, 1, 3), (1, 2), ()])
def test_another_number_of_answers_is_refused(shape):
    with pytest.raises(BlackBoxError, match=r"got 2 queries and answered shape .*\(2, number"):
        checked(np.zeros(shape), "next")


def test_a_network_without_the_outputs_of_the_card_disagrees_with_the_alphabet():
    with pytest.raises(ArgumentError, match="2 outputs and its card speaks of output 2, counted"):
        checked(np.zeros((2, 2)), "next")
    with pytest.raises(ArgumentError, match="alphabet and model disagree"):
        checked(np.zeros(2), "value", column=1)


@pytest.mark.parametrize("scores", [["a", "b"], [{}, {}], [1j, 2]])
def test_what_is_no_real_number_is_refused(scores):
    with pytest.raises(BlackBoxError, match="expected real numbers"):
        checked(scores, "value")


def test_rows_of_a_softmax_that_are_taken_for_logits_are_warned_of_once(caplog):
    card = Card(AB, "next")
    for who in ("the net of a softmax", "the net of a softmax"):
        checked_scores([[0.2, 0.3, 0.5]], card, 1, who, str)
    assert caplog.text.count("rows that sum to 1, as a softmax does") == 1
    checked_scores([[0.2, 0.3, 0.5]], Card(AB, "next", "probabilities"), 1, "another net", str)
    checked_scores([[0.2, -0.3, 0.5]], card, 1, "a third net", str)
    assert caplog.text.count("as a softmax does") == 1
