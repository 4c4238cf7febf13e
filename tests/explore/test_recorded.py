import json

import numpy as np
import pytest

from explore.subjects import machine, real_box
from seqray import ArgumentError
from seqray.explore.recorded import record_answers


@pytest.fixture(scope="module")
def recorded():
    return record_answers(machine(), lambda rank: machine(), [4], 4, max_length=30)


def test_answers_are_those_of_the_box(recorded):
    np.testing.assert_allclose(recorded.weights, machine().weights(recorded.words))
    np.testing.assert_allclose(recorded.next_symbol, machine().next_symbol(recorded.prefixes))
    assert recorded.fidelity[4]["disagreement"] == 0
    assert recorded.words.lengths.max() <= 30


def test_the_page_gets_words_as_codes(recorded):
    document = json.loads(json.dumps(recorded.to_json()))
    assert len(document["words"]) == len(document["weights"]) == len(recorded.words)
    assert all(0 <= code < 4 for word in document["words"] for code in word)


def test_fewer_answers_are_the_first_ones(recorded):
    fewer = recorded.fewer(0.1)
    n = len(fewer.words)
    assert 1 <= n < len(recorded.words)
    assert list(fewer.words) == list(recorded.words)[:n]
    assert len(fewer.prefixes) == len(fewer.next_symbol) < len(recorded.prefixes)


def test_words_of_the_user_are_compared_on():
    words = machine().alphabet.words(["", "ab"])
    recorded = record_answers(machine(), lambda rank: machine(), [4], 4, words=words)
    assert recorded.source == "2 words of your own"
    assert set(recorded.words) == set(words)


def test_box_and_automaton_have_to_read_the_same_symbols():
    with pytest.raises(ArgumentError, match="expected the same symbols in the same order"):
        record_answers(real_box(), lambda rank: machine(), [4], 4)
