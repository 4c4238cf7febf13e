from dataclasses import replace

import numpy as np
import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.padded import filled_up, sequence_box
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.errors import ArgumentError, BlackBoxError, SymbolError

AB = Alphabet("ab")
WORDS = ["abba", "", "a", "bb", "ab", "b", "abb", "a"]
BASE = 10.0


class Network:
    """Reads ids as digits, records its inputs, and answers at every position."""

    def __init__(self):
        self.shapes = []
        self.batches = []

    def __call__(self, ids, lengths):
        self.shapes.append(ids.shape)
        self.batches.append((ids.copy(), lengths.copy()))
        value = np.zeros(len(ids))
        answers = np.empty(ids.shape)
        for t in range(ids.shape[1]):
            value = (value + ids[:, t] + 1) / BASE
            answers[:, t] = value
        return np.stack([answers, -answers, 0 * answers], axis=2)


def value_of(ids):
    value = 0.0
    for i in ids:
        value = (value + i + 1) / BASE
    return value


def box_of(forward, card, **options):
    return sequence_box(forward, card, who="the net", **options)


# Values ---------------------------------------------------------------------------------------

VALUE = Card(AB, "value", start=2)
EXPECTED = [value_of([2, *AB.encode(word)]) for word in WORDS]


@pytest.mark.parametrize("pad", [None, 5])
@pytest.mark.parametrize("batch_size", [1, 3, 7, 2**16])
def test_every_word_is_read_up_to_its_end_whatever_is_in_its_batch(pad, batch_size):
    network = Network()
    box = box_of(network, replace(VALUE, pad=pad), batch_size=batch_size)
    assert isinstance(box, QueriedBox)
    np.testing.assert_allclose(box.weights(WORDS), EXPECTED)
    assert all(n == 1 or n * t <= batch_size for n, t in network.shapes)


def test_words_of_different_lengths_share_a_batch_only_if_they_can_be_filled_up():
    network = Network()
    box_of(network, VALUE).weights(WORDS)
    assert network.shapes == [(1, 1), (3, 2), (2, 3), (1, 4), (1, 5)]
    network = Network()
    box_of(network, replace(VALUE, pad=5)).weights(WORDS)
    ((ids, lengths),) = network.batches
    assert lengths.tolist() == [1, 2, 2, 2, 3, 3, 4, 5]
    assert ids[0].tolist() == [2, 5, 5, 5, 5]


def test_one_answer_a_word_will_do():
    def forward(ids, lengths):
        return Network()(ids, lengths)[np.arange(len(ids)), lengths - 1, 0]

    for pad in (None, 5):
        box = box_of(forward, replace(VALUE, pad=pad))
        np.testing.assert_allclose(box.weights(WORDS), EXPECTED)


@pytest.mark.parametrize("pad", [None, 0])
def test_several_ids_are_read_before_every_word(pad):
    seen = {}

    def forward(ids, lengths):
        seen.update({tuple(row[:n].tolist()): 1 for row, n in zip(ids, lengths, strict=True)})
        return np.zeros(len(ids))

    card = Card(AB, "value", start=[8, 9], ids=[3, 4], pad=pad, limit=5)
    box = sequence_box(forward, card, who="the net")
    box.weights(["", "b", "aba"])
    assert sorted(seen) == [(8, 9), (8, 9, 3, 4, 3), (8, 9, 4)]
    with pytest.raises(BlackBoxError, match="at most 3 symbols"):
        box.weights(["abab"])


@pytest.mark.parametrize("width", [None, 6])
@pytest.mark.parametrize("pad", [None, 0])
@pytest.mark.parametrize("marks", [{"start": 0}, {"stop": 0}, {"start": [0, 1], "stop": 2}])
def test_the_empty_word_is_read_with_any_mark(marks, pad, width):
    def forward(ids, lengths):
        return np.full(len(ids), ids.shape[1])

    card = Card(AB, "value", pad=0 if width else pad, **marks)
    if width:
        forward, card = filled_up(forward, card, width, "the net")
    assert sequence_box(forward, card, who="the net").weights(["", "a"]).all()


def test_a_stop_is_read_behind_every_word():
    card = Card(AB, "value", stop=7, ids=[3, 4])
    expected = [value_of([*(3 + AB.encode(word)), 7]) for word in WORDS]
    np.testing.assert_allclose(box_of(Network(), card).weights(WORDS), expected)


@pytest.mark.parametrize("pad", [None, 5])
@pytest.mark.parametrize("start", [None, 2])
def test_the_value_of_the_empty_word_may_be_given(pad, start):
    network = Network()
    box = box_of(network, Card(AB, "value", start=start, pad=pad, empty=-1))
    assert box.weights(["", "a", ""])[[0, 2]].tolist() == [-1, -1]
    assert network.shapes == [(1, 1 + (start is not None))]


@pytest.mark.parametrize("pad", [None, 5])
def test_a_network_that_cannot_read_nothing_says_what_its_card_lacks(pad):
    box = box_of(Network(), Card(AB, "value", pad=pad))
    assert box.weights(["a"]).shape == (1,)
    with pytest.raises(BlackBoxError, match=r'cannot read the empty word, .* as "empty"'):
        box.weights(["a", ""])


def three_scores(ids, lengths):
    return np.zeros((len(ids), 3))


def test_a_classifier_that_cannot_read_nothing_says_how_many_probabilities_it_needs():
    box = box_of(three_scores, Card(AB, "classes"))
    with pytest.raises(BlackBoxError, match=r"cannot read the empty word.*: empty=\[p, p, p\]"):
        box.scores([""])
    even = box_of(three_scores, Card(AB, "classes", empty=[0.5, 0.25, 0.25]))
    assert even.scores([""]).tolist() == [[0.5, 0.25, 0.25]]


@pytest.mark.parametrize("empty", [0.5, [0.5, 0.5], [0.5, 0.5, 0.5], [1.5, -0.5, 0]])
def test_probabilities_of_the_empty_word_that_do_not_fit_are_blamed_on_the_card(empty):
    box = box_of(three_scores, Card(AB, "classes", classes=["x", "y", "z"], empty=empty))
    with pytest.raises(ArgumentError, match=r"^the card's empty: .*x, y, z, got .*\[p, p, p\]"):
        box.scores([""])


# What comes next ------------------------------------------------------------------------------


def test_scores_of_the_next_symbol_become_probabilities():
    box = box_of(Network(), Card(AB, "next", start=2))
    assert isinstance(box, QueriedModel)
    logits = np.array([[x, -x, 0] for x in EXPECTED])
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(box.next_symbol(WORDS), expected)


def test_probabilities_may_leak_where_the_card_says_so():
    box = box_of(Network(), Card(Alphabet("a"), "next", start=2, renormalise=False))
    assert (box.next_symbol(["", "a"]).sum(axis=1) < 0.9).all()


def test_a_network_that_predicts_needs_an_id_to_begin_with():
    with pytest.raises(ArgumentError, match=r"the net: .* give the card a start"):
        box_of(Network(), Card(AB, "next"))


# What goes wrong ------------------------------------------------------------------------------


def test_the_word_on_which_it_fails_is_named_and_the_others_are_answered():
    def forward(ids, lengths):
        if [2, 1, 0] in ids.tolist():
            raise RuntimeError("boom")
        return Network()(ids, lengths)

    words = AB.words(["aa", "ab", "ba", "bb", "a"])
    pieces = box_of(forward, VALUE).backend.query(words)
    assert [next(pieces)[0].tolist() for _ in range(2)] == [[4], [0, 1]]
    with pytest.raises(BlackBoxError, match="the net failed on the word 'ba': RuntimeError: boom"):
        next(pieces)


def test_a_batch_that_is_too_large_for_the_network_is_queried_in_halves():
    def forward(ids, lengths):
        if len(ids) > 1:
            raise MemoryError
        return Network()(ids, lengths)

    np.testing.assert_allclose(box_of(forward, VALUE).weights(WORDS), EXPECTED)


def test_an_interruption_is_no_failure():
    def forward(ids, lengths):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        box_of(forward, VALUE).weights(["ab", "ba"])


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (lambda ids, lengths: np.zeros((len(ids), 7, 3)), r"ids of shape \(1, 1\) and answered"),
        (lambda ids, lengths: np.zeros(len(ids) + 1), "expected a row of scores for each"),
        (lambda ids, lengths: None, "expected real numbers"),
        (lambda ids, lengths: np.full(len(ids), np.nan), "answered .nan. for the word 'λ'"),
    ],
)
def test_answers_that_cannot_be_used_are_refused(forward, message):
    with pytest.raises(BlackBoxError, match=message):
        box_of(forward, VALUE).weights(WORDS)


def test_a_word_longer_than_the_network_can_read_is_refused_before_anything_is_queried():
    network = Network()
    box = box_of(network, replace(VALUE, limit=4))
    box.weights(["abb"])
    network.shapes.clear()
    with pytest.raises(BlackBoxError, match=r"reads words of at most 3 symbols, and 'abba' has 4"):
        box.weights(WORDS)
    assert network.shapes == []


def test_a_symbol_outside_the_alphabet_is_refused():
    with pytest.raises(SymbolError):
        box_of(Network(), VALUE).weights(["x"])


@pytest.mark.parametrize("batch_size", [0, -1, 1.5])
def test_a_batch_has_to_hold_something(batch_size):
    with pytest.raises(ArgumentError, match="batch_size: expected a whole number from 1"):
        box_of(Network(), VALUE, batch_size=batch_size)


# A fixed number of ids ------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [3, 2])
def test_a_network_of_a_fixed_width_is_filled_up_to_it(answers):
    network = Network()

    def forward(ids, lengths):
        scores = network(ids, lengths)
        return scores if answers == 3 else scores[np.arange(len(ids)), lengths - 1]

    box = box_of(*filled_up(forward, replace(VALUE, pad=9), 6, "the net"))
    np.testing.assert_allclose(box.weights(WORDS), EXPECTED)
    assert {t for _, t in network.shapes} == {6}
    with pytest.raises(BlackBoxError, match="reads words of at most 5 symbols"):
        box.weights(["aaaaaa"])


def test_the_empty_word_is_nothing_but_padding_to_a_network_of_a_fixed_width():
    def forward(ids, lengths):
        return (ids == 9).sum(axis=1)

    card = Card(AB, "value", pad=9)
    box = sequence_box(*filled_up(forward, card, 6, "the net"), who="the net")
    assert box.weights(["", "ab", ""]).tolist() == [6, 4, 6]


def test_a_network_of_a_fixed_width_that_answers_at_every_id_cannot_read_the_empty_word():
    card = Card(AB, "value", pad=9)
    box = sequence_box(*filled_up(Network(), card, 6, "the net"), who="the net")
    with pytest.raises(BlackBoxError, match="cannot read the empty word"):
        box.weights([""])


def test_a_smaller_limit_of_the_card_stays():
    _, card = filled_up(Network(), replace(VALUE, pad=9, limit=3), 6, "the net")
    assert card.limit == 3


def test_a_network_of_a_fixed_width_needs_something_to_fill_words_up():
    with pytest.raises(ArgumentError, match=r"reads sequences of 6 ids and no others: .* \(pad\)"):
        filled_up(Network(), VALUE, 6, "the net")
