"""How messages name a parameter: as in Python, or as an option of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

WITH_VALUES = {"basis": "--basis FILE"}
"""Options whose value messages show."""

_are_options: ContextVar[bool] = ContextVar("_are_options", default=False)


@contextmanager
def named_as_options() -> Iterator[None]:
    """Name parameters as options in all messages of the block."""
    token = _are_options.set(True)
    try:
        yield
    finally:
        _are_options.reset(token)


def parameter(name: str) -> str:
    """Return the name of a parameter where the message is read.

    >>> parameter("n_prefixes")
    'n_prefixes'
    >>> with named_as_options():
    ...     parameter("n_prefixes"), parameter("max_rank")
    ('--prefixes', '--max-rank')
    """
    option = f"--{name.removeprefix('n_').replace('_', '-')}"
    return WITH_VALUES.get(name, option) if _are_options.get() else name


def parameters(*names: str) -> str:
    """Return what to write to set some parameters, for advice in brackets.

    >>> parameters("n_prefixes", "n_suffixes")
    'n_prefixes=…, n_suffixes=…'
    >>> with named_as_options():
    ...     parameters("n_prefixes", "n_suffixes")
    '--prefixes, --suffixes'
    """
    sign = "" if _are_options.get() else "=…"
    return ", ".join(f"{parameter(name)}{sign}" for name in names)
