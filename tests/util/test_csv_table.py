import gzip
import math
from typing import NamedTuple

import pytest

from seqray import FileError
from seqray.util.csv_table import csv_bytes, csv_dicts, plain_csv_bytes, read_rows, write_rows


class Size(NamedTuple):
    problem: str
    states: int
    error: float


def test_rows_come_back_as_they_were(tmp_path):
    rows = [Size("3, the third", 25, 0.125), Size("ü", 4, 1e-300)]
    write_rows(tmp_path / "a.csv", Size._fields, rows)
    assert read_rows(tmp_path / "a.csv", Size) == rows


def test_what_is_not_a_number_is_left_empty(tmp_path):
    write_rows(tmp_path / "a.csv", Size._fields, [("3", 4, math.nan), ("4", 5, None)])
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == ["3,4,", "4,5,"]
    assert all(math.isnan(row.error) for row in read_rows(tmp_path / "a.csv", Size))


def test_a_compressed_file_is_read_too(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(csv_bytes(Size._fields, [("3", 4, 0.5)])))
    assert read_rows(tmp_path / "a.csv.gz", Size) == [Size("3", 4, 0.5)]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("problem,states\n3,4\n", "expected the columns problem, states, error"),
        ("problem,states,error\n3,4\n", "line 2: expected 3 fields, got 2"),
        ("problem,states,error\n3,many,0\n", "line 2: states: expected a int, got 'many'"),
        ("", "expected the columns"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_the_line(tmp_path, text, fault):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(FileError, match=fault):
        read_rows(tmp_path / "a.csv", Size)


def test_numbers_are_written_with_nine_digits_or_all():
    assert csv_bytes(["a"], [(1 / 3,)]) == b"a\n0.333333333\n"
    (row,) = csv_dicts(plain_csv_bytes(["a"], [(1 / 3,)]).decode())
    assert float(row["a"]) == 1 / 3
