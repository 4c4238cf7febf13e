"""How much memory large tables may take."""

from __future__ import annotations

import os
from pathlib import Path

MAX_TABLE_BYTES = 4 * 10**9
"""The most that the tables of one extraction may take, however much memory is free."""


def memory_limit() -> int:
    """Return how many bytes large tables may take: half of what is free, at most 4 GB.

    >>> 0 < memory_limit() <= MAX_TABLE_BYTES
    True
    """
    return max(1, min([MAX_TABLE_BYTES, *(free // 2 for free in _free())]))


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
