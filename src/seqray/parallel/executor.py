"""Executors: what runs the same function on many jobs, here or elsewhere.

A `Task` holds the function. It travels to a worker once, and stays there for all jobs of the task,
so it may hold what is expensive to make, such as an open black box. Outcomes come as they are
ready, in any order. An executor stores nothing.

A job is never split by the number of workers, so that results do not depend on it. Every worker
computes on one thread: more would slow each other down.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import traceback
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from seqray.util.errors import SeqrayError

JobType = TypeVar("JobType")
ResultType = TypeVar("ResultType")

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables by which libraries choose their number of threads when they load."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""What `keep_memory` sets, as the C library of Linux numbers it."""

TICK_SECONDS = 0.1
"""How often an executor that waits for outcomes calls its check."""

JOBS_PER_WORKER = 2
"""Jobs under way for each worker: one that runs, and one that is there when it ends."""

MAX_LOSSES = 3
"""How many workers may die over one job before the job counts as the cause."""

Check: TypeAlias = Callable[[], None]
"""Raises an exception where work has to end; called while an executor waits."""

Jobs: TypeAlias = Iterable[tuple[Hashable, JobType]]
"""Jobs with their names; an executor takes the next one when a worker is free."""


def never() -> None:
    """Do nothing: the `Check` of work that always goes on to its end."""


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

    job: Any
    result: ResultType | None = None
    error: str = ""


@dataclass(frozen=True, eq=False)
class Task(Generic[JobType, ResultType]):
    """A function for many jobs.

    Parameters
    ----------
    function
        Takes a job. For other processes it has to be a function of a module, or an object that can
        be pickled; it is unpickled once per worker.

    Examples
    --------
    >>> Task(abs).function(-3)
    3
    """

    function: Callable[[JobType], ResultType]

    @cached_property
    def packed(self) -> bytes:
        """The function as it travels."""
        return pickle.dumps(self.function)

    @cached_property
    def token(self) -> str:
        """What workers know the task by."""
        return uuid.uuid4().hex


@runtime_checkable
class Executor(Protocol):
    """Runs the function of a task on jobs."""

    @property
    def n_workers(self) -> int:
        """How many jobs can run at the same time now."""

    def run(
        self,
        task: Task[JobType, ResultType],
        jobs: Jobs[JobType],
        *,
        check: Check = never,
        max_losses: int = MAX_LOSSES,
    ) -> Iterator[Outcome[ResultType]]:
        """Run all jobs, and yield the outcome of each as soon as it is known.

        A job that fails stops no other. Whoever closes the iterator, or raises in ``check``,
        cancels what is under way.

        Parameters
        ----------
        task
            What to do.
        jobs
            On what, by name. They are taken one by one, as workers become free.
        check
            Called while the executor waits.
        max_losses
            How many workers may die over one job; the next one makes it fail.
        """

    def close(self) -> None:
        """End the workers that the executor has started."""


class Here:
    """Runs jobs in this process, one after the other.

    Examples
    --------
    >>> for outcome in Here().run(Task(abs), [("two", -2), ("three", -3)]):
    ...     print(outcome)
    Outcome(job='two', result=2, error='')
    Outcome(job='three', result=3, error='')
    """

    n_workers = 1

    def run(
        self,
        task: Task[JobType, ResultType],
        jobs: Jobs[JobType],
        *,
        check: Check = never,
        max_losses: int = MAX_LOSSES,
    ) -> Iterator[Outcome[ResultType]]:
        """Run jobs in their order; see `Executor.run`."""
        for name, job in jobs:
            check()
            with one_thread():
                outcome = outcome_of(name, task.function, job)
            yield outcome

    def close(self) -> None:
        """Do nothing: there are no workers."""


def outcome_of(
    name: Hashable, function: Callable[[JobType], ResultType], job: JobType
) -> Outcome[ResultType]:
    """Run one job, and return its result or its error."""
    try:
        return Outcome(name, function(job))
    except SeqrayError as error:
        return Outcome(name, error=str(error))
    except Exception as error:  # a mistake in the function: say where, and let the others run
        at = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} (in {at.name}, {at.filename}:{at.lineno})"
        return Outcome(name, error=text)


class UnpackedTask:
    """A task on a worker; its function is unpacked for the first job, and then stays."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    @cached_property
    def _function(self) -> Callable[[Any], Any]:
        function: Callable[[Any], Any] = pickle.loads(self._packed)
        return function

    def packed_outcome(self, name: Hashable, packed_job: bytes) -> bytes:
        """Run a job, and return its outcome as it travels."""

        def work(job: bytes) -> bytes:
            return pickle.dumps(Outcome(name, self._function(pickle.loads(job))))

        outcome = outcome_of(name, work, packed_job)
        return pickle.dumps(outcome) if outcome.result is None else outcome.result


def one_thread() -> Any:
    """Keep libraries on one thread inside a ``with`` block."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - after the number is set

    return threadpool_limits(limits=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's products on one thread inside a ``with`` block, unless the environment chooses.

    They are small. Two threads are hardly faster where nothing else runs, and many times slower
    where something does: each waits for the other. Threads of PyTorch and its like stay.
    """
    if any(os.environ.get(name) for name in THREAD_VARIABLES):
        yield
        return
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - after NumPy has loaded

    with threadpool_limits(limits=1, user_api="blas"):
        yield


@cache
def stay_on_one_thread() -> None:
    """Keep libraries on one thread in this process from now on."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    one_thread()


@cache
def keep_memory() -> None:
    """Let a worker keep the memory of freed arrays.

    Dask's nanny has processes give it back at once (``MALLOC_TRIM_THRESHOLD_``), also those that
    inherit its environment. To get it anew takes several times as long as the steps of a network.
    """
    with suppress(OSError, AttributeError):  # no C library of Linux
        allocator = ctypes.CDLL(None)
        allocator.mallopt(M_MMAP_THRESHOLD, 2**25)
        allocator.mallopt(M_TRIM_THRESHOLD, 2**27)
