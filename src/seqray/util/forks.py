"""What a forked process must not share with the process that it came from.

Connections and child processes are copied by a fork. Two processes that use the same one get each
other's answers, so a forked process lets go of all of them and opens its own.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Resource(Protocol):
    """What holds something that only one process may use."""

    def forget(self) -> None:
        """Let go of what belongs to the other process, without a word to anybody."""


_RESOURCES: weakref.WeakSet[Resource] = weakref.WeakSet()


def forget_in_forks(resource: Resource) -> None:
    """Make every process that is forked from this one forget what a resource holds."""
    _RESOURCES.add(resource)


def _forget_all() -> None:
    for resource in list(_RESOURCES):
        resource.forget()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_forget_all)
