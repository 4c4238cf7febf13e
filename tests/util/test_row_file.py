import errno
import os
from pathlib import Path

import numpy as np
import pytest

from seqray.util import row_file
from seqray.util.errors import FileError
from seqray.util.row_file import (
    RowFile,
    chunk_slices,
    chunks_to_fill,
    disk_folder,
    empty_like,
    frozen,
    row_chunks,
)


def matrix(shape=(23, 7)):
    return np.random.default_rng(0).standard_normal(shape)


def on_disk(values, rows_per_chunk=4):
    rows = RowFile(values.shape, rows_per_chunk=rows_per_chunk)
    rows[:] = values
    return rows


INDICES = [
    slice(3, 9),
    5,
    np.array([22, 0, 5, 5]),
    (np.array([22, 0, 5]), np.array([6, 0, 3])),
    (np.array([[22], [0]]), np.array([1, 2, 3])),
    (np.array([[1], [2]]), np.array([4, 5])),
    (np.arange(23), 6),
    np.array([], int),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_file_of_rows_is_indexed_like_an_array(index):
    values = matrix()
    rows = on_disk(values, rows_per_chunk=1)
    np.testing.assert_array_equal(rows[index], values[index])
    new = np.random.default_rng(1).standard_normal(values[index].shape)
    rows[index] = new
    values[index] = new
    np.testing.assert_array_equal(rows[:], values)
    rows[index] = 0.5
    values[index] = 0.5
    np.testing.assert_array_equal(rows[:], values)


@pytest.mark.parametrize("n_per_chunk", [1, 4, 23, 100])
def test_chunks_are_all_rows_once(n_per_chunk):
    values = matrix()
    rows = on_disk(values, n_per_chunk)
    parts = list(row_chunks(rows))
    assert all(len(part) <= n_per_chunk for _, part in parts)
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), values)
    some = np.array([3, 20, 1, 4, 5])
    chosen = np.concatenate([part for _, part in row_chunks(rows, some)])
    np.testing.assert_array_equal(chosen, values[some])
    assert [each.stop - each.start for each in chunk_slices(rows, 5, 4)] == {
        1: [1] * 5,
        4: [1] * 5,
        23: [5],
        100: [5],
    }[n_per_chunk]


def test_an_array_in_memory_is_one_chunk_and_is_not_copied():
    values = matrix()
    [(some, part)] = row_chunks(values)
    assert some == slice(0, 23)
    assert np.shares_memory(part, values)


@pytest.mark.parametrize("make", [np.empty, lambda shape: RowFile(shape, rows_per_chunk=5)])
def test_chunks_are_filled_in_place(make):
    values = make((23, 7))
    for some, part in chunks_to_fill(values):
        part[:] = matrix()[some]
    np.testing.assert_array_equal(values[:], matrix())
    assert type(empty_like(values)) is type(values)
    assert empty_like(values).shape == (23, 7)


@pytest.mark.parametrize("values", [matrix(), on_disk(matrix())], ids=["memory", "disk"])
def test_frozen_rows_cannot_be_written_to(values):
    fixed = frozen(values)
    with pytest.raises(ValueError, match="read-only"):
        fixed[0] = 1
    np.testing.assert_array_equal(fixed[:], matrix())


def test_a_file_of_rows_is_not_read_as_a_whole_by_accident():
    with pytest.raises(TypeError, match=r"RowFile\(23 rows, 7 columns\) may not fit into memory"):
        np.asarray(on_disk(matrix()))


@pytest.mark.parametrize(
    "key",
    [
        (np.array([1]), np.array([0, 1, 2])),
        (np.array([1, 2]), np.array([[0], [1], [2]])),
        (np.array([4, 1]), slice(0, 2)),
        (np.array([4, 1]), ...),
        np.arange(9) % 2 == 0,
        np.array(3),
    ],
    ids=["wide", "tall", "slice", "dots", "mask", "number"],
)
def test_every_index_means_what_it_means_for_an_array(key):
    values = np.arange(36.0).reshape(9, 4)
    rows = RowFile(values.shape, rows_per_chunk=2)
    rows[:] = values
    np.testing.assert_array_equal(rows[key], values[key])
    rows[key] = values[key] = -values[key]
    np.testing.assert_array_equal(rows[:], values)


def test_the_file_has_no_name_and_is_gone_with_the_matrix(tmp_path):
    rows = RowFile((10, 10), rows_per_chunk=1, folder=tmp_path)
    assert not list(tmp_path.iterdir())
    assert rows.nbytes == 800
    n_open = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    del rows
    if n_open:
        assert len(os.listdir("/proc/self/fd")) == n_open - 1


def test_a_full_disk_is_reported_before_anything_is_filled(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(FileError, match=r"0\.8 GB for 10,000 × 10,000 .* free: set TMPDIR"):
        RowFile((10_000, 10_000), rows_per_chunk=1, folder=tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileError, match=r"missing: no file .* No such file .*: set TMPDIR"):
        RowFile((10, 10), rows_per_chunk=1, folder=tmp_path / "missing")


def test_a_system_that_cannot_reserve_space_gets_a_file_of_that_size(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    values = matrix()
    np.testing.assert_array_equal(on_disk(values)[:], values)


def test_large_files_go_to_tmpdir_or_to_a_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert disk_folder() == tmp_path
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(row_file, "LARGE_TEMPORARY_FILES", tmp_path)
    assert disk_folder() == tmp_path
