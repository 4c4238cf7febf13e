"""Dask as an executor: the only module that knows Dask, and it imports it when it is used.

Dask finds workers, moves data and runs the jobs of a lost worker again. Here is what seqray adds:
few jobs are under way at a time, so that little is lost with a worker, and each outcome is fetched
as soon as it is there; a task stays open on a worker; every worker computes on one thread.
"""

from __future__ import annotations

import itertools
import logging
import pickle
import queue
import signal
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import suppress
from typing import Any

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
"""Tasks that stay open, with the caller and on every worker."""


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
        self._packed: OrderedDict[str, Any] = OrderedDict()  # what was sent, by token
        self._numbers = itertools.count()
        self._n_workers, self._counted = 0, float("-inf")

    @property
    def n_workers(self) -> int:
        """How many jobs can run at the same time, as of a few seconds before."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            before = self._n_workers
            self._n_workers = sum(self._client.nthreads().values())
            if not self._n_workers and (before or self._counted < 0):
                logger.warning(
                    "the Dask scheduler has no workers: waiting for one (start one with: dask "
                    "worker %s)",
                    self._client.scheduler.address,
                )
            self._counted = time.monotonic()
        return self._n_workers

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
        mailbox: queue.SimpleQueue[Outcome[ResultType]] = queue.SimpleQueue()
        waiting, running = iter(jobs), dict[Hashable, Any]()
        try:
            while True:
                check()
                n_free = JOBS_PER_WORKER * max(1, self.n_workers) - len(running)
                for name, job in itertools.islice(waiting, max(0, n_free)):
                    running[name] = self._submit(task, name, job, mailbox)
                if not running:
                    return
                with suppress(queue.Empty):
                    outcome = mailbox.get(timeout=TICK_SECONDS)
                    running.pop(outcome.job).release()
                    yield outcome
        except OSError as error:
            raise SeqrayError(
                f"the Dask scheduler {self._client.scheduler.address} does not answer any more "
                f"({error}): run the same again when it does"
            ) from error
        finally:
            if running:
                with suppress(Exception):  # the scheduler may be gone
                    self._client.cancel(list(running.values()), force=True)

    def _submit(
        self,
        task: Task[JobType, ResultType],
        name: Hashable,
        job: JobType,
        mailbox: queue.SimpleQueue[Outcome[ResultType]],
    ) -> Any:
        """Send a job; its outcome comes to the mailbox."""
        remote = self._client.submit(
            _work,
            *(task.token, self._sent(task), name, pickle.dumps(job)),
            key=f"seqray-{task.token}-{next(self._numbers)}",
            pure=False,
        )

        def fetch(done: Any) -> None:  # on a thread of Dask's
            try:
                outcome = pickle.loads(done.result())
            except BaseException as error:
                outcome = Outcome(name, error=_failure(error))
            mailbox.put(outcome)

        remote.add_done_callback(fetch)
        return remote

    def _sent(self, task: Task[Any, Any]) -> Any:
        """Return a task as the workers get it: from each other, and again if it is lost."""
        if task.token not in self._packed:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")  # it is sent once
                self._packed[task.token] = self._client.submit(
                    _same, task.packed, key=f"seqray-{task.token}", pure=False
                )
            while len(self._packed) > MAX_OPEN_TASKS:
                self._packed.popitem(last=False)[1].release()
        return self._packed[task.token]

    def close(self) -> None:
        """Close the client and the cluster, where seqray has made them."""
        while self._packed:
            self._packed.popitem()[1].release()
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


def _failure(error: BaseException) -> str:
    name = type(error).__name__
    if name == "KilledWorker":
        return (
            "several workers died over it, one after the other: memory may have run out; try "
            "workers with more memory"
        )
    return f"{name}: {error}"


# On a worker --------------------------------------------------------------------------------------

_OPEN = threading.local()


def _same(packed: bytes) -> bytes:
    return packed


def _work(token: str, packed: bytes, name: Hashable, job: bytes) -> bytes:
    """Run a job of a task, which stays open on this thread for the next one."""
    stay_on_one_thread()
    keep_memory()
    tasks: OrderedDict[str, UnpackedTask] = _OPEN.__dict__.setdefault("tasks", OrderedDict())
    if token not in tasks:
        tasks[token] = UnpackedTask(packed)
        while len(tasks) > MAX_OPEN_TASKS:
            tasks.popitem(last=False)
    return tasks[token].packed_outcome(name, job)
