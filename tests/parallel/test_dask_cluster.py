import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

import seqray
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.hankel.fill import fill_planned
from seqray.extraction.hankel.plan import Plan
from seqray.parallel import dask_cluster
from seqray.parallel.choice import opened_executor
from seqray.parallel.dask_cluster import DaskCluster, is_client
from seqray.parallel.executor import Executor, Task
from seqray.util.errors import ArgumentError, SeqrayError

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def dask(client):
    cluster = DaskCluster(client)
    yield cluster
    cluster.close()


def square(n):
    if n == 3:
        raise SeqrayError("three is refused")
    return (n * n, os.getpid(), max(library["num_threads"] for library in threadpool_info()))


class Counting:
    n_calls = 0

    def __call__(self, job):
        self.n_calls += 1
        return self.n_calls


def test_jobs_run_on_the_workers_on_one_thread_each(dask):
    outcomes = {each.job: each for each in dask.run(Task(square), enumerate(range(6)))}
    assert outcomes.pop(3).error == "three is refused"
    assert {each.result[0] for each in outcomes.values()} == {0, 1, 4, 16, 25}
    assert os.getpid() not in {each.result[1] for each in outcomes.values()}
    assert {each.result[2] for each in outcomes.values()} == {1}
    assert isinstance(dask, Executor)


def test_a_task_stays_open_on_a_worker(dask):
    counts = [each.result for each in dask.run(Task(Counting()), enumerate(range(8)))]
    assert counts.count(1) <= 2
    assert max(counts) >= 4


def test_no_worker_waits_for_its_first_job(dask):
    first = [each.result[1] for each in dask.run(Task(square), enumerate(range(2)))]
    assert len(set(first)) == 2


def test_a_task_that_workers_have_forgotten_is_sent_again(dask):
    tasks = [Task(Counting()) for _ in range(dask_cluster.MAX_OPEN_TASKS + 2)]
    first = [each.result for task in tasks for each in dask.run(task, enumerate(range(2)))]
    again = [each.result for each in dask.run(tasks[0], enumerate(range(2)))]
    assert first + again == [1] * len(first + again)


def test_workers_that_are_new_get_the_task_too(client, dask):
    task = Task(Counting())
    assert max(each.result for each in dask.run(task, enumerate(range(8)))) > 1
    client.restart()
    again = [each.result for each in dask.run(task, enumerate(range(4)))]
    assert again.count(1) <= 2
    assert len(again) == 4


def test_each_worker_gets_one_job_before_the_first_outcome_is_known(dask):
    taken = []

    def jobs():
        for n in range(40):
            taken.append(n)
            yield n, n

    outcomes, task = dask.run(Task(abs), jobs()), Task(abs)
    next(outcomes)
    assert len(taken) <= dask.n_workers + 1  # jobs may be made by the speed of the first
    next(outcomes)
    assert len(taken) > dask.n_workers + 1
    outcomes.close()
    list(dask.run(task, enumerate(range(2))))
    taken.clear()
    next(dask.run(task, jobs()))
    assert len(taken) >= 2 * dask.n_workers


def test_few_jobs_are_under_way_at_a_time(dask):
    taken = []

    def jobs():
        for n in range(40):
            taken.append(n)
            yield n, n

    for n_done, _ in enumerate(dask.run(Task(abs), jobs())):
        assert len(taken) - n_done <= 2 * dask.n_workers


def die_once(path):
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def test_the_job_of_a_worker_that_was_killed_runs_again(dask, tmp_path):
    jobs = [(n, str(tmp_path / "died")) for n in range(4)]
    assert [each.result for each in dask.run(Task(die_once), jobs)] == ["alive"] * 4


def test_jobs_of_the_only_worker_run_again_when_another_comes(tmp_path):
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    )
    jobs = [(n, str(tmp_path / "died")) for n in range(4)]
    with cluster, distributed.Client(cluster) as client:
        outcomes = [*DaskCluster(client).run(Task(die_once), jobs)]
    assert [each.result for each in outcomes] == ["alive"] * 4


def test_a_check_that_raises_cancels_what_is_under_way(dask):
    begin = time.monotonic()

    def check():
        if time.monotonic() > begin + 0.5:
            raise SeqrayError("enough")

    with pytest.raises(SeqrayError, match="enough"):
        list(dask.run(Task(time.sleep), [(0, 2.0), (1, 2.0)], check=check))
    assert time.monotonic() - begin < 2


def test_a_client_of_ones_own_stays_open(client):
    assert is_client(client)
    assert not is_client(object())
    with opened_executor(client) as executor:
        assert [each.result for each in executor.run(Task(abs), [("a", -1)])] == [1]
    assert client.status == "running"


def test_a_scheduler_is_reached_by_its_address(client):
    address = client.scheduler.address
    with opened_executor(address.replace("tcp", "dask")) as executor:
        assert [each.result for each in executor.run(Task(abs), [("a", -1)])] == [1]


def test_a_scheduler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ArgumentError, match=f"no Dask scheduler answers at {address}"):  # noqa: SIM117
        with opened_executor(address):
            pass


def test_blocks_of_a_network_are_the_same_to_the_bit(dask):
    box = seqray.open_black_box("demo")
    plan = Plan.of(seqray.uniform_basis(box.alphabet, 60, 60, seed=0))
    here, there = (open_oracle(box, executor=each) for each in (None, dask))
    assert (fill_planned(here, plan).values == fill_planned(there, plan).values).all()
    assert here.meter.counts() == there.meter.counts()


SLOW_BOX = """
import time
import seqray

def weights(words):
    with open("queried.txt", "a") as log:
        log.write("".join(f"{word}\\n" for word in words))
    time.sleep(0.05)
    return [len(word) + 1.0 for word in words]

box = seqray.black_box(weights, "ab", name=__name__, batch_size=8)
"""


@pytest.fixture
def slow_box(tmp_path, monkeypatch):
    """A box that logs what it is queried on, to a file that all processes write."""
    log = tmp_path / "queried.txt"
    name = f"slow_{tmp_path.name}"  # workers import a module once
    (tmp_path / f"{name}.py").write_text(SLOW_BOX.replace("queried.txt", str(log)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield seqray.open_black_box(f"python:{name}:box")
    sys.modules.pop(name)


def test_stop_keeps_what_was_answered(client, slow_box, tmp_path):
    stop = threading.Event()
    timer = threading.Timer(1.5, stop.set)
    timer.start()
    store = tmp_path / "answers.sqlite"
    extraction = seqray.extract(
        slow_box, n_prefixes=80, n_suffixes=80, stop=stop, store=store, executor=client
    )
    assert extraction.stop_reason is seqray.StopReason.INTERRUPTED
    queried, n_sent = read_log(tmp_path), extraction.settings["queries_sent"]
    n_under_way = 2 * 2 * 8  # workers, jobs per worker, words per job
    assert 50 < n_sent <= len(queried) <= n_sent + n_under_way
    with opened_store(store) as cache:
        oracle = open_oracle(slow_box, cache=cache)
        oracle.weights(queried)
    # Some answers are checked before they are trusted.
    assert oracle.meter.n_sent <= n_under_way + oracle.meter.n_extra


def test_a_killed_worker_costs_no_more_than_what_was_under_way(client, slow_box, tmp_path):
    words = slow_box.alphabet.words([f"{n:09b}".translate(AB) for n in range(400)])
    oracle = open_oracle(slow_box, executor=DaskCluster(client))
    threading.Timer(0.6, lambda: os.kill(min(client.run(os.getpid).values()), 9)).start()
    weights = oracle.weights(words)
    assert (weights == words.lengths + 1.0).all()
    queried = read_log(tmp_path)
    assert set(queried) == {"".join(word) for word in words}
    assert len(queried) <= len(words) + 2 * 8  # the jobs of one worker
    assert oracle.meter.n_sent == len(words)


AB = str.maketrans("01", "ab")


def read_log(folder):
    return (folder / "queried.txt").read_text().splitlines()


INTERRUPTED = """
import seqray, sys
if __name__ == "__main__":
    from distributed import LocalCluster
    from seqray.parallel.choice import opened_executor
    from seqray.parallel.executor import Task
    import time
    with opened_executor("dask") as executor:
        print("ready", flush=True)
        try:
            list(executor.run(Task(time.sleep), enumerate([30] * 4)))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_local_cluster_soon_and_quietly(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    begin = time.monotonic()
    with subprocess.Popen([sys.executable, str(script)], start_new_session=True, **pipes) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.5)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        out, err = run.communicate(timeout=40)
    assert out == "interrupted\n"
    assert "Traceback" not in err
    assert time.monotonic() - begin < 25
