"""How much memory large tables may take."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from seqray.util.errors import ArgumentError

MAX_TABLE_BYTES = 4 * 10**9
"""The most that the tables of one extraction may take, however much memory is free."""

UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for ending, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
"""Units of memory, in bytes."""


_given_limit: ContextVar[int | None] = ContextVar("_given_limit", default=None)


@contextmanager
def limited_memory(n_bytes: int | None) -> Iterator[None]:
    """Let large tables take so many bytes in a ``with`` block; None: what `memory_limit` says.

    >>> with limited_memory(10**6):
    ...     memory_limit()
    1000000
    """
    token = _given_limit.set(n_bytes)
    try:
        yield
    finally:
        _given_limit.reset(token)


def memory_limit() -> int:
    """Return how many bytes large tables may take: half of what is free, at most 4 GB.

    Or what the caller of `limited_memory` says.

    >>> 0 < memory_limit() <= MAX_TABLE_BYTES
    True
    """
    if (given := _given_limit.get()) is not None:
        return given
    return max(1, min([MAX_TABLE_BYTES, *(free // 2 for free in _free())]))


def byte_count(name: str, number: int | str) -> int:
    """Return a number of bytes that was given as such, or as a text with a unit.

    >>> byte_count("memory", "2GB"), byte_count("memory", "1.5 GiB"), byte_count("memory", 4096)
    (2000000000, 1610612736, 4096)
    """
    n_bytes = number
    if isinstance(number, str):
        match = re.fullmatch(
            r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([a-z]*)\s*", number.lower(), re.ASCII
        )
        if match is not None and match[2] in UNITS:
            n_bytes = int(float(match[1]) * UNITS[match[2]])
    if not isinstance(n_bytes, int) or isinstance(n_bytes, bool) or n_bytes < 1:
        raise ArgumentError(
            f"{name}: expected a number of bytes or a text such as 500MB, 2GB or 1.5GiB, "
            f"got {number!r}"
        )
    return n_bytes


def shown_bytes(n_bytes: float) -> str:
    """Write a number of bytes for people.

    >>> shown_bytes(6_400_160_000), shown_bytes(250_000), shown_bytes(12)
    ('6.4 GB', '250 kB', '12 B')
    """
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= size:
            return (
                f"{n_bytes / size:,.3g} {unit}"
                if n_bytes < 1e12
                else f"{n_bytes / size:,.0f} {unit}"
            )
    return f"{n_bytes:.0f} B"


def _free() -> list[int]:
    """Return the bytes that the machine has free, and those that the process may still take."""
    free = []
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            free.append(1024 * int(line.split()[1]))
    most, taken = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    if most.isdecimal() and taken.isdecimal():  # of a container; without one it is "max"
        free.append(max(0, int(most) - int(taken)))
    if not free and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    return free


def _text(path: str) -> str:
    try:
        return Path(path).read_text("ascii")
    except (OSError, ValueError):
        return ""
