"""What a forked process must not share with the process that it was forked from.

A fork copies connections, files and child processes. Two processes that use the same one get each
other's answers, so a forked process drops all of them and opens its own.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Lock(Protocol):
    """What `threading.Lock` and `threading.RLock` have in common."""

    def acquire(self) -> bool:
        """Wait until the lock is free, and take it."""

    def release(self) -> None:
        """Give the lock back."""


class Resource(Protocol):
    """An object that holds something which only one process may use."""

    def reset_after_fork(self) -> None:
        """Drop, in a forked process, what belongs to the process before the fork."""


_RESOURCES: weakref.WeakKeyDictionary[Resource, Lock | None] = weakref.WeakKeyDictionary()
_FORKING = threading.Lock()
_held: list[tuple[Resource, Lock | None]] = []


def reset_in_forks(resource: Resource, lock: Lock | None = None) -> None:
    """Reset a resource in every process that is forked from this one.

    Parameters
    ----------
    resource
        Its `reset_after_fork` is called in every forked process.
    lock
        Held while the process forks, for a resource that must not be in use then.
    """
    _RESOURCES[resource] = lock


def _take_locks() -> None:
    _FORKING.acquire()
    _held[:] = _RESOURCES.items()
    for _, lock in _held:
        if lock is not None:
            lock.acquire()


def _release_locks() -> None:
    for _, lock in _held:
        if lock is not None:
            lock.release()
    _held.clear()
    _FORKING.release()


def _reset_all() -> None:
    for resource, _ in _held:
        resource.reset_after_fork()
    _release_locks()  # the locks are held in this process, too


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(
        before=_take_locks,
        after_in_parent=_release_locks,
        after_in_child=_reset_all,
    )
