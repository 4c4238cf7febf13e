"""A pool of processes on this machine, which runs the jobs of one task after the other.

A process that dies is replaced, and its job is run again, or reported. When the caller is
interrupted or dies, so do the processes.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any

from seqray.parallel.executor import (
    MAX_LOSSES,
    TICK_SECONDS,
    Check,
    Jobs,
    JobType,
    Outcome,
    ResultType,
    Task,
    UnpackedTask,
    keep_memory,
    never,
    stay_on_one_thread,
)
from seqray.util.arrays import whole_number
from seqray.util.errors import SeqrayError

logger = logging.getLogger(__name__)

READY = b"ready"
"""The first message of a worker."""


class ProcessPool:
    """Runs jobs in other processes, several at a time.

    Jobs, functions and results travel between processes, so they have to be values that can be
    pickled. Processes are started when there are jobs for them, and stay until `close`.

    Parameters
    ----------
    n_workers
        How many processes; each computes on one thread.

    Examples
    --------
    >>> from math import factorial
    >>> pool = ProcessPool(2)
    >>> outcomes = pool.run(Task(factorial), [("a", 3), ("b", 5)])
    >>> sorted((outcome.job, outcome.result) for outcome in outcomes)
    [('a', 6), ('b', 120)]
    >>> pool.close()
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = whole_number("n_workers", n_workers, 1)
        self._idle: list[_Worker] = []

    def run(
        self,
        task: Task[JobType, ResultType],
        jobs: Jobs[JobType],
        *,
        check: Check = never,
        max_losses: int = MAX_LOSSES,
    ) -> Iterator[Outcome[ResultType]]:
        """Run all jobs; see `seqray.parallel.executor.Executor.run`."""
        waiting, again = iter(jobs), list[_Assignment]()
        busy: dict[connection.Connection, tuple[_Worker, _Assignment]] = {}
        try:
            while True:
                check()
                while len(busy) < self.n_workers:
                    given = again.pop() if again else _next(waiting)
                    if given is None:
                        break
                    worker = self._idle.pop() if self._idle else _Worker()
                    busy[worker.line] = (worker, given)
                    worker.give(task, given)
                if not busy:
                    return
                for line in connection.wait(list(busy), timeout=TICK_SECONDS):
                    assert isinstance(line, connection.Connection)
                    worker, given = busy[line]
                    if not worker.is_ready:
                        worker.begin()
                        worker.give(task, given)
                        continue
                    del busy[line]
                    outcome = worker.take(given.name)
                    if worker.is_alive:
                        self._idle.append(worker)
                    elif given.n_losses < max_losses:
                        logger.warning("%s; the job runs again in another process", outcome.error)
                        again.append(_Assignment(given.name, given.packed, given.n_losses + 1))
                        continue
                    yield outcome
        finally:
            for worker, _ in busy.values():
                worker.stop()

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().stop()


@dataclass(frozen=True)
class _Assignment:
    """A job as it travels, and how many processes died over it."""

    name: Hashable
    packed: bytes
    n_losses: int = 0


def _next(jobs: Iterator[tuple[Hashable, Any]]) -> _Assignment | None:
    for name, job in jobs:
        return _Assignment(name, pickle.dumps(job))
    return None


class _Worker:
    """A process that runs one job at a time, and the line to it."""

    def __init__(self) -> None:
        context = get_context("spawn")  # a fork would copy locks that another thread holds
        self.line, far_end = context.Pipe()
        self.is_alive, self.is_ready, self.token = True, False, ""
        # A daemon ends with this process, if that ends normally.
        self.process = context.Process(target=_work, args=(far_end,), daemon=True)
        self.process.start()
        far_end.close()  # so that the line breaks when the process dies

    def begin(self) -> None:
        """Read its first message, or say why there is none."""
        with suppress(EOFError, OSError):
            self.is_ready = self.line.recv_bytes() == READY
        if not self.is_ready:
            self.process.join()
            raise SeqrayError(
                f"a worker did not start: {_death(self.process.exitcode)}. A script that starts "
                "processes needs its code in a function, called below the line `if __name__ == "
                '"__main__":`'
            )

    def give(self, task: Task[Any, Any], given: _Assignment) -> None:
        """Send it a job, if it is ready, and the task where that is new to it."""
        if not self.is_ready:
            return  # what it is sent before may fill the line
        packed = b"" if self.token == task.token else task.packed
        self.token = task.token
        with suppress(OSError):  # it died before it was given anything: `take` will say so
            for message in (packed, pickle.dumps(given.name), given.packed):
                self.line.send_bytes(message)

    def take(self, name: Hashable) -> Outcome[Any]:
        try:
            outcome = pickle.loads(self.line.recv_bytes())
        except (EOFError, OSError):
            self.is_alive = False
            self.process.join()
            code = self.process.exitcode
            self.stop()
            return Outcome(name, error=_death(code))
        assert isinstance(outcome, Outcome)
        return outcome

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.line.close()


def _death(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its process ended unexpectedly, with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    why = ": memory may have run out; try fewer jobs at a time" if name == "SIGKILL" else ""
    return f"its process was killed ({name}){why}"


def _work(line: connection.Connection) -> None:
    """Run jobs until there is nobody left to give any: what a process of its own does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's, who ends this process
    threading.Thread(target=_end_with_caller, daemon=True).start()
    stay_on_one_thread()
    keep_memory()
    line.send_bytes(READY)
    unpacked = UnpackedTask(b"")
    while True:
        try:
            fresh, name, job = line.recv_bytes(), line.recv_bytes(), line.recv_bytes()
        except EOFError:
            return
        if fresh:
            unpacked = UnpackedTask(fresh)
        line.send_bytes(unpacked.packed_outcome(pickle.loads(name), job))


def _end_with_caller() -> None:
    """End this process when the one that started it is gone, even if that was killed."""
    caller = parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)
