"""How long work tells how far it is."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many questions are answered, and how many there are."""


@runtime_checkable
class PhasedProgress(Protocol):
    """A `Progress` that also receives what is being done."""

    def __call__(self, done: int, total: int, /) -> None:
        """Take how much is done of this phase, and how much there is."""

    def phase(self, name: str, unit: str, /) -> None:
        """Take what is done from now on, and what is counted."""
