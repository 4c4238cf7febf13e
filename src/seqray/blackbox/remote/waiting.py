"""Waiting for an answer no longer than somebody wants to."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from seqray.blackbox.protocol import Backend
from seqray.util.errors import Stopped

TICK_SECONDS = 0.1
"""How often one who waits looks whether to go on."""

FINISHING_SECONDS = 1.0
"""What is under way when asking has to end may still take this long: then nothing is lost."""

Check: TypeAlias = Callable[[], None]
"""Raises `Stopped` when asking has to end; called from any thread."""


def always() -> None:
    """Go on: the `Check` where there is no limit."""


@runtime_checkable
class WaitingBackend(Protocol):
    """An backend that may have to wait, and can be told when to stop that."""

    def heeding(self, check: Check) -> Backend:
        """Return an backend of the same model that calls ``check`` while it waits."""


def awaited(mail: queue.SimpleQueue[Any], check: Check) -> Any:
    """Return what comes next; raise what ``check`` raises, a moment later.

    Examples
    --------
    >>> mail = queue.SimpleQueue()
    >>> mail.put("answer")
    >>> awaited(mail, always)
    'answer'
    """
    while True:
        try:
            return mail.get(timeout=TICK_SECONDS)
        except queue.Empty:
            pass
        try:
            check()
        except Stopped:
            try:
                return mail.get(timeout=FINISHING_SECONDS)
            except queue.Empty:
                pass
            raise
