"""Dask as an executor: the only module that knows Dask, and it imports it when it is used.

Dask finds workers, moves data and runs the jobs of a lost worker again. Here is what seqray adds:
few jobs are under way at a time, so that little is lost with a worker, and outcomes are fetched as
soon as they are there; a task stays open on a worker; every worker computes on one thread.

A task travels with the first job of each worker. It is no dependency of the jobs: Dask would give
them all to the one worker that has it, until it sees that others are idle.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import pickle
import queue
import signal
import threading
import time
import warnings
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from seqray.parallel.executor import (
    JOBS_PER_WORKER,
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
from seqray.util.errors import ArgumentError, MissingExtraError, SeqrayError, install_hint

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 15
"""How long to wait for a scheduler."""

COUNT_SECONDS = 2.0
"""How often the scheduler is queried for its number of workers."""

MAX_OPEN_TASKS = 4
"""Tasks that stay open on every worker."""

ANY_LANE = ""
"""The lane of a job that brings its task to whichever worker runs it."""


class DaskCluster:
    """Runs jobs on the workers of a Dask cluster; see `connected`.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    owned
        What to close in the end: the client and the cluster, where seqray has made them.
    """

    def __init__(self, client: Any, owned: tuple[Any, ...] = ()) -> None:
        self._client, self._owned = client, owned
        self._sent: deque[str] = deque(maxlen=MAX_OPEN_TASKS)  # tokens of tasks
        self._numbers = itertools.count()
        self._lanes: list[str] = []
        self._counted = float("-inf")

    @property
    def n_workers(self) -> int:
        """How many jobs can run at the same time, as of a few seconds before."""
        return len(self.lanes)

    @property
    def lanes(self) -> list[str]:
        """For each job that can run at the same time, the address of its worker."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            before, n_threads = self._lanes, self._client.nthreads()
            self._lanes = [address for address, n in n_threads.items() for _ in range(n)]
            if not self._lanes and (before or self._counted < 0):
                logger.warning(
                    "the Dask scheduler has no workers: waiting for one (start one with: dask "
                    "worker %s)",
                    self._client.scheduler.address,
                )
            self._counted = time.monotonic()
        return self._lanes

    def run(
        self,
        task: Task[JobType, ResultType],
        jobs: Jobs[JobType],
        *,
        check: Check = never,
        max_losses: int = MAX_LOSSES,
    ) -> Iterator[Outcome[ResultType]]:
        """Run all jobs; see `seqray.parallel.executor.Executor.run`.

        How many workers may die over a job is a setting of the scheduler
        (``distributed.scheduler.allowed-failures``), 3 by default.
        """
        mailbox: queue.SimpleQueue[str] = queue.SimpleQueue()  # keys of jobs that are done
        waiting, running = iter(jobs), dict[str, _RemoteJob]()
        outcomes: deque[Outcome[ResultType]] = deque()
        is_new = task.token not in self._sent
        n_per_worker = 1 if is_new else JOBS_PER_WORKER  # whoever makes jobs learns of the first
        without_task = iter(self.lanes if is_new else [])
        if is_new:
            self._sent.append(task.token)
        try:
            while True:
                check()
                n_unfinished = len(running) + len(outcomes)
                n_free = n_per_worker * max(1, self.n_workers) - n_unfinished
                for name, job in itertools.islice(waiting, max(0, n_free)):
                    packed, lane = pickle.dumps(job), next(without_task, None)
                    self._submit(task, name, packed, mailbox, running, lane)
                if outcomes:
                    n_per_worker = JOBS_PER_WORKER
                    yield outcomes.popleft()
                    continue
                if not running:
                    return
                done = [running.pop(key) for key in _received(mailbox) if key in running]
                again = self._stranded(running)
                for each, outcome in zip(done, self._fetched(done), strict=True):
                    if outcome is None:
                        again.append(each)
                    else:
                        outcomes.append(outcome)
                for each in again:
                    self._submit(task, each.name, each.packed, mailbox, running, ANY_LANE)
        except OSError as error:
            raise SeqrayError(
                f"the Dask scheduler {self._client.scheduler.address} does not answer any more "
                f"({error}): run the same again when it does"
            ) from error
        finally:
            if running:
                with suppress(Exception):  # the scheduler may be gone
                    self._client.cancel([each.future for each in running.values()], force=True)

    def _submit(
        self,
        task: Task[JobType, ResultType],
        name: Hashable,
        packed: bytes,
        mailbox: queue.SimpleQueue[str],
        running: dict[str, _RemoteJob],
        lane: str | None,
    ) -> None:
        """Send a job; its key comes to the mailbox when it is done.

        With a lane it goes to that worker, if that still runs, and the task with it.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # few jobs bring the task
            future = self._client.submit(
                _work,
                *(task.token, b"" if lane is None else task.packed, name, packed),
                key=f"seqray-{task.token}-{next(self._numbers)}",
                pure=False,
                workers=[lane] if lane else None,
                allow_other_workers=bool(lane),
            )
        key = future.key
        running[key] = _RemoteJob(name, packed, lane, future)
        future.add_done_callback(lambda _: mailbox.put(key))  # on a thread of Dask's

    def _stranded(self, running: dict[str, _RemoteJob]) -> list[_RemoteJob]:
        """Remove and return the jobs that the scheduler keeps for a worker that is gone.

        It does so where no other worker ran when that one died, even if new ones come.
        """
        lanes = self.lanes
        lost = {key: job for key, job in running.items() if job.lane and job.lane not in lanes}
        if not lost or not lanes:
            return []
        for keys in self._client.processing().values():
            lost = {key: job for key, job in lost.items() if key not in keys}
        stranded = {key: job for key, job in lost.items() if job.future.status == "pending"}
        self._client.cancel([job.future for job in stranded.values()], force=True)
        return [running.pop(key) for key in stranded]

    def _fetched(self, done: list[_RemoteJob]) -> list[Outcome[Any] | None]:
        """Fetch the outcomes of jobs, all at once; None where the worker did not have the task."""
        futures = [each.future for each in done]
        try:
            fetched = [pickle.loads(each) for each in self._client.gather(futures)]
        except (Exception, asyncio.CancelledError):  # of one of them, or more
            fetched = [_outcome(each) for each in done]
        for future in futures:
            future.release()
        return fetched

    def close(self) -> None:
        """Close the client and the cluster, where seqray has made them."""
        for each in self._owned:
            each.close()


def connected(address: str | None) -> DaskCluster:
    """Return the cluster of a scheduler, or for None a new one on this machine.

    A new one has one worker process per core, each with one thread.
    """
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            f"executor: Dask is not installed: {install_hint('dist')}, or choose processes:N"
        ) from error
    dask: Any = distributed
    if address is None:
        cluster = dask.LocalCluster(
            host="127.0.0.1",
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        client = dask.Client(cluster, set_as_default=False)

        class LeaveCtrlC(dask.WorkerPlugin):  # type: ignore[misc]
            """Ctrl-C in a terminal reaches workers too, but it is the caller's."""

            def setup(self, worker: Any) -> None:
                signal.signal(signal.SIGINT, signal.SIG_IGN)

        client.register_plugin(LeaveCtrlC())
        return DaskCluster(client, (client, cluster))
    try:
        client = dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"executor: no Dask scheduler answers at {address}: expected one, as the command `dask "
            f"scheduler` starts it ({error})"
        ) from error
    return DaskCluster(client, (client,))


def is_client(given: object) -> bool:
    """Whether an object is a ``distributed.Client``; Dask is not imported for that."""
    return any(
        each.__module__.partition(".")[0] == "distributed" and each.__name__ == "Client"
        for each in type(given).__mro__
    )


class _RemoteJob(NamedTuple):
    """A job as it travels, the worker that it is for, and the future of its outcome."""

    name: Hashable
    packed: bytes
    lane: str | None
    future: Any


def _received(mailbox: queue.SimpleQueue[str]) -> Iterator[str]:
    """Yield what is in a mailbox; wait for a while if there is nothing."""
    with suppress(queue.Empty):
        yield mailbox.get(timeout=TICK_SECONDS)
        while True:
            yield mailbox.get_nowait()


def _outcome(done: _RemoteJob) -> Outcome[Any] | None:
    """Fetch the outcome of one job."""
    try:
        outcome: Outcome[Any] | None = pickle.loads(done.future.result())
    except (Exception, asyncio.CancelledError) as error:
        return Outcome(done.name, error=_failure(error))
    return outcome


def _failure(error: BaseException) -> str:
    name = type(error).__name__
    if name == "KilledWorker":
        return (
            "several workers died over it, one after the other: memory may have run out; try "
            "workers with more memory"
        )
    return f"{name}: {error}"


# On a worker --------------------------------------------------------------------------------------

_TASKS: OrderedDict[str, bytes] = OrderedDict()
"""Tasks as they travelled, by token."""

_OPEN = threading.local()


def _work(token: str, packed_task: bytes, name: Hashable, job: bytes) -> bytes:
    """Run a job of a task, which stays open on this thread for the next one.

    Return its outcome, or None if the task has not come here, as it travels.
    """
    stay_on_one_thread()
    keep_memory()
    if packed_task:
        _remember(_TASKS, token, packed_task)
    open_tasks: OrderedDict[str, UnpackedTask] = _OPEN.__dict__.setdefault("tasks", OrderedDict())
    if token not in open_tasks:
        known = _TASKS.get(token)
        if known is None:
            return pickle.dumps(None)
        _remember(open_tasks, token, UnpackedTask(known))
    return open_tasks[token].packed_outcome(name, job)


def _remember(tasks: OrderedDict[str, Any], token: str, task: Any) -> None:
    """Add a task, and forget the oldest if there are too many."""
    tasks[token] = task
    while len(tasks) > MAX_OPEN_TASKS:
        tasks.popitem(last=False)
