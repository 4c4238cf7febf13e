"""The checks on the fields of a card."""

import math
from dataclasses import replace

import pytest

from seqray import Alphabet, Card
from seqray.blackbox.card_fields import finite_number, token_lists
from seqray.util.errors import ArgumentError

AB = Alphabet("ab")


def test_the_tokens_of_symbols_are_lists_or_single_ids():
    card = Card(AB, "next", tokens=[[4, 2], 7], start=1, end=5)
    assert card.tokens == card.id_lists == ((4, 2), (7,))
    assert Card.from_json(card.to_json()) == replace(card)
    assert "tokens" not in Card(AB, "next", start=2).to_json()


def test_words_of_long_symbols_are_shorter():
    card = Card(AB, "next", tokens=[[4, 2, 1], 7], start=1, end=5, limit=64)
    assert card.max_length == 20
    assert Card(AB, "next", start=2, limit=64).max_length == 63


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([[1]], "tokens: expected a list for each of the 2 symbols, got 1"),
        ([[1], []], "tokens: expected one token of the symbol 'b' at least, got none"),
        ([[1], [-2]], "tokens: expected a whole number from 0, got -2"),
        ([[1], [True]], "tokens: expected a whole number from 0, got True"),
        ("12", "tokens: expected a list of token ids per symbol, got '12'"),
        (3, "tokens: expected a list of token ids per symbol, got 3"),
    ],
)
def test_tokens_that_cannot_be_are_refused(tokens, message):
    with pytest.raises(ArgumentError, match=message):
        token_lists(AB.symbols, tokens)


@pytest.mark.parametrize(
    "others", [{"ids": [1, 2]}, {"columns": [1, 2]}, {"answers": "value"}, {"answers": "classes"}]
)
def test_tokens_stand_alone_and_predict(others):
    fields = {"alphabet": AB, "answers": "next", "tokens": [[1], [2, 3]], **others}
    with pytest.raises(ArgumentError, match="tokens: only for a language model, whose card has no"):
        Card(**fields)


def test_other_boxes_refuse_tokens():
    card = Card(AB, "next", tokens=[[4, 2], 7], start=1, end=5)
    with pytest.raises(ArgumentError, match=r"tokens: only a model of Hugging Face \(hf:\) reads"):
        card.check_outputs()


@pytest.mark.parametrize("number", [math.nan, -math.inf, 10**400])
def test_a_number_that_is_not_finite_is_refused(number):
    with pytest.raises(ArgumentError, match="empty: expected a finite number"):
        finite_number("empty", number)
