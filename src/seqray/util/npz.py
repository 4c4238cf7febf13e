"""Arrays from npz files: only those that are needed, and no more than memory is meant for.

A few megabytes of a zip file can promise gigabytes of zeros. So the shape that an array declares
is checked before its numbers are read.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from seqray.util.files import MAX_NUMBERS, too_many_numbers

MAX_RATIO = 16
"""How many times its own size a file may hold, beyond `MAX_NUMBERS`: real weights do not pack."""


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the content of an npz file with these arrays.

    >>> NpzArrays(npz_bytes({"final": np.ones(2)}))["final"]
    array([1., 1.])
    """
    file = io.BytesIO()
    named: dict[str, Any] = dict(arrays)
    np.savez_compressed(file, **named)
    return file.getvalue()


class NpzArrays:
    """The arrays of an npz file by name, each read when it is needed.

    Parameters
    ----------
    content
        The bytes of the file. Nothing in it can run code.

    Examples
    --------
    >>> arrays = NpzArrays(npz_bytes({"initial": np.eye(2), "unused": np.zeros(9)}))
    >>> arrays["initial"].shape
    (2, 2)
    """

    def __init__(self, content: bytes) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(content))
        self._bytes_left = max(8 * MAX_NUMBERS, MAX_RATIO * len(content))

    def get(self, name: str) -> NDArray[Any] | None:
        """Return an array that need not be there."""
        return self[name] if f"{name}.npy" in self._zip.NameToInfo else None

    def __getitem__(self, name: str) -> NDArray[Any]:
        members = self._zip.NameToInfo
        if f"{name}.npy" not in members:
            raise KeyError(name)
        info = members[f"{name}.npy"]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed by method {info.compress_type}: expected deflate")
        with self._zip.open(info) as member:
            shape, is_fortran, dtype = _header(member)
            if dtype.kind not in "iufbU" or any(n < 0 for n in shape):
                raise ValueError(f"{name} has dtype {dtype} and shape {shape}: expected numbers")
            n_bytes = math.prod(shape) * dtype.itemsize
            if n_bytes > self._bytes_left:
                raise too_many_numbers(name, n_bytes // 8)
            self._bytes_left -= n_bytes
            content = member.read(n_bytes)
            if len(content) != n_bytes or member.read(1):  # the latter checks the zip's CRC, too
                raise ValueError(f"{name} is not as long as its shape {shape} says")
        flat = np.frombuffer(content, dtype)
        return flat.reshape(shape[::-1]).T if is_fortran else flat.reshape(shape)


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, whether columns come first, and the type of the numbers."""
    version = npy.read_magic(member)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read(member)
    return shape, is_fortran, dtype
