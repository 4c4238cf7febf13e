"""Arrays in safetensors files, with a JSON header under the key ``seqray`` and a checksum."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from seqray.util.checksums import CHECKSUM, compare, of_arrays
from seqray.util.files import writing


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write arrays and their header to a file, whole or not at all."""
    sealed = {**header, CHECKSUM: of_arrays(tensors, json.dumps(header))}
    content = save(dict(tensors), {"seqray": json.dumps(sealed)})  # more keys have no fixed order
    with writing(path) as fresh:
        fresh.write_bytes(content)


@contextmanager
def opened_tensors(path: str | os.PathLike[str]) -> Iterator[tuple[Any, Any]]:
    """Yield the header, None where there is none, and the open file; refuse a damaged one.

    The file has safetensors' methods ``keys`` and ``get_tensor``. Nothing in it can run code.
    """
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("seqray", "null"))
            if isinstance(header, dict) and CHECKSUM in header:
                expected = header.pop(CHECKSUM)
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                compare(of_arrays(tensors, json.dumps(header)), expected)
            yield header, file
    except SafetensorError as error:
        raise ValueError(f"no safetensors file: {error}") from error
