import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.padded import sequence_box
from seqray.blackbox.frameworks.trial import tried
from seqray.util.errors import ArgumentError, BlackBoxError

CARD = Card(Alphabet("abc"), "value", ids=[5, 9, 2], start=1)


def table(n_ids, n_outputs=1):
    """Return a network that knows so many ids, and notes which it reads."""
    seen = set()

    def forward(ids, lengths):
        if ids.max() >= n_ids:
            raise IndexError("index out of range")
        seen.update(ids.ravel().tolist())
        return ids[:, -1:].repeat(n_outputs, axis=1)

    return forward, seen


def test_a_box_that_fits_is_returned_after_reading_its_extreme_ids():
    forward, seen = table(10)
    box = sequence_box(forward, CARD, who="the net")
    assert tried(box, CARD) is box
    assert seen == {1, 2, 9}


def test_an_id_that_the_model_does_not_know_is_reported_on_opening():
    box = sequence_box(table(9)[0], CARD, who="the net")
    with pytest.raises(BlackBoxError, match=r"failed on the word 'b': .* fit the model\?\)$"):
        tried(box, CARD)


def test_an_output_that_the_model_does_not_have_is_reported_on_opening():
    card = Card(Alphabet("abc"), "next", start=1)
    with pytest.raises(ArgumentError, match="alphabet and model disagree"):
        tried(sequence_box(table(9, 3)[0], card, who="the net"), card)
