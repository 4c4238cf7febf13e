"""Pieces of a walk that workers read from the states of a box.

States do not travel. Each worker makes the walk itself, by the very same steps as this process,
and reads its pieces from the states that it comes by: so all values are the same to the bit,
however many workers there are. The walk alone takes few steps: one per row, where a row is read by
as many steps as there are suffixes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from seqray.blackbox.parcel import BoxParcel, BoxWorkers
from seqray.blackbox.queries.limits import Meter
from seqray.blackbox.queries.oracle import Oracle, open_oracle
from seqray.parallel.executor import Task
from seqray.util.errors import BlackBoxError, Stopped

STEPS_PER_JOB = 250_000
"""A worker gets pieces that take about so many steps."""


class WalkPiece(Protocol):
    """A part of what is read during a walk."""

    @property
    def number(self) -> int:
        """Its number, in the order of the walk, from 0."""

    @property
    def max_steps(self) -> int:
        """The most steps that it takes."""


PieceType = TypeVar("PieceType", bound=WalkPiece)


class PieceAnswers(NamedTuple):
    """What a worker read, one value per piece, and how many steps that took."""

    values: list[Any]
    n_steps: int


@dataclass(frozen=True, eq=False)
class WalkTask(ABC, Generic[PieceType]):
    """Reads pieces of a walk by their numbers, on a worker.

    Parameters
    ----------
    parcel
        How the worker opens the box.
    """

    parcel: BoxParcel

    @abstractmethod
    def pieces(self) -> Iterator[PieceType]:
        """Walk, and yield all pieces."""

    @abstractmethod
    def read(self, piece: PieceType) -> Any:
        """Return what a piece holds."""

    @cached_property
    def oracle(self) -> Oracle:
        """What counts the steps of the box, without limits."""
        return open_oracle(self.parcel.opened())

    def __call__(self, numbers: Sequence[int]) -> PieceAnswers:
        """Return the values of pieces, given in the order of the walk."""
        values, n_steps, meter = [], 0, self.oracle.meter
        for number in numbers:
            piece = self._position.go_to(number)
            before = meter.n_sent
            values.append(self.read(piece))
            n_steps += meter.n_sent - before
        return PieceAnswers(values, n_steps)

    @cached_property
    def _position(self) -> _Position[PieceType]:
        return _Position(self.pieces)


class _Position(Generic[PieceType]):
    """Where in its walk a worker is: it goes on, or starts again for a piece that lies behind."""

    def __init__(self, begin: Callable[[], Iterator[PieceType]]) -> None:
        self.begin, self.pieces = begin, begin()
        self.piece: PieceType | None = None

    def go_to(self, number: int) -> PieceType:
        if self.piece is not None and self.piece.number > number:
            self.pieces, self.piece = self.begin(), None
        while self.piece is None or self.piece.number < number:
            self.piece = next(self.pieces)
        return self.piece


def read_pieces(
    workers: BoxWorkers,
    task: Task[Sequence[int], PieceAnswers],
    pieces: Iterator[PieceType],
    meter: Meter,
    read_here: Callable[[PieceType], Any],
    n_walk_steps: int,
) -> Iterator[tuple[PieceType, Any]]:
    """Yield pieces with what workers read of them, in any order.

    No piece is sent whose steps the budget may not allow: that one is read here, where the meter
    stops it at the very step. What was sent is always counted and yielded, also where the walk
    itself comes to the end of the budget meanwhile.

    Parameters
    ----------
    workers
        Who reads.
    task
        Holds the `WalkTask`.
    pieces
        All there is to read.
    meter
        Counts the steps.
    read_here
        Reads one piece in this process; its steps are counted.
    n_walk_steps
        The most steps of the walk itself. They are left to it when pieces are sent.
    """
    queue = _PieceQueue(meter, pieces, n_walk_steps)
    while True:
        for outcome in workers.executor.run(task, queue.jobs(), check=meter.check):
            sent = queue.taken(outcome.job)
            if outcome.result is None:
                raise BlackBoxError(outcome.error)
            n_steps = outcome.result.n_steps
            meter.allow(n_steps)
            meter.n_sent += n_steps
            meter.report(n_steps)
            yield from zip(sent, outcome.result.values, strict=True)
        if queue.stopped is not None:
            raise queue.stopped
        if queue.refused is None:
            return
        yield queue.refused, read_here(queue.refused)


class _PieceQueue(Generic[PieceType]):
    """Makes jobs of pieces, as long as the budget allows all that is under way."""

    def __init__(self, meter: Meter, pieces: Iterator[PieceType], n_walk_steps: int) -> None:
        self.meter, self.n_walk_steps = meter, n_walk_steps
        self.pieces = self._within_limits(pieces)
        self.sent: dict[int, list[PieceType]] = {}
        self.n_open = 0  # the most steps of what was sent
        self.refused: PieceType | None = None
        self.stopped: Stopped | None = None  # what ended the walk

    def jobs(self) -> Iterator[tuple[int, Sequence[int]]]:
        self.refused = None
        job: list[PieceType] = []
        n_steps = 0
        for piece in self.pieces:
            n_reserved = self.n_open + n_steps + self.n_walk_steps
            if n_reserved + piece.max_steps > self.meter.left:
                self.refused = piece
                break
            job.append(piece)
            n_steps += piece.max_steps
            if n_steps >= STEPS_PER_JOB:
                yield self._send(job)
                job, n_steps = [], 0
        if job:
            yield self._send(job)

    def _within_limits(self, pieces: Iterator[PieceType]) -> Iterator[PieceType]:
        """Walk as far as the limits allow."""
        try:
            yield from pieces
        except Stopped as stopped:
            self.stopped = stopped

    def taken(self, name: int) -> list[PieceType]:
        """Return the pieces of a job that is done."""
        job = self.sent.pop(name)
        self.n_open -= _most_steps(job)
        return job

    def _send(self, job: list[PieceType]) -> tuple[int, Sequence[int]]:
        self.sent[job[0].number] = job
        self.n_open += _most_steps(job)
        return job[0].number, [piece.number for piece in job]


def _most_steps(job: Sequence[WalkPiece]) -> int:
    return sum(piece.max_steps for piece in job)
