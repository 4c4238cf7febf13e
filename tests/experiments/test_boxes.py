import math

import pytest

from seqray import FileError
from seqray.experiments.boxes import BoxRow, read_boxes, write_boxes


def test_boxes_come_back_as_they_were(tmp_path):
    rows = [BoxRow("3", 4, 25, "gru", quality=0.98), BoxRow("24", 5, kl=1e-9, test_words=1000)]
    write_boxes(rows, tmp_path / "boxes.csv")
    again = read_boxes(tmp_path / "boxes.csv")
    assert list(again) == ["3", "24"]
    for row in rows:
        assert str(again[row.problem]) == str(row)  # what is not a number equals nothing


def test_what_was_not_measured_is_not_a_number():
    assert math.isnan(BoxRow("3").quality)


def test_a_table_without_the_columns_is_refused(tmp_path):
    (tmp_path / "boxes.csv").write_text("problem,colour\n3,red\n")
    with pytest.raises(FileError, match=r"boxes\.csv"):
        read_boxes(tmp_path / "boxes.csv")
