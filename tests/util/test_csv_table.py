"""Tables in CSV files, written and read."""

import gzip
import math
from typing import NamedTuple

import pytest

from seqray.util.csv_table import csv_bytes, csv_dicts, plain_csv_bytes, read_rows, write_rows
from seqray.util.errors import FileError, MissingFileError


class Size(NamedTuple):
    problem: str
    states: int
    share: float


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sizes.csv"


def test_a_compressed_table_that_grows_far_too_much_is_refused(path):
    path.write_bytes(gzip.compress(bytes(2**27)))
    with pytest.raises(FileError, match=r"sizes\.csv: .* compressed bytes grow to"):
        read_rows(path, Size)


def test_a_table_that_was_changed_is_refused(path):
    write_rows(path, Size._fields, [Size("3", 25, 0.5)])
    path.write_text(path.read_text().replace("25", "26"))
    with pytest.raises(FileError, match=r"sizes\.csv: damaged: it is not what was saved"):
        read_rows(path, Size)


def test_rows_come_back_with_their_types(path):
    rows = [Size("3", 25, 0.5), Size("a, b", -1, math.inf)]
    write_rows(path, Size._fields, rows)
    assert read_rows(path, Size) == rows


def test_what_is_not_a_number_is_left_empty(path):
    write_rows(path, Size._fields, [("3", 25, math.nan), ("4", 1, None)])
    assert path.read_text() == "problem,states,share\n3,25,\n4,1,\n"
    assert all(math.isnan(row.share) for row in read_rows(path, Size))


def test_floats_have_nine_digits_or_all_of_them():
    assert csv_bytes(["x"], [(0.1 + 0.2,)]) == b"x\n0.3\n"
    assert plain_csv_bytes(["x"], [(0.1 + 0.2,)]) == b"x\n0.30000000000000004\n"


def test_a_compressed_table_is_read(path):
    path.write_bytes(gzip.compress(b"problem,states,share\n3,25,0.5\n"))
    assert read_rows(path, Size) == [Size("3", 25, 0.5)]


def test_rows_are_dictionaries_where_there_is_no_type():
    content = plain_csv_bytes(["word", "n"], [("a, b", 1), ("", 2)]).decode()
    assert csv_dicts(content) == [{"word": "a, b", "n": "1"}, {"word": "", "n": "2"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected the columns problem, states, share, got ''"),
        ("problem,states\n3,25\n", "expected the columns problem, states, share"),
        ("problem,states,share\n3,25\n", "line 2: expected 3 fields, got 2"),
        ("problem,states,share\n3,many,1\n", "line 2: states: expected a int, got 'many'"),
    ],
)
def test_damage_is_named_with_its_place(path, content, message):
    path.write_text(content)
    with pytest.raises(FileError, match=message) as error:
        read_rows(path, Size)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_an_error(path):
    with pytest.raises(MissingFileError):
        read_rows(path, Size)
