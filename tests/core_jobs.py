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


class Adder:
    """A member of a team: writes to its place in the third array."""

    def __init__(self, number):
        self.number, self.n_calls = number, 0

    def write(self, arrays, begin):
        arrays[2][self.number] = begin + self.number

    def double(self, arrays):
        arrays[2][self.number] *= 2

    def count(self, arrays):
        self.n_calls += 1
        arrays[2][self.number] = self.n_calls

    def write_process(self, arrays):
        """Write whether this is the process of the tests."""
        arrays[2][self.number] = "pytest" in sys.modules

    def fail_elsewhere(self, arrays, caller):
        if os.getpid() != caller:
            raise ValueError("fails")
