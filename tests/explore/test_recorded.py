import json

import numpy as np
import pytest

from explore.subjects import machine, probabilities, real, real_box
from seqray.explore.recorded import record_answers
from seqray.util.errors import ArgumentError

RANKS = range(1, 7)


@pytest.fixture(scope="module")
def recorded():
    return record_answers(machine(), probabilities().automaton, RANKS, 5, sure={2})


def test_words_and_prefixes_carry_what_the_box_says(recorded):
    assert len(set(recorded.words)) == len(recorded.words)
    assert recorded.weights == pytest.approx(machine().weights(recorded.words), rel=1e-9)
    assert recorded.prefixes[0] == ()
    assert recorded.next_symbol == pytest.approx(machine().next_symbol(recorded.prefixes), rel=1e-9)
    worst = machine().alphabet.words([each.word for each in recorded.worst])
    assert recorded.worst_next == pytest.approx(machine().next_symbol(worst), rel=1e-9)
    assert recorded.source == "2,000 words drawn from the box"


def test_only_some_ranks_have_intervals(recorded):
    sure = {rank for rank, fidelity in recorded.fidelity.items() if fidelity.intervals}
    assert sure == {2, 5}
    assert set(recorded.fidelity) == set(RANKS)


def test_words_are_codes_on_the_page(recorded):
    document = json.loads(json.dumps(recorded.to_json(), allow_nan=False))
    decode = machine().alphabet.decode
    assert [decode(codes) for codes in document["words"]] == list(recorded.words)
    assert [decode(codes) for codes in document["prefixes"]] == list(recorded.prefixes)
    assert [decode(each["word"]) for each in document["worst"]] == [
        each.word for each in recorded.worst
    ]
    assert np.array(document["next"]) == pytest.approx(recorded.next_symbol, rel=1e-4)


def test_a_box_of_numbers_is_queried_on_random_words():
    recorded = record_answers(real_box(), real().automaton, [1, 2], 2)
    assert recorded.source == "2,000 random words"
    assert recorded.prefixes is recorded.next_symbol is recorded.worst_next is None
    document = recorded.to_json()
    assert document["prefixes"] is document["next"] is document["worst_next"] is None


def test_words_of_ones_own_are_compared_on():
    words = machine().alphabet.words(["", "ab", "ab", "dcb"])
    recorded = record_answers(machine(), probabilities().automaton, [5], 5, words=words)
    assert recorded.source == "4 given words"
    assert sorted(recorded.words) == [(), ("a", "b"), ("d", "c", "b")]
    assert recorded.fidelity[5].n_words == 4


def test_long_words_do_not_fill_the_page(monkeypatch):
    monkeypatch.setattr("seqray.explore.recorded.MAX_SYMBOLS", 200)
    words = machine().alphabet.words([symbol * 60 for symbol in "abcd"] + ["abcd" * 15])
    recorded = record_answers(machine(), probabilities().automaton, [5], 5, words=words)
    assert len(recorded.words) == 3


def test_another_alphabet_is_refused():
    with pytest.raises(ArgumentError, match="expected the same symbols"):
        record_answers(real_box(), probabilities().automaton, RANKS, 5)
