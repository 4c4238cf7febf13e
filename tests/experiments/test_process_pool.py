import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from seqray.experiments.process_pool import THREAD_VARIABLES, here, processes
from seqray.util.errors import ArgumentError, SeqrayError

EXECUTORS = {"here": here, "processes": processes(2)}


@pytest.fixture(params=EXECUTORS, scope="module")
def executor(request):
    return EXECUTORS[request.param]


def square(n):
    if n == 3:
        raise SeqrayError("three is refused")
    if n == 4:
        return 1 / 0
    if n == 5:
        return lambda: n
    return n * n


def obey(order):
    """Do what a test says: die, say which process this is, or how many threads it may use."""
    if order == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if order == "leave":
        os._exit(7)
    if order == "threads":
        return max(library["num_threads"] for library in threadpool_info())
    return os.getpid()


def outcomes(executor, jobs, function):
    found = {}
    executor(jobs, function, lambda outcome: found.update({outcome.job: outcome}))
    assert set(found) == set(jobs)
    return found


def test_every_job_has_an_outcome_and_a_failure_stops_no_other(executor):
    found = outcomes(executor, {f"job {n}": n for n in range(1, 5)}, square)
    assert [found[f"job {n}"].result for n in (1, 2)] == [1, 4]
    assert found["job 1"].error == ""
    assert found["job 3"].error == "three is refused"
    assert found["job 4"].error.startswith("ZeroDivisionError: division by zero (in square, ")
    assert found["job 3"].result is None


def test_results_are_handed_over_as_they_come():
    seen = []

    def work(n):
        assert len(seen) == n
        return n

    here({str(n): n for n in range(3)}, work, seen.append)
    assert [outcome.result for outcome in seen] == [0, 1, 2]


def test_nothing_to_do_is_done_at_once(executor):
    assert outcomes(executor, {}, square) == {}


def test_a_result_that_cannot_travel_is_the_failure_of_its_job():
    found = outcomes(processes(1), {"bad": 5, "good": 2}, square)
    assert "pickle" in found["bad"].error
    assert found["good"].result == 4


def test_a_process_that_dies_is_reported_with_its_job_and_the_others_go_on():
    jobs = {"a": "live", "b": "die", "c": "leave", "d": "live", "e": "live"}
    found = outcomes(processes(2), jobs, obey)
    assert found["b"].error.startswith("its process was killed (SIGKILL): memory may have run out")
    assert found["c"].error == "its process ended unexpectedly, with exit code 7"
    lived = {found[name].result for name in "ade"}
    assert None not in lived
    assert os.getpid() not in lived


def test_work_is_done_on_one_thread(executor, monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "2")
    assert np.ones(2).sum() == 2  # the library is loaded here
    assert outcomes(executor, {"f": "threads"}, obey)["f"].result == 1


@pytest.mark.parametrize("n", [0, -1])
def test_no_workers_are_refused(n):
    with pytest.raises(ArgumentError, match="n_workers: expected 1 or more"):
        processes(n)


SLOW = """
import os, sys, time
from pathlib import Path
from seqray.experiments.process_pool import processes

def work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(60)

if __name__ == "__main__":
    processes(2)({"a": sys.argv[1], "b": sys.argv[1]}, work, print)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_the_caller_is_stopped_so_are_its_processes(tmp_path, number):
    script, folder = tmp_path / "slow.py", tmp_path / "pids"
    script.write_text(SLOW)
    folder.mkdir()
    command = [sys.executable, str(script), str(folder)]
    # A session of its own, so that the signal reaches the caller alone.
    caller = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: len(list(folder.iterdir())) == 2)
    begin = time.monotonic()
    caller.send_signal(number)
    _, error = caller.communicate(timeout=30)
    wait_for(lambda: not any(is_alive(int(path.name)) for path in folder.iterdir()))
    assert time.monotonic() - begin < 20
    assert ("KeyboardInterrupt" in error) == (number == signal.SIGINT)


def is_alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except FileNotFoundError:
        return False


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
