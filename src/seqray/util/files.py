"""Reading and writing files: whole or not at all, with errors that name the file."""

import csv
import errno
import hashlib
import os
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seqray.util.checksums import line_beside, path_beside
from seqray.util.errors import FileError, MissingFileError

MAX_NUMBERS = 2**26
"""The most numbers, 512 MiB, that a small file may make seqray keep: a few lines or zipped bytes
can promise any size. Files that are really as large as their numbers may hold more."""


def too_many_numbers(what: str, n_numbers: int) -> FileError:
    """Return the error for something that would need more than `MAX_NUMBERS`."""
    return FileError(
        f"{what} would need {n_numbers:,} numbers, more than the limit of {MAX_NUMBERS:,} "
        "(docs/files.md): the file is damaged, or needs fewer states or symbols"
    )


def why(error: Exception) -> str:
    """Return what the system says about an error, without the path that a message names anyway."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def writing(path: str | os.PathLike[str], *, with_checksum: bool = False) -> Iterator[Path]:
    """Yield a temporary path for a file; move it to ``path`` only if the block succeeds.

    A link at ``path`` stays, and the file that it leads to is replaced. An existing file's
    permissions are kept. A device or pipe is written to. What the system refuses (no permission,
    disk full) becomes a `FileError` that names ``path``. With ``with_checksum``, a checksum is
    written beside the file; a kill in between leaves a file without one.
    """
    try:
        target = Path(os.path.realpath(path))
        is_special = target.exists() and not target.is_file() and not target.is_dir()
        scratch = _scratch(None if is_special else target.parent)
    except (OSError, ValueError) as error:  # ValueError: a name that the system cannot have
        raise FileError(f"{path}: cannot write here: {why(error)}") from error
    try:
        fresh = scratch / target.name
        yield fresh
        if is_special:
            target.write_bytes(fresh.read_bytes())
        else:
            keep_mode(target, fresh)
            if with_checksum:
                path_beside(target).unlink(missing_ok=True)
            os.replace(fresh, target)
            if with_checksum:
                fresh.write_text(line_beside(target), "utf-8")
                keep_mode(target, fresh)
                os.replace(fresh, path_beside(target))
    except (OSError, UnicodeEncodeError) as error:  # text with half a character cannot be UTF-8
        raise FileError(f"{path}: cannot be written: {why(error)}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file, whole or not at all."""
    with writing(path) as fresh:
        fresh.write_text(text, "utf-8")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that `writing` could not write, before any work is done for it."""
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            return
        scratch = _scratch(target.parent)
        try:
            (scratch / target.name).write_bytes(b"seqray")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot write here: {why(error)}") from error


def _scratch(folder: Path | None) -> Path:
    return Path(tempfile.mkdtemp(prefix=".seqray.", dir=folder))


def keep_mode(old: Path, fresh: Path) -> None:
    """Give a new file the permissions of the one whose place it takes, if there is one."""
    if old.is_file() and not old.is_symlink():
        shutil.copymode(old, fresh)


def read_bytes(path: str | os.PathLike[str], n_bytes: int = -1, *, what: str = "a file") -> bytes:
    """Return the content of a file, or its first bytes, or a `FileError` that names it.

    ``what`` says which kind of file is expected, for the error.
    """
    try:
        with open(path, "rb") as file:
            return file.read(n_bytes)
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise no_folder(path, what) from error
    except (OSError, ValueError, MemoryError) as error:
        raise FileError(f"{path}: cannot be read: {why(error)}") from error


def no_folder(path: str | os.PathLike[str], what: str) -> FileError:
    """Return the error for a folder that stands where a file is expected."""
    return FileError(f"{path}: a folder: expected {what}; give the path of a file, maybe inside it")


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a UTF-8 file as text, or a `FileError` that names it."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path}: expected UTF-8 text, byte {error.start} is not: save it in UTF-8"
        ) from error


DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError, RuntimeError),
    *(EOFError, OSError, zipfile.BadZipFile, zlib.error, struct.error, csv.Error),
    *(MemoryError, SyntaxError, tokenize.TokenError),  # of the parser of NumPy's headers
)
"""What reading a damaged JSON, npz or CSV file may raise."""


@contextmanager
def reading(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn whatever a damaged file makes a reader raise into a `FileError` that names it."""
    try:
        yield
    except KeyError as error:
        raise FileError(f"{path}: damaged: it has no {error}") from error
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except DAMAGE as error:
        raise FileError(f"{path}: not {what}, or damaged: {error}") from error


def nulled(document: Any, odd: Callable[[float], bool]) -> Any:
    """Return a document for JSON, with None for numbers that it has no word for.

    >>> import math
    >>> nulled({"ratio": [1.0, math.nan]}, math.isnan)
    {'ratio': [1.0, None]}
    """
    if isinstance(document, Mapping):
        return {key: nulled(each, odd) for key, each in document.items()}
    if isinstance(document, list | tuple):
        return [nulled(each, odd) for each in document]
    return None if isinstance(document, float) and odd(document) else document


def check_header(document: object, name: str, version: int) -> None:
    """Refuse a document that is not in format ``name``, or newer than ``version``."""
    if not isinstance(document, dict) or document.get("format") != name:
        given = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise FileError(f"expected a file in format {name!r}, got {given!r}")
    written = document.get("version")
    if not isinstance(written, int) or written < 1:
        raise FileError(f"damaged: version {written!r} is not a version number")
    if written > version:
        raise FileError(
            f"written by a newer seqray (version {written} of {name!r}, this one reads up to "
            f"{version}): install a newer seqray"
        )


def fingerprint(*paths: str | os.PathLike[str]) -> str:
    """Return a digest of files, and of all files in folders: it changes when one of them does."""
    digest = hashlib.sha256()
    for path in map(Path, paths):
        inside = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
        for file in inside:
            content = hashlib.sha256(read_bytes(file)).digest()
            digest.update(file.relative_to(path).as_posix().encode() + b"\0" + content)
    return digest.hexdigest()
