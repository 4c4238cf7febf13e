"""How long-running work reports its progress."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many queries are answered, and how many there are."""


@runtime_checkable
class PhasedProgress(Protocol):
    """A `Progress` that also receives what is being done."""

    def __call__(self, done: int, total: int, /) -> None:
        """Receive how much of this phase is done, and how much there is."""

    def phase(self, name: str, unit: str, /) -> None:
        """Receive the name of the next phase, and the unit that it counts."""
