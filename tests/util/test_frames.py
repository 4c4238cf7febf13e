"""Tables as data frames."""

import sys

import pytest

from seqray import MissingExtraError
from seqray.util.frames import data_frame


def test_rows_become_rows_and_what_is_missing_is_nan():
    pytest.importorskip("pandas")
    frame = data_frame([{"rank": 1, "wer": 0.5}, {"rank": 2}], "rank")
    assert frame.index.tolist() == [1, 2]
    assert frame["wer"].isna().tolist() == [False, True]


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pandas: pip install '\.\[notebook\]'"):
        data_frame([])
