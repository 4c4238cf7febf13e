"""Texts and arrays from HDF5 files, as h5py writes them by default.

Only what such files need is read, by the HDF5 File Format Specification (version 0 of the
superblock, symbol tables, plain arrays of floating-point numbers). Links, arrays in other files,
and packed arrays are refused. Every place is checked against the file's size and every step is
counted, so that a damaged or hostile file is an error, and never a crash, a loop or a large array.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seqray.util.arrays import FloatArray
from seqray.util.errors import FileError

MAX_STEPS = 200_000
"""How many messages and nodes are read: those of a damaged file may run in circles."""

UNDEFINED = 2**64 - 1
"""The address of what was never written."""

DATASPACE, DATATYPE, EXTERNAL_FILES, LAYOUT = 0x01, 0x03, 0x07, 0x08
FILTERS, ATTRIBUTE, CONTINUATION, SYMBOL_TABLE = 0x0B, 0x0C, 0x10, 0x11
"""Types of messages in the header of a group or array."""

FLOAT_CLASS, STRING_CLASS, VARIABLE_CLASS = 1, 3, 9
"""Classes of data types."""

FLOATS: dict[tuple[int, ...], str] = {
    (2, 16, 10, 5, 0, 10, 15): "f2",
    (4, 32, 23, 8, 0, 23, 127): "f4",
    (8, 64, 52, 11, 0, 52, 1023): "f8",
}
"""Size, precision, places and sizes of exponent and mantissa, and bias, of IEEE numbers."""


class Message(NamedTuple):
    """A part of the header of a group or array: its type, and where its content lies."""

    kind: int
    begin: int
    end: int


class DataType(NamedTuple):
    """The type of the values of an array or attribute."""

    kind: int
    size: int
    dtype: str | None


class Hdf5File:
    """A file of HDF5 in memory; a group or array is known by its address.

    Parameters
    ----------
    content
        The bytes of the file.

    Examples
    --------
    >>> Hdf5File(b"PK")
    Traceback (most recent call last):
    ...
    seqray.FileError: expected an HDF5 file, and its first bytes are b'PK'
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._steps_left, self._bytes_left = MAX_STEPS, len(content)
        if content[:8] != b"\x89HDF\r\n\x1a\n":
            raise FileError(f"expected an HDF5 file, and its first bytes are {content[:8]!r}")
        version, *_, offset_size, length_size = self._unpack("<B4xBB", 8)
        if (version, offset_size, length_size) != (0, 8, 8) or self._unpack("<Q", 24) != (0,):
            raise FileError(
                f"written in a newer form of HDF5 (version {version}): expected version 0, as "
                "h5py writes it by default"
            )
        self.root = self._address(64)

    def text(self, name: str) -> str | None:
        """Return an attribute of the file that is one text; None where there is none."""
        for message in self._messages(self.root):
            if message.kind == ATTRIBUTE:
                own, begin = self._attribute_name(message)
                if own == name.encode():
                    return self._attribute_text(message, begin, name)
        return None

    def is_group(self, address: int) -> bool:
        """Return whether a group is at an address; otherwise it is an array."""
        return any(message.kind == SYMBOL_TABLE for message in self._messages(address))

    def members(self, group: int) -> dict[str, int]:
        """Return the addresses of a group's members by their names."""
        tables = [m for m in self._messages(group) if m.kind == SYMBOL_TABLE]
        if len(tables) != 1:
            raise FileError("holds links to other places: expected groups and arrays alone")
        tree, heap = self._unpack("<QQ", tables[0].begin)
        self._check_signature(heap, b"HEAP")
        n_bytes, _, names = self._unpack("<QQQ", heap + 8)
        addresses = dict[str, int]()
        for entry in self._entries(tree):
            place, address, cached = self._unpack("<QQI", entry)
            name = self._name(names, n_bytes, place)
            if cached == 2 or address == UNDEFINED:
                raise FileError(
                    f"{name} is a link to another place: expected it in the file itself"
                )
            addresses[name] = address
        return addresses

    def array(self, address: int, name: str) -> FloatArray:
        """Return an array, which has a ``name`` in error messages."""
        parts = {message.kind: message.begin for message in self._messages(address)}
        if EXTERNAL_FILES in parts:
            raise FileError(f"{name} is stored in another file: expected it in the file itself")
        if FILTERS in parts:
            raise FileError(f"{name} is packed: expected a plain array")
        if not {DATASPACE, DATATYPE, LAYOUT} <= parts.keys():
            raise FileError(f"{name}: expected an array, or a group without links")
        _, _, dtype = self._data_type(parts[DATATYPE])
        if dtype is None:
            raise FileError(f"{name}: expected floating-point numbers")
        shape = self._shape(parts[DATASPACE])
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        begin = self._contiguous(parts[LAYOUT], name)
        self._bytes_left -= n_bytes
        is_large = self._bytes_left < 0 or begin + n_bytes > len(self._content)
        if is_large or max(shape, default=0) > len(self._content):  # the latter beside a 0
            raise FileError(f"{name}: has shape {shape}, more than is in the file")
        flat = np.frombuffer(self._content, dtype, math.prod(shape), begin)
        return flat.reshape(shape)

    # Bytes ----------------------------------------------------------------------------------------

    def _unpack(self, form: str, begin: int) -> tuple[int, ...]:
        if begin < 0 or begin + struct.calcsize(form) > len(self._content):
            raise FileError("damaged: cut short, or it refers to a place behind its end")
        return struct.unpack_from(form, self._content, begin)

    def _address(self, begin: int) -> int:
        return self._unpack("<Q", begin)[0]

    def _check_signature(self, begin: int, signature: bytes) -> None:
        self._count()
        if self._content[begin : begin + 4] != signature:
            raise FileError(f"damaged: expected {signature.decode()} at byte {begin}")

    def _count(self) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise FileError(f"damaged: it has more than {MAX_STEPS:,} parts")

    # Headers and groups ---------------------------------------------------------------------------

    def _messages(self, address: int) -> Iterator[Message]:
        """Yield the messages of a header, which may go on in other blocks."""
        version, _, _, n_bytes = self._unpack("<BxHII", address)
        if version != 1:
            raise FileError("holds a group or array in a newer form of HDF5: expected version 1")
        blocks = [(address + 16, n_bytes)]
        while blocks:
            begin, n_bytes = blocks.pop(0)
            end = begin + n_bytes
            while begin + 8 <= end:
                self._count()
                kind, size, flags = self._unpack("<HHB", begin)
                message = Message(kind, begin + 8, begin + 8 + size)
                begin = message.end
                if begin > end:
                    raise FileError("damaged: a part of a header is longer than the header")
                if kind == CONTINUATION:
                    at, length = self._unpack("<QQ", message.begin)
                    blocks.append((at, length))
                elif kind in (DATASPACE, DATATYPE) and flags & 2:
                    raise FileError("holds a shared data type: expected plain arrays")
                else:
                    yield message

    def _entries(self, node: int) -> Iterator[int]:
        """Yield the places of the entries of a group's symbol table."""
        self._check_signature(node, b"TREE")
        kind, level, n_children = self._unpack("<BBH", node + 4)
        if kind != 0:
            raise FileError("damaged: expected the tree of a group")
        for i in range(n_children):
            child = self._address(node + 32 + 16 * i)
            if level:
                below = self._unpack("<B", child + 5)[0]
                if below >= level:
                    raise FileError("damaged: the tree of a group runs in a circle")
                yield from self._entries(child)
                continue
            self._check_signature(child, b"SNOD")
            for j in range(self._unpack("<H", child + 6)[0]):
                self._count()
                yield child + 8 + 40 * j

    def _name(self, names: int, n_bytes: int, place: int) -> str:
        begin, end = names + place, min(names + n_bytes, len(self._content))
        stop = self._content.find(b"\0", begin, min(end, begin + 4096))
        if stop < 0:
            raise FileError("damaged: a name is not in its place")
        return self._content[begin:stop].decode("utf-8", "replace")

    # Values ---------------------------------------------------------------------------------------

    def _data_type(self, begin: int) -> DataType:
        packed, bits, size = self._unpack("<BB2xI", begin)
        kind = packed & 15
        if kind == FLOAT_CLASS:
            form = self._unpack("<2xHBBBBI", begin + 8)
            name = FLOATS.get((size, *form))
            order = ">" if bits & 1 else "<"
            return DataType(kind, size, None if name is None or bits & 64 else order + name)
        is_text = kind == STRING_CLASS or (kind == VARIABLE_CLASS and bits & 15 == 1)
        return DataType(kind if is_text else -1, size, None)

    def _shape(self, begin: int) -> tuple[int, ...]:
        version, n_axes = self._unpack("<BB", begin)
        if version not in (1, 2) or n_axes > 32:
            raise FileError(f"damaged: an array of {n_axes} axes in version {version}")
        if version == 2 and self._unpack("<B", begin + 3)[0] == 2:
            return (0,)  # an array without values
        return self._unpack(f"<{n_axes}Q", begin + (8 if version == 1 else 4))

    def _contiguous(self, begin: int, name: str) -> int:
        """Return where the numbers of an array lie."""
        version, kind = self._unpack("<BB", begin)
        if version == 3 and kind == 0:
            return begin + 4
        if version != 3 or kind != 1:
            raise FileError(f"{name} is stored in pieces or elsewhere: expected a plain array")
        address = self._address(begin + 2)
        if address == UNDEFINED:
            raise FileError(f"{name}: its numbers are not in the file")
        return address

    def _attribute_name(self, message: Message) -> tuple[bytes, int]:
        """Return the name of an attribute, and where its data type begins."""
        version, _, n_name = self._unpack("<BBH", message.begin)
        begin = message.begin + (9 if version == 3 else 8)
        name = self._content[begin : begin + n_name].rstrip(b"\0")
        return name, begin + _padded(n_name, version)

    def _attribute_text(self, message: Message, begin: int, name: str) -> str:
        version, flags, _, n_type, n_space = self._unpack("<BBHHH", message.begin)
        kind, size, _ = self._data_type(begin)
        shape = self._shape(begin + _padded(n_type, version))
        if (version > 1 and flags) or shape != () or kind not in (STRING_CLASS, VARIABLE_CLASS):
            raise FileError(f"{name}: expected one text, got shape {shape}")
        begin += _padded(n_type, version) + _padded(n_space, version)
        if kind == STRING_CLASS:
            self._unpack(f"<{size}x", begin)
            content = self._content[begin : begin + size].rstrip(b"\0 ")
        else:
            length, heap, index = self._unpack("<IQI", begin)
            content = self._global_object(heap, index)[:length]
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileError(f"{name}: expected UTF-8 text: {error}") from error

    def _global_object(self, heap: int, index: int) -> bytes:
        """Return an object of the heap that holds texts of any length."""
        self._check_signature(heap, b"GCOL")
        begin, end = heap + 16, heap + self._address(heap + 8)
        while begin + 16 <= end:
            self._count()
            number, size = self._unpack("<H6xQ", begin)
            if number == index:
                if begin + 16 + size > len(self._content):
                    raise FileError("damaged: a text is longer than the file")
                return self._content[begin + 16 : begin + 16 + size]
            if number == 0:
                break
            begin += 16 + _padded(size, 1)
        raise FileError("damaged: a text is not in its place")


def _padded(n_bytes: int, version: int) -> int:
    """Return a number of bytes rounded up to 8, as the first version of a message stores it."""
    return -(-n_bytes // 8) * 8 if version == 1 else n_bytes
