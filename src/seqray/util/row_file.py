"""Matrices that do not fit into memory: rows in a temporary file, read and written a few at a time.

`Rows` is what such a matrix and an array in memory have in common. `row_chunks` and
`chunks_to_fill` go through either: an array in memory is one chunk.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from seqray.util.arrays import FloatArray, IntArray, read_only
from seqray.util.errors import FileError
from seqray.util.files import why

LARGE_TEMPORARY_FILES = Path("/var/tmp")
"""Where temporary files are on a disk; ``/tmp`` may be memory."""

MAPPED_BYTES = 2**17
"""About what one access to a file maps at least: Linux maps the 64 kB around a page, too."""


class Rows(Protocol):
    """A matrix that is read and written as NumPy does it: an array, or a `RowFile`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, and of columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""

    def __getitem__(self, key: Any, /) -> Any: ...

    def __setitem__(self, key: Any, value: Any, /) -> None: ...


class RowFile:
    """A matrix of float64 in a temporary file.

    It is indexed like an array, and returns copies. The file has no name, and its space is free
    again when nobody refers to it, even after a kill. It is mapped into memory for each access
    alone: pages that stay mapped would count as memory of the process.

    Parameters
    ----------
    shape
        The number of rows, and of columns.
    rows_per_chunk
        How many rows to read at once, from 1.
    folder
        Where the file is. None: `disk_folder`.

    Examples
    --------
    >>> rows = RowFile((3, 2), rows_per_chunk=2)
    >>> rows[:] = np.arange(6.0).reshape(3, 2)
    >>> rows[[2, 0]]
    array([[4., 5.],
           [0., 1.]])
    >>> [part.sum() for _, part in row_chunks(rows)]
    [np.float64(6.0), np.float64(9.0)]
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self, shape: tuple[int, int], *, rows_per_chunk: int, folder: Path | None = None
    ) -> None:
        self.shape = shape
        self.rows_per_chunk = rows_per_chunk
        self.folder = folder or disk_folder()
        self._is_frozen = False
        try:
            self._file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 - see below
            weakref.finalize(self, self._file.close)
            _reserve(self._file.fileno(), self.nbytes)
        except OSError as error:
            advice = "set TMPDIR to a folder on a disk with more space"
            if error.errno == errno.ENOSPC:
                free = shutil.disk_usage(self.folder).free
                raise FileError(
                    f"{self.folder}: {self.nbytes / 1e9:.3g} GB for {shape[0]:,} × {shape[1]:,} "
                    f"numbers are needed, and {free / 1e9:.3g} GB are free: {advice}, or query "
                    "fewer prefixes and suffixes"
                ) from error
            raise FileError(
                f"{self.folder}: no file for {self.nbytes / 1e9:.3g} GB can be made here: "
                f"{why(error)}: {advice}"
            ) from error

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return 8 * self.shape[0] * self.shape[1]

    def freeze(self) -> RowFile:
        """Return the matrix itself, which nobody can write to from now on."""
        self._is_frozen = True
        return self

    def empty_like(self, n_rows: int | None = None) -> RowFile:
        """Return another matrix in the same folder, not filled; of as many rows, or of others."""
        shape = (self.shape[0] if n_rows is None else n_rows, self.shape[1])
        return RowFile(shape, rows_per_chunk=self.rows_per_chunk, folder=self.folder)

    def __getitem__(self, key: Any) -> Any:
        if not (pieces := self._pieces(key)):
            return np.array(self._mapped()[key])
        return np.concatenate([self._mapped()[piece] for _, piece in pieces])

    def __setitem__(self, key: Any, value: Any) -> None:
        if not (pieces := self._pieces(key)):
            self._mapped()[key] = value
            return
        last, index = pieces[-1]
        n_dimensions = index[0].ndim + (len(index) == 1)
        is_row_by_row = np.ndim(value) == n_dimensions and len(value) == last.stop
        for some, piece in pieces:
            self._mapped()[piece] = value[some] if is_row_by_row else value

    def _pieces(self, key: Any) -> list[tuple[slice, Any]]:
        """Cut an index by arrays into parts that map a chunk each; nothing for other indices.

        A cell that is read maps the pages around it, too.
        """
        parts = key if isinstance(key, tuple) else (key,)
        if not isinstance(parts[0], np.ndarray) or not all(map(_is_numbers, parts)):
            return []
        arrays = np.broadcast_arrays(*parts)
        n, row = len(arrays[0]) if arrays[0].ndim else 0, 8 * self.shape[1]
        step = max(1, self.rows_per_chunk * row // max(row, MAPPED_BYTES))
        slices = [slice(at, min(at + step, n)) for at in range(0, n, step)]
        return [(some, tuple(array[some] for array in arrays)) for some in slices]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{self!r} may not fit into memory: read some of its rows, as in values[:100]"
        )

    def __repr__(self) -> str:
        return f"RowFile({self.shape[0]} rows, {self.shape[1]} columns)"

    def _mapped(self) -> FloatArray:
        mode: Any = "r" if self._is_frozen else "r+"
        mapped: FloatArray = np.memmap(self._file, np.float64, mode, shape=self.shape)
        return mapped.view(np.ndarray)


def disk_folder() -> Path:
    """Return the folder of temporary files that are too large for memory.

    That is ``TMPDIR`` if it is set, else ``/var/tmp``, else what Python takes.
    """
    if not os.environ.get("TMPDIR") and os.access(LARGE_TEMPORARY_FILES, os.W_OK):
        return LARGE_TEMPORARY_FILES
    return Path(tempfile.gettempdir())


def row_chunks(values: Rows, rows: IntArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
    """Yield all rows of a matrix, or some, a few at a time: which of them, and their values.

    >>> [(some, part.tolist()) for some, part in row_chunks(np.eye(2), np.array([1]))]
    [(slice(0, 1, None), [[0.0, 1.0]])]
    """
    for some in chunk_slices(values, values.shape[0] if rows is None else len(rows)):
        yield some, values[some if rows is None else rows[some]]


def chunks_to_fill(values: Rows) -> Iterator[tuple[slice, FloatArray]]:
    """Yield which rows of a matrix are next, and an array to write their values into."""
    for some in chunk_slices(values, values.shape[0]):
        if not isinstance(values, RowFile):
            yield some, values[some]  # the rows themselves
            continue
        part = np.empty((some.stop - some.start, values.shape[1]))
        yield some, part
        values[some] = part


def chunk_slices(values: Rows, n: int, n_together: int = 1) -> Iterator[slice]:
    """Yield slices of n things, each of which takes so many rows of a matrix."""
    step = max(1, values.rows_per_chunk // n_together if isinstance(values, RowFile) else n)
    for begin in range(0, n, step):
        yield slice(begin, min(begin + step, n))


def empty_like(values: Rows) -> Rows:
    """Return a matrix of the same shape, not filled, in the same place: memory or disk."""
    return values.empty_like() if isinstance(values, RowFile) else np.empty(values.shape)


def frozen(values: Rows) -> Rows:
    """Return a matrix that cannot be written to."""
    return values.freeze() if isinstance(values, RowFile) else read_only(np.asarray(values))


def _is_numbers(index: object) -> bool:
    """Whether an index says rows or columns by their numbers, not by a slice or a mask."""
    return not isinstance(index, slice) and np.asarray(index).dtype.kind in "iu"


def _reserve(descriptor: int, n_bytes: int) -> None:
    """Give a file its size, and its space where the system can: no write fails later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, max(1, n_bytes))
    else:
        os.truncate(descriptor, max(1, n_bytes))
