"""How long-running work reports its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def shown_progress(
    progress: Progress | bool | None, title: str = "querying the box", unit: str = "answers"
) -> Iterator[Progress | None]:
    """Yield what is called with the progress: for True a bar of seqray's own.

    The bar is there while the block runs, on a terminal or below the cell of a notebook.

    >>> with shown_progress(None) as progress:
    ...     progress is None
    True
    """
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        from seqray.util.progress_bar import own_bar  # noqa: PLC0415 - rich takes time to import

        with own_bar(title, unit) as bar:
            yield bar
