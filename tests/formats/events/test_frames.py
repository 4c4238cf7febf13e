import builtins
import datetime
import io
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from seqray.formats.events.event_log import read_events
from seqray.util.errors import ArgumentError, FileError, MissingExtraError

EVENTS = {
    "case": [1, 2, 1, 2],
    "activity": ["pay bill", "check", "check", "close"],
    "time": ["2011-04-13T14:00+02:00", "2011-04-13T10:00Z", "2011-04-13T11:00Z", "2011-04-14T00Z"],
}
WORDS = [("check", "pay bill"), ("check", "close")]


def check(log):
    assert list(log.words) == WORDS
    assert log.cases == ("1", "2")
    assert (log.case, log.activity, log.time) == ("case", "activity", "time")


def test_a_dictionary_of_columns_is_a_table():
    check(read_events(EVENTS))
    check(read_events({name: np.array(values) for name, values in EVENTS.items()}))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Rome", None])
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_pandas_frames_are_read(zone, unit):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(EVENTS)
    check(read_events(frame))
    times = pandas.to_datetime(frame["time"], utc=True, format="ISO8601").dt.tz_convert(zone)
    check(read_events(frame.assign(time=times.dt.as_unit(unit))))
    check(read_events(frame.assign(time=times.astype(object))))


def test_missing_values_of_pandas_are_missing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**EVENTS, "time": pandas.to_datetime(["2011", None, "2012", "2013"])})
    with pytest.raises(FileError, match="1 of 4 events have no time, the first in row 2"):
        read_events(frame)
    frame = pandas.DataFrame({**EVENTS, "case": pandas.array([1, None, 1, 2], "Int64")})
    with pytest.raises(FileError, match="1 of 4 events have no case, the first in row 2"):
        read_events(frame)
    frame = pandas.DataFrame({**EVENTS, "case": [1, np.nan, 1, 2]})
    with pytest.raises(FileError, match="1 of 4 events have no case"):
        read_events(frame)


def test_numbers_that_pandas_made_floats_are_whole_again():
    pandas = pytest.importorskip("pandas")
    check(read_events(pandas.DataFrame({**EVENTS, "case": [1.0, 2.0, 1.0, 2.0]})))


def test_two_columns_of_one_name_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2, "a"]], columns=["case", "case", "activity"])
    with pytest.raises(ArgumentError, match="2 columns are called 'case'"):
        read_events(frame)


def test_polars_frames_are_read():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(EVENTS)
    check(read_events(frame))
    times = [datetime.datetime.fromisoformat(time) for time in EVENTS["time"]]
    check(read_events(frame.with_columns(time=polars.Series(times))))
    missing = polars.Series([times[0], None, *times[2:]])
    with pytest.raises(FileError, match="1 of 4 events have no time, the first in row 2"):
        read_events(frame.with_columns(time=missing))


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet")


def table(**more):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({**EVENTS, **more})


def test_parquet_files_and_their_tables_are_read(parquet, tmp_path):
    times = [datetime.datetime.fromisoformat(time) for time in EVENTS["time"]]
    for each in (table(), table(time=times), table(time=[t.date() for t in times])):
        parquet.write_table(each, tmp_path / "log.parquet", row_group_size=3)
        same = read_events(each)
        assert read_events(tmp_path / "log.parquet") == same
        assert same.cases == ("1", "2")
    check(read_events(table(time=times)))


def test_only_the_columns_that_are_needed_are_read(parquet, tmp_path):
    parquet.write_table(table(more=[[1], [2], [3], [4]]), tmp_path / "log.parquet")
    check(read_events(tmp_path / "log.parquet"))


def test_a_parquet_file_may_be_compressed_as_a_whole(parquet, tmp_path):
    import gzip  # noqa: PLC0415

    content = io.BytesIO()
    parquet.write_table(table(), content)
    (tmp_path / "log.parquet.gz").write_bytes(gzip.compress(content.getvalue()))
    check(read_events(tmp_path / "log.parquet.gz"))


def test_a_damaged_parquet_file_is_refused(parquet, tmp_path):
    path = tmp_path / "log.parquet"
    parquet.write_table(table(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match=r"log.parquet: not a Parquet file, or damaged"):
        read_events(path)


def test_a_small_parquet_file_that_promises_a_large_table_is_refused(
    parquet, tmp_path, monkeypatch
):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "log.parquet"
    column = pyarrow.array(["x" * 10_000]).take(pyarrow.array(np.zeros(20_000, np.int64)))
    table = pyarrow.table({"case": np.zeros(20_000), "activity": column})
    parquet.write_table(table, path, use_dictionary=False, compression="zstd")
    assert path.stat().st_size < 200_000
    with pytest.raises(FileError, match="compressed bytes grow to 200,"):
        read_events(path)
    monkeypatch.setattr("seqray.formats.events.frames.MAX_NUMBERS", 1000)
    with pytest.raises(FileError, match="a table of events would need 20,000 numbers"):
        read_events(path)


def test_a_text_that_many_rows_share_is_kept_once(parquet, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "log.parquet"
    column = pyarrow.array(["x" * 10_000]).take(pyarrow.array(np.zeros(5000, np.int64)))
    parquet.write_table(pyarrow.table({"case": np.zeros(5000), "activity": column}), path)
    before = pyarrow.default_memory_pool()
    pool = pyarrow.proxy_memory_pool(before)
    pyarrow.set_memory_pool(pool)
    try:
        assert read_events(path).words.lengths.tolist() == [5000]
    finally:
        pyarrow.set_memory_pool(before)
    assert 0 < pool.max_memory() < 1e7  # of 50 MB


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1....PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"needs pyarrow: pip install '.\[events\]'"):
        read_events(path)


def test_a_pyarrow_that_lets_files_run_code_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1....PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", types.SimpleNamespace(__version__="14.0.0"))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", types.SimpleNamespace())
    with pytest.raises(MissingExtraError, match=r"pyarrow 14.0.0 lets .* version 14.0.1 or newer"):
        read_events(path)


def test_what_is_no_table_is_refused():
    for thing in (5, None, ["a", "b"], builtins):
        with pytest.raises(ArgumentError, match="expected a file of events, or a table of pandas"):
            read_events(thing)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ArgumentError, match=r"columns of one length, got \[1, 2\] rows"):
        read_events({"case": [1, 2], "activity": ["a"]})


def test_a_value_outside_the_listed_ones_is_damage():
    pyarrow = pytest.importorskip("pyarrow")
    lists = pyarrow.array([0, 7], pyarrow.int32()), pyarrow.array(["a", "b"])
    odd = pyarrow.DictionaryArray.from_arrays(*lists, safe=False)
    with pytest.raises(FileError, match="none of the values that the file lists"):
        read_events({"case": [1, 2], "activity": odd})


def test_a_damaged_column_is_refused_and_does_not_end_the_process():
    pytest.importorskip("pyarrow")
    with pytest.raises(FileError, match="not a Parquet file, or damaged"):
        read_events(Path(__file__).with_name("damaged") / "column.parquet")
