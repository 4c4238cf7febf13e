import numpy as np
import pytest

from seqray import Alphabet
from seqray.explain.text import MAX_ROWS, Section, first_choices


def test_numbers_stand_right_and_words_left():
    table = Section("Title", ("word", " weight"), (("a", "10"), ("abc", "1")), "a note")
    assert str(table).splitlines() == [
        "Title",
        "word  weight",
        "a         10",
        "abc        1",
        "a note",
    ]


def test_a_table_without_rows_has_no_head():
    assert str(Section("Title", ("word", " weight"), (), "None.")) == "Title\nNone."


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_a_long_table_loses_its_middle(n_columns):
    rows = tuple((str(i),) * n_columns for i in range(MAX_ROWS + 10))
    short = Section("", ("x",) * n_columns, rows).shortened()
    assert len(short.rows) == MAX_ROWS + 1
    assert short.rows[MAX_ROWS // 2][0] == "…"
    assert {len(row) for row in short.rows} == {n_columns}
    assert short.rows[-1] == rows[-1]
    assert Section("", ("x",), rows[:3]).shortened().rows == rows[:3]


def test_what_comes_next_has_names():
    alphabet = Alphabet(["a symbol with a long name", "b"])
    choices = first_choices(alphabet, np.array([0.3, 0.3, 0.4]), 3)
    assert choices == [("end", 0.4), ("a symbol with a…", 0.3), ("b", 0.3)]
