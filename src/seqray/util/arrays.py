"""Array types, and checks that make arrays safe to store in values."""

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqray.util.errors import ArgumentError

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]


@cache
def hold_memory() -> None:
    """Let the process keep the memory of freed arrays, instead of giving it back at every step.

    Getting it anew, page by page, takes a third of the time of a step. How much the C library of
    Linux keeps grows with the largest block that was ever freed, if below 32 MB: so free one. It
    is never written to, so it costs nothing.
    """
    np.empty(2**25 - 2**13, np.uint8)


def whole_number(name: str, number: object, least: int) -> int:
    """Return a whole number that is not below ``least`` as an int, or say what is wrong."""
    if not isinstance(number, (int, np.integer)) or number < least:
        raise ArgumentError(f"{name}: expected a whole number from {least}, got {number!r}")
    return int(number)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of ``array`` that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


def real_array(name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> FloatArray:
    """Return ``values`` as a read-only float64 copy of the given shape, or say what is wrong.

    ``None`` in ``shape`` stands for any size.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name}: expected rows of equal lengths: {error}") from error
    if array.dtype.kind not in "iufb":
        raise ArgumentError(f"{name}: expected real numbers, got dtype {array.dtype}")
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise ArgumentError(f"{name}: expected shape {wanted}, got {array.shape}")
    array = np.array(array, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ArgumentError(f"{name}: expected finite numbers, got {array[where]} at {where}")
    return read_only(array)
