"""Members of one computation, which work step by step on the same arrays in several processes.

The arrays lie in memory that the processes share, where the system is Linux. Elsewhere all members
work in this process. What they compute does not depend on the number of processes.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from seqray.parallel.cores import line_to_caller, send, start_helper
from seqray.util.arrays import FloatArray

MemberType = TypeVar("MemberType")

Shape: TypeAlias = tuple[int, ...]

DONE = b"."
"""What a helper answers when its members have done a task."""


class HelperDied(Exception):  # noqa: N818 - what happened
    """A helper process is gone, in the middle of a task: the arrays are not to be used."""


class Team(Generic[MemberType]):
    """Members, each in this process or in a helper process, inside a ``with`` block.

    Parameters
    ----------
    members
        Values that can be pickled. Their methods take the arrays first.
    shapes
        The shapes of the arrays, float32, which are 0 at first.
    n_processes
        How many processes at most, this one included.

    Examples
    --------
    >>> class Adder:
    ...     def add(self, arrays, number):
    ...         arrays[0] += number
    >>> with Team([Adder(), Adder()], [(3,)], 1) as team:
    ...     team.run("add", 2)
    ...     print(team.arrays[0])
    [4. 4. 4.]
    """

    def __init__(
        self, members: Sequence[MemberType], shapes: Sequence[Shape], n_processes: int
    ) -> None:
        n = min(n_processes, len(members)) if hasattr(os, "memfd_create") else 1
        self.members, self._here, self._helpers = members, members[::n], list[_Partner]()
        try:
            self.arrays = self._begun(shapes, n) if n > 1 else [*_zeros(shapes)]
        except BaseException:
            self._stop()
            raise

    def _begun(self, shapes: Sequence[Shape], n: int) -> list[FloatArray]:
        """Start the helpers; return the arrays that all processes share."""
        try:
            with open(os.memfd_create("seqray"), "wb") as memory:
                memory.truncate(sum(map(_n_bytes, shapes)))
                for _ in range(1, n):
                    self._helpers.append(_Partner(memory.fileno()))
                arrays = [*_shared(memory.fileno(), shapes)]
        except OSError as error:
            raise HelperDied from error
        for number, helper in enumerate(self._helpers, 1):
            helper.tell((self.members[number::n], shapes))
        return arrays

    def __enter__(self) -> Team[MemberType]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        for helper in self._helpers:
            helper.stop()

    def run(self, task: str, *arguments: object) -> None:
        """Let every member do a task, which is the name of a method; return when all are done.

        Raises
        ------
        HelperDied
            If a helper process is gone, or an exception ended it.
        """
        for helper in self._helpers:
            helper.tell((task, arguments))
        _do(self._here, self.arrays, task, arguments)
        for helper in self._helpers:
            helper.wait()


class _Partner:
    """A process in which some members work."""

    def __init__(self, descriptor: int) -> None:
        self._process = start_helper(__name__, f"serve({descriptor})", descriptor)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to_helper, self._from_helper = self._process.stdin, self._process.stdout

    def tell(self, what: object) -> None:
        """Send members, or a task with its arguments."""
        try:
            send(self._to_helper, pickle.dumps(what))
        except OSError as error:
            raise HelperDied from error

    def wait(self) -> None:
        """Return when the task is done."""
        if self._from_helper.read(len(DONE)) != DONE:
            raise HelperDied

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(OSError):  # what was sent and not read
            self._process.communicate()


def serve(descriptor: int) -> None:
    """Do tasks that come through standard input, until the caller is gone."""
    line = line_to_caller()
    try:
        members, shapes = pickle.load(sys.stdin.buffer)
        arrays = [*_shared(descriptor, shapes)]
        while True:
            _do(members, arrays, *pickle.load(sys.stdin.buffer))
            send(line, DONE)
    except (EOFError, OSError, MemoryError):
        os._exit(1)


def _do(
    members: Sequence[object],
    arrays: Sequence[FloatArray],
    task: str,
    arguments: tuple[object, ...],
) -> None:
    for member in members:
        getattr(member, task)(arrays, *arguments)


def _zeros(shapes: Sequence[Shape]) -> Iterator[FloatArray]:
    return (np.zeros(shape, np.float32) for shape in shapes)


def _shared(descriptor: int, shapes: Sequence[Shape]) -> Iterator[FloatArray]:
    """Yield arrays in the memory of a descriptor, one after the other."""
    memory = mmap.mmap(descriptor, sum(map(_n_bytes, shapes)))
    begin = 0
    for shape in shapes:
        n_bytes = _n_bytes(shape)
        yield np.frombuffer(memory, np.float32, n_bytes // 4, begin).reshape(shape)
        begin += n_bytes


def _n_bytes(shape: Shape) -> int:
    """Return how much memory an array takes."""
    return 4 * math.prod(shape)
