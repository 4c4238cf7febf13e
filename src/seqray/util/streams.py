"""Reading files piece by piece, compressed by gzip or not, within limits."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from seqray.util.errors import FileError, MissingFileError
from seqray.util.files import no_folder, why

GZIP = b"\x1f\x8b"
MAX_RATIO = 300
"""A compressed file that grows by more than this is refused; text grows by 3 to 50."""

FREE_BYTES = 2**26
"""So much may come out of any compressed file, however small it is."""


class BoundedGzip(io.RawIOBase):
    """The content of a gzip file, until it is too large for the size of the file.

    Parameters
    ----------
    file
        The compressed file, open at its beginning.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._content, self._n_bytes = file, gzip.GzipFile(fileobj=file), 0

    def readable(self) -> bool:
        """Return True: it can be read, and nothing else."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer with content, and return how many bytes there were."""
        content = self._content.read(len(buffer))
        buffer[: len(content)] = content
        self._n_bytes += len(content)
        check_growth(self._n_bytes, self._file.tell())
        return len(content)


def check_growth(n_bytes: int, n_compressed: int) -> None:
    """Refuse content that is far too large for the compressed bytes that it comes from."""
    if n_bytes > max(FREE_BYTES, MAX_RATIO * n_compressed):
        raise FileError(
            f"{n_compressed:,} compressed bytes grow to {n_bytes:,} or more, over {MAX_RATIO} "
            "times as many (docs/files.md): if you trust the file, decompress it yourself"
        )


def check_zip(path: str | os.PathLike[str]) -> None:
    """Refuse a zip archive whose content is far too large for the file; others are not looked at.

    What an archive says of its content is what comes out of it at most.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        check_growth(n_bytes, os.path.getsize(path))


@contextmanager
def open_stream(path: str | os.PathLike[str], what: str = "a file") -> Iterator[io.BufferedReader]:
    """Open a file for reading piece by piece; what is compressed by gzip is decompressed.

    Whatever the system or a damaged file raises within the block becomes a `FileError` that names
    the file and ``what`` was expected, and so does text that is not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "words.txt.gz")
    ...     _ = path.write_bytes(gzip.compress(b"ab"))
    ...     with open_stream(path) as stream:
    ...         stream.read()
    b'ab'
    """
    try:
        with open(path, "rb") as file:
            is_compressed = file.peek(2)[:2] == GZIP
            if is_compressed:
                yield io.BufferedReader(BoundedGzip(file), 2**18)
            else:
                yield file
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: there is no such file") from error
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path}: expected UTF-8 text, byte {error.start} is not: save it in UTF-8"
        ) from error
    except IsADirectoryError as error:
        raise no_folder(path, what) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(
            f"{path}: not {what}, or damaged: its compressed content cannot be read ({error}): get "
            "the file again, or decompress it with gzip"
        ) from error
    except (OSError, MemoryError) as error:
        raise FileError(f"{path}: cannot be read: {why(error)}") from error


def read_stream(path: str | os.PathLike[str], what: str = "a file") -> bytes:
    """Return the content of a file, decompressed."""
    with open_stream(path, what) as stream:
        return stream.read()
