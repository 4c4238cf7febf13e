"""Checksums of the files that seqray writes: damage is noticed before a number is used.

A file that has room for its checksum holds it: JSON as its last entry, arrays in their header. Text
that has no room, such as words or CSV, has a file beside it, ``words.txt.sha256``, which
``sha256sum --check`` reads, too. Files of earlier versions have none, and open all the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqray.util.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHECKSUM = "checksum"
"""The name of the entry in JSON and in headers."""


def sealed_json(document: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return a document as JSON whose last entry is the checksum of all others.

    >>> sealed_json({"a": 1})[:24]
    b'{"a": 1, "checksum": "38'
    """
    text = _unsealed(document, indent)
    head, _, tail = text.rpartition('""')
    return f'{head}"{_of_text(text.encode())}"{tail}'.encode()


def _unsealed(document: Mapping[str, Any], indent: int | None) -> str:
    """Return a document as it is written, with an empty checksum."""
    text = json.dumps({**document, CHECKSUM: ""}, ensure_ascii=False, indent=indent)
    return text if indent is None else text + "\n"


def opened_json(content: bytes) -> Any:
    """Return what `sealed_json` wrote, or any other JSON; refuse it where it was changed.

    White space does not count: a file that an editor indents anew holds what it held.

    >>> opened_json(sealed_json({"a": 1}).replace(b"1", b"2", 1))
    Traceback (most recent call last):
    ...
    seqray.FileError: damaged: it is not what was saved ...
    """
    document = json.loads(content)
    if isinstance(document, dict) and CHECKSUM in document:
        own = str(document.pop(CHECKSUM))
        actual = _of_text(content.replace(f'"{own}"'.encode(), b'""'))
        if actual != own and not _is_indented_anew(document, own):
            compare(actual, own)
    return document


def _is_indented_anew(document: Mapping[str, Any], expected: str) -> bool:
    """Whether a document has a checksum as soon as it is written as `sealed_json` writes it."""
    texts = (_unsealed(document, indent).encode(errors="replace") for indent in (None, 1))
    return expected in map(_of_text, texts)


def of_arrays(arrays: Mapping[str, NDArray[Any]], header: str) -> str:
    """Return the checksum of arrays with their names, types and shapes, and of a text.

    >>> import numpy as np
    >>> of_arrays({"a": np.zeros(2)}, "") == of_arrays({"a": np.zeros((2, 1))}, "")
    False
    """
    digest = hashlib.sha256(header.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        is_plain = array.ndim > 0 and array.flags.c_contiguous and array.dtype.kind in "iuf"
        raw: Any = array.reshape(-1).view("u1") if is_plain else array.tobytes()
        digest.update(raw)  # without a copy, where it can
    return digest.hexdigest()


def compare(actual: str, expected: object) -> None:
    """Refuse a checksum that is not what is expected."""
    if actual != expected:
        raise FileError(
            f"damaged: it is not what was saved (its checksum begins with {actual[:8]}, expected "
            f"{str(expected)[:8]!r}): restore it from a copy; if you changed it yourself, remove "
            f"its entry {CHECKSUM!r}"
        )


def _of_text(content: bytes) -> str:
    """Return a checksum that does not mind how lines end."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


# Beside a file ------------------------------------------------------------------------------------


def path_beside(path: Path) -> Path:
    """Return where the checksum of a file is that has no room for it."""
    return path.with_name(f"{path.name}.sha256")


def line_beside(path: Path) -> str:
    """Return what stands there."""
    return f"{_of_text(path.read_bytes())}  {path.name}\n"


def check_beside(path: str | os.PathLike[str]) -> None:
    """Refuse a file that is not what the checksum beside it says; without one, accept it."""
    file = Path(os.path.realpath(path))
    try:
        expected = path_beside(file).read_bytes()
        actual = line_beside(file)
    except (OSError, ValueError):  # none there; or no file, as whoever reads it will say
        return
    if actual.encode() != expected:
        begins = expected[:8].decode(errors="replace")
        raise FileError(
            f"{path}: damaged: it is not what was saved (its checksum begins with {actual[:8]}, "
            f"expected {begins!r}): restore it from a copy; if you changed it yourself, remove "
            f"{path_beside(file).name}"
        )
