import numpy as np
import pytest

from functions import Count, halves
from seqray import Alphabet, black_box, language_model
from seqray.blackbox.queried import gathered, halving
from seqray.util.errors import BlackBoxError

WORDS = Alphabet("ab").words(["", "a", "b", "ab"])


def test_a_model_reads_words_by_their_prefixes_each_once():
    count = Count(halves)
    model = language_model(count, "ab")
    assert model.weights(["ab", "a"]).tolist() == [0.25 * 0.25 * 0.5, 0.25 * 0.25]
    assert sorted(count.queried) == ["", "a", "ab"]


@pytest.mark.parametrize("row", [[0.5, 0.6, 0.2], [-0.1, 0.6, 0.5], [0, 0, 0], [0.5, 0.2, 0.1]])
def test_probabilities_that_are_none_are_refused(row):
    model = language_model(Count(lambda prefix: row), "ab")
    with pytest.raises(BlackBoxError, match="expected probabilities that sum to 1"):
        model.next_symbol(["a"])


def test_an_empty_query_is_not_sent():
    count = Count()
    assert len(black_box(count, "ab").weights([])) == 0
    assert count.queried == []


def test_words_without_an_answer_are_an_error():
    with pytest.raises(BlackBoxError, match="the box was queried about 3 words and left 1 unans"):
        gathered([(np.array([0, 2]), np.ones(2))], np.empty(3), "the box")


def test_the_word_on_which_a_model_fails_is_named_and_those_before_are_answered():
    def query(which):
        if 2 in which:
            raise ValueError("no")
        return which

    pieces = halving(query, WORDS, np.arange(4), "the box")
    assert next(pieces)[0].tolist() == [0, 1]
    with pytest.raises(BlackBoxError, match="the box failed on the word 'b': ValueError: no"):
        next(pieces)
