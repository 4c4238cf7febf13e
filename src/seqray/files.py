"""Writing files so that a failure leaves nothing half-written behind."""

import csv
import hashlib
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seqray.errors import FileError, MissingFileError


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; move it there only if the block succeeds.

    The block may create a file or a folder at the temporary path. An existing folder at ``path``
    is replaced as a whole. ``OSError`` (no permission, disk full) becomes a `FileError` that
    names ``path``.
    """
    target = Path(path)
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise FileError(f"{target}: cannot write here: {error.strerror or error}") from error
    try:
        fresh = scratch / target.name
        yield fresh
        if target.is_dir() and fresh.is_dir():
            _replace_folder(fresh, target, scratch / f"{target.name}.old")
        else:
            os.replace(fresh, target)
    except OSError as error:
        raise FileError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _replace_folder(fresh: Path, target: Path, aside: Path) -> None:
    """Put one folder in the place of another, or the old one back if that fails."""
    os.replace(target, aside)
    try:
        os.replace(fresh, target)
    except OSError:
        os.replace(aside, target)
        raise


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, or a `FileError` that names it."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: there is no such file") from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a UTF-8 file as text, or a `FileError` that names it."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: expected UTF-8 text, byte {error.start} is not") from error


DAMAGE = (
    *(ValueError, TypeError, KeyError, OverflowError, RecursionError, RuntimeError),
    *(EOFError, OSError, zipfile.BadZipFile, zlib.error, struct.error, csv.Error),
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
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise FileError(f"expected a file in format {name!r}, got {found!r}")
    found = document.get("version")
    if not isinstance(found, int) or found < 1:
        raise FileError(f"damaged: version {found!r} is not a version number")
    if found > version:
        raise FileError(
            f"written by a newer seqray (version {found} of {name!r}, this one reads up to "
            f"{version}): pip install --upgrade seqray"
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
