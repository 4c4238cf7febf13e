"""A pool of processes: runs named jobs in this process or in several others.

An executor takes named jobs and a function, and reports the outcome of each job as soon as it is
done. It stores nothing: a caller that wants to resume after a break stores the outcomes, and next
time passes only the jobs that are missing. A job that fails, or whose process is killed, does not
stop the others.

Every process computes on one thread: more would slow each other down, and results must not depend
on where they are computed.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection, get_context, parent_process
from typing import Any, Generic, Protocol, TypeVar

from seqray.util.errors import ArgumentError, SeqrayError

JobType = TypeVar("JobType")
ResultType = TypeVar("ResultType")

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables by which libraries choose their number of threads when they load."""


@dataclass(frozen=True)
class Outcome(Generic[ResultType]):
    """The outcome of a job.

    Parameters
    ----------
    job
        Its name.
    result
        What the function returned; None where it failed.
    error
        What went wrong, in a line; empty where nothing did.

    Examples
    --------
    >>> Outcome("three", 9)
    Outcome(job='three', result=9, error='')
    """

    job: str
    result: ResultType | None = None
    error: str = ""


class Executor(Protocol):
    """Runs a function on named jobs, and calls ``on_done`` with each outcome as it comes."""

    def __call__(
        self,
        jobs: Mapping[str, JobType],
        function: Callable[[JobType], ResultType],
        on_done: Callable[[Outcome[ResultType]], None],
    ) -> None:
        """Run all jobs; returns when the last one is done."""


def here(
    jobs: Mapping[str, JobType],
    function: Callable[[JobType], ResultType],
    on_done: Callable[[Outcome[ResultType]], None],
) -> None:
    """Run jobs in this process, one after the other.

    Parameters
    ----------
    jobs
        By name, in the order in which they are to run.
    function
        What to run on each.
    on_done
        Called with each `Outcome` as soon as it is known.

    Examples
    --------
    >>> here({"two": 2, "three": 3}, lambda n: n * n, print)
    Outcome(job='two', result=4, error='')
    Outcome(job='three', result=9, error='')
    """
    with _one_thread():
        for name, job in jobs.items():
            on_done(_outcome(name, function, job))


def processes(n_workers: int) -> Executor:
    """Return an executor that runs jobs in other processes, several at a time.

    Jobs, the function and its results travel between processes, so they have to be values that
    can be pickled; the function is one of a module. A process that dies is replaced, and its job
    is reported. When the caller is interrupted or dies, so do the processes.

    Parameters
    ----------
    n_workers
        How many processes; each computes on one thread.

    Examples
    --------
    >>> from math import factorial
    >>> results = {}
    >>> processes(2)({"a": 3, "b": 5}, factorial, lambda o: results.update({o.job: o.result}))
    >>> sorted(results.items())
    [('a', 6), ('b', 120)]
    """
    if n_workers < 1:
        raise ArgumentError(f"n_workers: expected 1 or more, got {n_workers}")
    return partial(_run_in_processes, n_workers)


def _run_in_processes(
    n_workers: int,
    jobs: Mapping[str, JobType],
    function: Callable[[JobType], ResultType],
    on_done: Callable[[Outcome[ResultType]], None],
) -> None:
    waiting = list(jobs.items())[::-1]
    packed = pickle.dumps(function)  # so that what cannot travel is refused here, not there
    busy: dict[connection.Connection, tuple[_Worker, str]] = {}
    idle: list[_Worker] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < n_workers:
                name, job = waiting.pop()
                worker = idle.pop() if idle else _Worker(packed)
                busy[worker.line] = (worker, name)
                worker.give(name, job)
            for line in connection.wait(list(busy)):
                assert isinstance(line, connection.Connection)
                worker, name = busy.pop(line)
                outcome = worker.take(name)
                (idle if worker.alive else []).append(worker)
                on_done(outcome)
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.stop()


class _Worker:
    """A process that runs one job at a time, and the line to it."""

    def __init__(self, packed: bytes) -> None:
        context = get_context("spawn")  # a fork would copy locks that another thread holds
        self.line, far_end = context.Pipe()
        self.alive = True
        # A daemon ends with this process, if that ends normally.
        self.process = context.Process(target=_work, args=(far_end, packed), daemon=True)
        self.process.start()
        far_end.close()  # so that the line breaks when the process dies

    def give(self, name: str, job: Any) -> None:
        packed = pickle.dumps(job)
        with suppress(OSError):  # it died before it was given anything: `take` will say so
            self.line.send_bytes(name.encode())
            self.line.send_bytes(packed)

    def take(self, name: str) -> Outcome[Any]:
        try:
            outcome = pickle.loads(self.line.recv_bytes())
        except (EOFError, OSError):
            self.alive = False
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


def _work(line: connection.Connection, packed: bytes) -> None:
    """Run jobs until there is nobody left to give any: what a process of its own does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's, who ends this process
    threading.Thread(target=_end_with_caller, daemon=True).start()
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    with _one_thread():
        while True:
            try:
                name, job = line.recv_bytes(), line.recv_bytes()
            except EOFError:
                return
            line.send_bytes(_packed_outcome(name.decode(), packed, job))


def _packed_outcome(name: str, packed: bytes, packed_job: bytes) -> bytes:
    def work(job: bytes) -> bytes:
        result = pickle.loads(packed)(pickle.loads(job))
        return pickle.dumps(Outcome(name, result))

    outcome = _outcome(name, work, packed_job)
    return pickle.dumps(outcome) if outcome.result is None else outcome.result


def _end_with_caller() -> None:
    """End this process when the one that started it is gone, even if that was killed."""
    caller = parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)


def _outcome(
    name: str, function: Callable[[JobType], ResultType], job: JobType
) -> Outcome[ResultType]:
    try:
        return Outcome(name, function(job))
    except SeqrayError as error:
        return Outcome(name, error=str(error))
    except Exception as error:  # a mistake in the function: say where, and let the others run
        at = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} (in {at.name}, {at.filename}:{at.lineno})"
        return Outcome(name, error=text)


def _one_thread() -> Any:
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - after the number is set

    return threadpool_limits(limits=1)
