"""Waiting for an answer, with a check that can end the wait."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from seqray.blackbox.protocol import Backend
from seqray.util.errors import Stopped

TICK_SECONDS = 0.1
"""How often the check is called during a wait."""

FINISHING_SECONDS = 1.0
"""How long a running request may still take once the check has ended the query."""

Check: TypeAlias = Callable[[], None]
"""Raises `Stopped` when the query has to end; called from any thread."""


def always() -> None:
    """Do nothing: the `Check` where there is no limit."""


@runtime_checkable
class WaitingBackend(Protocol):
    """A backend that may have to wait for answers, and can be stopped while it does."""

    def with_check(self, check: Check) -> Backend:
        """Return a backend of the same model that calls ``check`` while it waits."""


def awaited(mailbox: queue.SimpleQueue[Any], check: Check) -> Any:
    """Return the next item; raise what ``check`` raises, after `FINISHING_SECONDS`.

    Examples
    --------
    >>> mailbox = queue.SimpleQueue()
    >>> mailbox.put("answer")
    >>> awaited(mailbox, always)
    'answer'
    """
    while True:
        try:
            return mailbox.get(timeout=TICK_SECONDS)
        except queue.Empty:
            pass
        try:
            check()
        except Stopped:
            try:
                return mailbox.get(timeout=FINISHING_SECONDS)
            except queue.Empty:
                pass
            raise
