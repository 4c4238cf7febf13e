import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from core_jobs import (
    Growing,
    counted,
    dying,
    failing,
    ignore,
    limit_of_threads,
    printing,
    process_of,
    square,
)
from seqray.parallel.cores import finished_jobs, n_cores
from seqray.parallel.executor import THREAD_VARIABLES
from seqray.util.errors import Stopped, StopReason

CALLER = os.getpid()


def children():
    return psutil.Process().children()


def results(function, jobs, n_processes, progress=ignore):
    finished = [*finished_jobs(function, jobs, progress=progress, n_processes=n_processes)]
    assert sorted(number for number, _ in finished) == list(range(len(jobs)))
    return [result for _, result in sorted(finished)]


@pytest.mark.parametrize("n_processes", [1, 2, 3])
def test_every_job_has_its_result(n_processes):
    assert results(square, [1, 2, 3, 4, 5], n_processes) == [1, 4, 9, 16, 25]
    assert results(square, [], n_processes) == []


def test_jobs_run_in_this_process_and_in_others():
    pids = set(results(process_of, [1, 2, 3, 4], 2))
    assert os.getpid() in pids
    assert len(pids) == 2
    assert children() == []


def test_one_job_needs_no_other_process():
    assert results(process_of, [1], 4) == [os.getpid()]


def test_the_progress_counts_the_steps_of_all_jobs():
    calls = []
    assert results(counted, [40, 40], 2, lambda *steps: calls.append(steps)) == [40, 40]
    assert calls[0] == (1, 80)  # a job that has not begun counts like the others
    assert max(calls)[0] > 40
    assert all(done <= total == 80 for done, total in calls)


def test_a_job_whose_helper_dies_runs_here():
    assert results(dying, [os.getpid()] * 3, 2) == ["here"] * 3


def test_a_job_that_fails_in_a_helper_fails_here():
    with pytest.raises(ValueError, match="fails"):
        results(failing, [1, 2], 2)
    assert children() == []


def test_what_a_helper_prints_does_not_disturb(capfd):
    assert results(printing, [1, 2, 3], 2) == [1, 2, 3]


def test_what_this_process_computes_meanwhile_does_not_disturb(capfd):
    assert results(Growing(), [1, 2, 3, 4, 5, 6], 2) == [1, 2, 3, 4, 5, 6]
    assert capfd.readouterr().err == ""


def test_a_progress_that_raises_ends_all_jobs():
    def stop(done, total):
        if done >= 5:
            raise Stopped(StopReason.INTERRUPTED, "enough")

    began = time.monotonic()
    with pytest.raises(Stopped):
        results(counted, [1000, 1000], 2, stop)
    assert time.monotonic() - began < 10
    assert children() == []
    assert "_work" not in {thread.name for thread in threading.enumerate()}


def test_results_come_while_other_jobs_run():
    finished = finished_jobs(counted, [1, 500], progress=ignore, n_processes=1)
    began = time.monotonic()
    assert next(finished) == (0, 1)
    assert time.monotonic() - began < 5
    finished.close()


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from seqray.parallel.cores import finished_jobs\n"
        "from core_jobs import square\n"
        "jobs = finished_jobs(square, [1, 2, 3], progress=lambda *_: None, n_processes=2)\n"
        "print(sorted(jobs))\n",
        "utf-8",
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[(0, 1), (1, 4), (2, 9)]\n"


def test_helpers_end_when_the_caller_is_killed():
    text = (
        "from seqray.parallel.cores import finished_jobs\n"
        "from core_jobs import counted\n"
        "print('begun', flush=True)\n"
        "list(finished_jobs(counted, [10000] * 2, progress=lambda *_: None, n_processes=2))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as caller:
        caller.stdout.readline()
        helpers = []
        while not helpers and caller.poll() is None:
            time.sleep(0.05)
            helpers = psutil.Process(caller.pid).children()
        caller.kill()
    assert helpers
    _, alive = psutil.wait_procs(helpers, timeout=20)
    assert alive == []


@pytest.mark.parametrize(("limits", "n"), [(["1", ""], 1), (["64", "2"], 2), (["", "many"], 8)])
def test_variables_of_the_libraries_limit_the_cores(monkeypatch, limits, n):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, limit in zip(THREAD_VARIABLES, limits, strict=False):
        monkeypatch.setenv(name, limit)
    assert n_cores() == n


def test_helpers_stay_on_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert "1" in results(limit_of_threads, ["OMP_NUM_THREADS"] * 4, 2)
