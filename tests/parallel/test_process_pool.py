import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from seqray.parallel.executor import THREAD_VARIABLES, Task
from seqray.parallel.process_pool import ProcessPool
from seqray.util.errors import ArgumentError, SeqrayError


@pytest.fixture(scope="module")
def pool():
    pool = ProcessPool(2)
    yield pool
    pool.close()


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


def outcomes(executor, jobs, function, **options):
    given = executor.run(Task(function), jobs.items(), **options)
    by_job = {outcome.job: outcome for outcome in given}
    assert set(by_job) == set(jobs)
    return by_job


def test_every_job_has_an_outcome_and_a_failure_stops_no_other(pool):
    by_job = outcomes(pool, {f"job {n}": n for n in range(1, 6)}, square)
    assert [by_job[f"job {n}"].result for n in (1, 2)] == [1, 4]
    assert by_job["job 1"].error == ""
    assert by_job["job 3"].error == "three is refused"
    assert by_job["job 4"].error.startswith("ZeroDivisionError: division by zero (in square, ")
    assert by_job["job 3"].result is None
    assert "<lambda>" in by_job["job 5"].error  # cannot be sent back


def test_processes_stay_for_the_next_task(pool):
    first, second = (outcomes(pool, dict.fromkeys(range(4), "live"), obey) for _ in range(2))
    pids = {outcome.result for outcome in [*first.values(), *second.values()]}
    assert len(pids) <= 2
    assert os.getpid() not in pids


def test_a_task_is_unpacked_once_per_process(pool):
    counts = outcomes(pool, dict.fromkeys(range(8)), Counting())
    assert sum(outcome.result == 1 for outcome in counts.values()) <= 2
    assert max(outcome.result for outcome in counts.values()) >= 4


class Counting:
    """Counts its calls: more than one where the same object does several jobs."""

    n_calls = 0

    def __call__(self, job):
        self.n_calls += 1
        return self.n_calls


def test_nothing_to_do_is_done_at_once(pool):
    assert outcomes(pool, {}, square) == {}


def test_a_process_that_dies_is_reported_with_its_job_and_the_others_go_on(pool):
    jobs = {"a": "live", "b": "die", "c": "leave", "d": "live", "e": "live"}
    by_job = outcomes(pool, jobs, obey, max_losses=0)
    assert by_job["b"].error.startswith("its process was killed (SIGKILL): memory may have run")
    assert by_job["c"].error == "its process ended unexpectedly, with exit code 7"
    assert None not in {by_job[name].result for name in "ade"}


def die_once(path):
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def test_the_job_of_a_process_that_died_runs_again(pool, tmp_path):
    jobs = {"a": str(tmp_path / "a"), "b": str(tmp_path / "b")}
    by_job = outcomes(pool, jobs, die_once)
    assert [by_job[name].result for name in "ab"] == ["alive", "alive"]


def test_a_check_that_raises_ends_the_jobs_and_their_processes():
    pool, begin = ProcessPool(1), time.monotonic()

    def check():
        if time.monotonic() > begin + 0.5:
            raise SeqrayError("enough")

    with pytest.raises(SeqrayError, match="enough"):
        list(pool.run(Task(time.sleep), [("a", 60)], check=check))
    assert time.monotonic() < begin + 20


def test_work_is_done_on_one_thread(pool, monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "2")
    assert np.ones(2).sum() == 2  # the library is loaded here
    assert outcomes(pool, {"f": "threads"}, obey)["f"].result == 1


@pytest.mark.parametrize("n", [0, -1])
def test_no_workers_are_refused(n):
    with pytest.raises(ArgumentError, match="n_workers: expected"):
        ProcessPool(n)


UNGUARDED = """
import seqray
from seqray.parallel.executor import Task
from seqray.parallel.process_pool import ProcessPool

print(list(ProcessPool(1).run(Task(abs), [("a", -1)])))
"""


def test_a_script_that_starts_processes_as_it_is_imported_is_explained(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "A script that starts processes needs its code in a function" in run.stderr


SLOW = """
import os, sys, time
from pathlib import Path
from seqray.parallel.executor import Task
from seqray.parallel.process_pool import ProcessPool

def work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(60)

if __name__ == "__main__":
    list(ProcessPool(2).run(Task(work), [("a", sys.argv[1]), ("b", sys.argv[1])]))
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
