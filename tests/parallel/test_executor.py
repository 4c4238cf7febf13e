import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import seqray
from seqray.parallel.executor import THREAD_VARIABLES, Executor, Here, Task, one_blas_thread
from seqray.util.errors import SeqrayError


def threads(_):
    return max(library["num_threads"] for library in threadpool_info())


def refuse(n):
    if n == 3:
        raise SeqrayError("three is refused")
    return 1 / (n - 4)


def test_jobs_run_in_their_order_and_a_failure_stops_no_other():
    outcomes = list(Here().run(Task(refuse), [("a", 3), ("b", 4), ("c", 5)]))
    assert [outcome.job for outcome in outcomes] == ["a", "b", "c"]
    assert outcomes[0].error == "three is refused"
    assert outcomes[1].error.startswith("ZeroDivisionError: division by zero (in refuse, ")
    assert outcomes[2].result == 1


def test_results_are_handed_over_as_they_come():
    seen = []

    def work(n):
        assert len(seen) == n
        return n

    for outcome in Here().run(Task(work), enumerate(range(3))):
        seen.append(outcome.result)
    assert seen == [0, 1, 2]


def test_a_check_ends_the_work_before_the_next_job():
    seen = []

    def check():
        if len(seen) == 2:
            raise SeqrayError("enough")

    with pytest.raises(SeqrayError, match="enough"):
        list(Here().run(Task(seen.append), enumerate(range(5)), check=check))
    assert seen == [0, 1]


def test_work_is_done_on_one_thread():
    (outcome,) = Here().run(Task(threads), [("f", None)])
    assert outcome.result == 1


def test_a_task_that_cannot_travel_is_refused_by_its_caller():
    with pytest.raises(Exception, match=r"pickle|get local object"):  # by version of Python
        Task(lambda n: n).packed  # noqa: B018 - reading it packs it


def test_this_process_is_an_executor():
    assert isinstance(Here(), Executor)


@pytest.fixture
def two_threads(monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(2):
        yield


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_products_stay_on_one_thread_inside_a_block(two_threads):
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_the_environment_may_choose_more_threads(two_threads, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with one_blas_thread():
        assert blas_threads() == {2}


def test_an_extraction_stays_on_one_thread(two_threads):
    seen = set()

    def box(words):
        seen.update(blas_threads())
        return [len(word) for word in words]

    seqray.extract(seqray.black_box(box, "a"), n_prefixes=5, n_suffixes=5)
    assert seen == {1}
    assert blas_threads() == {2}


STAY = """
from threadpoolctl import threadpool_info, threadpool_limits
import numpy
from seqray.parallel.executor import stay_on_one_thread
stay_on_one_thread()
print({library["num_threads"] for library in threadpool_info()})
"""


def test_a_process_stays_on_one_thread():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", STAY]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "{1}"
