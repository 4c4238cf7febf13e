"""Jobs for tests of helper processes, which import them."""

import os
import signal
import sys
import time


def ignore(done, total):
    pass


def square(n, step):
    return n * n


def process_of(job, step):
    """Return the process that runs a job; meanwhile the others begin."""
    time.sleep(0.5)
    return os.getpid()


def counted(n_steps, step):
    for done in range(1, n_steps + 1):
        time.sleep(0.02)
        step(done, n_steps)
    return n_steps


def printing(job, step):
    sys.stdout.write("to standard output\n")
    return job


def dying(caller, step):
    """Kill every process but the caller's."""
    time.sleep(0.3)
    if os.getpid() != caller:
        os.kill(os.getpid(), signal.SIGKILL)
    return "here"


def failing(job, step):
    raise ValueError(f"job {job} fails")


def limit_of_threads(name, step):
    time.sleep(0.2)
    return os.environ.get(name)


class Growing:
    """Keeps what it computes in itself, as values with cached properties do."""

    def __call__(self, job, step):
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            setattr(self, f"number_{len(vars(self))}", job)
        return job
