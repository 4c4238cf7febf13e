"""Work of seqray's own on several cores: the caller takes jobs, and so do helper processes.

Unlike workers of an executor, helpers know nothing of the caller's script. So any program may call
`finished_jobs`, also one that does not guard its code with ``if __name__ == "__main__"``. Functions
and jobs have to be seqray's own, and picklable. A job does the same wherever it runs, so that
results do not depend on the number of cores.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any, Generic, TypeAlias, TypeVar

from seqray.parallel.executor import (
    THREAD_VARIABLES,
    TICK_SECONDS,
    keep_memory,
    one_thread,
    stay_on_one_thread,
)
from seqray.util.progress import Progress

JobType = TypeVar("JobType")
ResultType = TypeVar("ResultType")

JobFunction: TypeAlias = Callable[[JobType, Progress], ResultType]
"""Takes a job, and what to call with the number of its steps done, and of all."""

START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import {module}; {module}.{call}"
"""The program of a helper, which finds modules where the caller does."""


def n_cores() -> int:
    """Return how many cores to use: those that this process may use.

    ``OMP_NUM_THREADS`` and its like set a limit, as they do for numerical libraries.
    """
    allowed = getattr(os, "sched_getaffinity", None)
    n = len(allowed(0)) if allowed else os.cpu_count() or 1
    limits = [os.environ.get(name, "") for name in THREAD_VARIABLES]
    return min([n, *(int(limit) for limit in limits if limit.isdecimal() and int(limit) > 0)])


def finished_jobs(
    function: JobFunction[JobType, ResultType],
    jobs: Sequence[JobType],
    *,
    progress: Progress,
    n_processes: int,
) -> Iterator[tuple[int, ResultType]]:
    """Run a function on jobs, several at a time; yield the number and the result of each.

    Results come in any order. Jobs whose helper dies run in this process.

    Parameters
    ----------
    function
        What to run.
    jobs
        The jobs, which are begun in this order.
    progress
        Called with the number of steps done of all jobs, and of all; may raise to end them.
    n_processes
        How many processes at most, this one included, such as `n_cores`.

    Examples
    --------
    >>> jobs = finished_jobs(lambda n, step: n + 1, [1, 2], progress=print, n_processes=1)
    >>> list(jobs)
    [(0, 2), (1, 3)]
    """
    board = _Board[ResultType](len(jobs), progress)
    n_helpers = min(n_processes, len(jobs)) - 1
    # Packed now: while this process works, what it computes is kept in the values themselves.
    packed = [pickle.dumps(each) for each in (function, *jobs)] if n_helpers > 0 else []
    helpers = [_Helper(packed, board) for _ in range(n_helpers)]
    try:
        for helper in helpers:
            helper.thread.start()
        while board.is_open or any(helper.thread.is_alive() for helper in helpers):
            if (number := board.take()) is not None:
                with one_thread():
                    board.results.append((number, function(jobs[number], board.steps_of(number))))
            else:
                board.report()
                time.sleep(TICK_SECONDS)
            yield from board.fresh_results()
        yield from board.fresh_results()
    finally:
        for helper in helpers:
            helper.stop()


class _Board(Generic[ResultType]):
    """Which jobs nobody has taken, which results nobody has read, and how much is done of each."""

    def __init__(self, n_jobs: int, progress: Progress) -> None:
        self.n_jobs, self.progress = n_jobs, progress
        self.results: deque[tuple[int, ResultType]] = deque()
        self._waiting = deque(range(n_jobs))
        self._steps: dict[int, tuple[int, int]] = {}

    @property
    def is_open(self) -> bool:
        """Whether there are jobs that nobody has taken."""
        return bool(self._waiting)

    def take(self) -> int | None:
        """Return the number of the next job, None if there is none."""
        with suppress(IndexError):
            return self._waiting.popleft()
        return None

    def give_back(self, number: int) -> None:
        """Let a job be taken again."""
        self._waiting.append(number)

    def fresh_results(self) -> Iterator[tuple[int, ResultType]]:
        """Yield the results that came since the last call."""
        while self.results:
            yield self.results.popleft()

    def note(self, number: int, done: int, total: int) -> None:
        """Note how much of a job is done."""
        self._steps[number] = done, total

    def report(self) -> None:
        """Report the steps of all jobs; one that has not begun counts as the mean of the others."""
        if known := [*self._steps.values()]:
            total = sum(steps for _, steps in known) * self.n_jobs // len(known)
            self.progress(sum(done for done, _ in known), total)

    def steps_of(self, number: int) -> Progress:
        """Return what a job that runs in this process calls."""

        def step(done: int, total: int) -> None:
            self.note(number, done, total)
            self.report()

        return step


class _Helper:
    """A process that runs jobs, and the thread that hands them out to it."""

    def __init__(self, packed: Sequence[bytes], board: _Board[Any]) -> None:
        self._packed_function, *self._packed_jobs = packed
        self._board = board
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False
        self.thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        board, number = self._board, None
        try:
            to_helper, from_helper = self._start()
            send(to_helper, self._packed_function)
            while not self._is_stopped and (number := board.take()) is not None:
                send(to_helper, self._packed_jobs[number])
                while isinstance(answer := pickle.load(from_helper), _Steps):
                    board.note(number, *answer)
                board.results.append((number, answer))
                number = None
        except (OSError, EOFError, pickle.UnpicklingError):
            pass  # the process died
        finally:
            if number is not None:
                board.give_back(number)

    def _start(self) -> tuple[IO[bytes], IO[bytes]]:
        """Start the process; return what it reads, and what it writes."""
        self._process = process = start_helper(__name__, "serve()")
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout

    def stop(self) -> None:
        """End the process and the thread."""
        self._is_stopped = True
        while self.thread.is_alive():
            if self._process is not None:
                self._process.kill()
            self.thread.join(TICK_SECONDS)
        if self._process is not None:
            self._process.kill()
            with suppress(OSError):  # what was sent and not read
                self._process.communicate()


class _Steps(tuple[int, int]):
    """How many steps of a job are done, and how many there are."""

    __slots__ = ()


def start_helper(module: str, call: str, *descriptors: int) -> subprocess.Popen[bytes]:
    """Start a helper process that calls a function of a module and inherits some descriptors."""
    return subprocess.Popen(
        [sys.executable, "-c", START.format(module=module, call=call), json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | dict.fromkeys(THREAD_VARIABLES, "1"),
        pass_fds=descriptors,
    )


def send(line: IO[bytes], packed: bytes) -> None:
    """Send bytes at once."""
    line.write(packed)
    line.flush()


def line_to_caller() -> IO[bytes]:
    """Make this process a helper; return what its answers are written to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's, who ends this process
    stay_on_one_thread()
    keep_memory()
    line = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing that is printed comes among the answers
    return line


def serve() -> None:
    """Run jobs that come through standard input, until there are no more or the caller is gone."""
    line = line_to_caller()
    reported = time.monotonic()

    def step(done: int, total: int) -> None:
        nonlocal reported
        if time.monotonic() > reported + TICK_SECONDS:
            reported = time.monotonic()
            send(line, pickle.dumps(_Steps((done, total))))

    try:
        function = pickle.load(sys.stdin.buffer)
        while True:
            send(line, pickle.dumps(function(pickle.load(sys.stdin.buffer), step)))
    except (EOFError, OSError, MemoryError):
        os._exit(1)
