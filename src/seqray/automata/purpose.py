"""What an automaton is for: to be read by a person, or to stand in for a box."""

from __future__ import annotations

import enum

from seqray.util.errors import ArgumentError


class Purpose(enum.StrEnum):
    """What automata are for."""

    READING = "reading"
    """Small ones that a person reads."""
    COPYING = "copying"
    """Those that are as faithful as can be."""


def named_purpose(name: str) -> Purpose:
    """Return the purpose of a name.

    >>> named_purpose("reading")
    <Purpose.READING: 'reading'>
    """
    if name not in [*Purpose]:
        raise ArgumentError(f"purpose: expected one of {', '.join(Purpose)}, got {name!r}")
    return Purpose(name)
