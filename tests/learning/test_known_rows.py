"""Rows of words: queried once, compared within a tolerance or by parts."""

import numpy as np
import pytest

from seqray import Alphabet, ArgumentError, Stopped, StopReason
from seqray.learning import known_rows
from seqray.learning.known_rows import (
    IMPOSSIBLE,
    UNKNOWN,
    KnownRows,
    RowEquality,
    codes_of,
    words_of,
)

AB = Alphabet("ab")


class Box:
    """Says (½, 0, ½) after an even number of a's and (¼, ¼, ½) after an odd one; remembers all."""

    def __init__(self):
        self.queried = []

    def __call__(self, words):
        self.queried += codes_of(words)
        odd = [word.count("a") % 2 for word in words]
        return np.where(np.array(odd)[:, None], [0.25, 0.25, 0.5], [0.5, 0, 0.5])


def test_words_and_codes_are_the_same():
    words = AB.words(["", "ab", "b"])
    assert words_of(AB, codes_of(words)) == words


def test_no_word_is_queried_twice(monkeypatch):
    monkeypatch.setattr(known_rows, "WORDS_PER_BATCH", 2)
    box = Box()
    rows = KnownRows(AB, box)
    first = rows.query([(), (0,), (), (1,)])
    again = rows.query([(0,), (), (0, 1)])
    assert sorted(box.queried) == [(), (0,), (0, 1), (1,)]
    assert (again[:2] == first[[1, 0]]).all()
    assert (0, 1) in rows
    assert (1, 1) not in rows


def test_what_is_allowed_is_known_before_the_rest_fails():
    n_left = 3

    def query(words):
        nonlocal n_left
        if len(words) > n_left:
            raise Stopped(StopReason.BUDGET, "enough")
        n_left -= len(words)
        return np.zeros((len(words), 3))

    rows = KnownRows(AB, query, None, lambda: n_left)
    with pytest.raises(Stopped):
        rows.query([(0,) * n for n in range(5)])
    assert rows.words == [(), (0,), (0, 0)]


def test_more_rows_than_expected_are_stored():
    rows = KnownRows(AB, Box())
    words = [(0,) * n for n in range(200)]
    rows.query(words[:100])
    assert (rows.query(words)[:, 1] > 0).tolist() == [n % 2 == 1 for n in range(200)]
    assert len(rows) == 200


def test_what_cannot_follow_is_not_queried():
    box = Box()
    rows = KnownRows(AB, box)
    rows.query([(), (0,)])
    after = rows.after([(), (0,)], (1, 0))
    assert (after[0] == IMPOSSIBLE).all()
    assert after[1].tolist() == [0.5, 0, 0.5]
    assert (1, 0) not in box.queried
    assert (rows.after([()], (1, 0)) == IMPOSSIBLE).all()


def test_what_is_longer_than_may_be_queried_is_unknown():
    box = Box()
    rows = KnownRows(AB, box, None, max_length=2)
    rows.query([()])
    after = rows.after([(), (0,), (0, 0)], (1,))
    assert after[:2].tolist() == [[0.5, 0, 0.5], [0.25, 0.25, 0.5]]
    assert np.isnan(after[2]).all()
    assert np.isnan(rows.after([(0, 0)], (1,))).all()
    assert max(map(len, box.queried)) == 2
    assert [rows.may_query(n) for n in (2, 3)] == [True, False]


@pytest.mark.parametrize("equality", [RowEquality(0.1), RowEquality(partitions=10)])
def test_unknown_rows_are_equal_to_any(equality):
    rows = np.array([[UNKNOWN, UNKNOWN], [0.9, 0.1]])
    others = np.array([[0.0, 1.0], [0.9, 0.1]])
    assert equality.same(rows, others).tolist() == [True, True]
    assert equality.same(rows, others[::-1]).tolist() == [True, False]
    assert equality.match(rows, others).tolist() == [0, 1]


def test_rows_that_say_nothing_of_next_symbols_make_every_symbol_possible():
    rows = KnownRows(AB, lambda words: np.zeros((len(words), 3)), None)
    assert rows.possible(rows.query([()])).all()
    assert not rows.impossible(rows.query([()])).any()


def test_rows_are_equal_within_a_tolerance():
    near = RowEquality(0.1)
    rows, others = np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[0.45, 0.55], [0.55, 0.45]])
    assert near.same(rows, others).tolist() == [True, False]
    assert near.match(rows, others).tolist() == [0, -1]
    assert near.match(rows, others[:0]).tolist() == [-1, -1]
    assert near.nearest(rows, others).tolist() == [0, 1]


def test_rows_are_equal_in_the_same_parts():
    parts = RowEquality(partitions=10)
    rows = np.array([[0.41, 0.59], [0.39, 0.61], [1.0, 0.0]])
    assert parts.same(rows, np.array([[0.49, 0.51]])).tolist() == [True, False, False]
    # The nearest row is in another part, an equal one is further off.
    assert parts.match(rows[:1], np.array([[0.399, 0.601], [0.49, 0.51]])).tolist() == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": -0.1}, "tolerance: expected 0 or more"),
        ({"tolerance": 1}, "tolerance: expected 0 or more"),
        ({"partitions": 0}, "partitions: expected 1 or more"),
    ],
)
def test_senseless_equalities_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        RowEquality(**arguments)
