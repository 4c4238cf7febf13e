"""Several processes and Dask workers: speed, equal results, and a worker that is killed.

    pip install '.[dist]'
    python benchmarks/scale_out.py [gru] [sleep] [kill] [threads]

Figures go to benchmarks/results/scale_out.json, part by part. Times are wall times on two cores, so
nothing else may run meanwhile.

- gru: a fill of a GRU of two layers of 50 units, over 11 symbols: this process, two processes, two
  Dask workers.
- sleep: a fill of a box that sleeps 50 ms per batch: one worker, and eight.
- kill: four Dask workers, one of which is killed (SIGKILL) half-way: the GRU, and a box that logs
  every word that it is queried on. Which words were queried twice?
- threads: what two threads do for a fill, for comparisons and for fits, beside two processes.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scale_out_boxes
from common import machine, one_thread

import seqray
from seqray.automata.words import Alphabet
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.conditional.fit import fit
from seqray.extraction.hankel.fill import fill_planned
from seqray.extraction.hankel.plan import Plan
from seqray.fidelity.reference import Reference
from seqray.parallel.choice import ExecutorLike, opened_executor
from seqray.parallel.executor import JOBS_PER_WORKER, Executor, Task

RESULTS = Path(__file__).parent / "results" / "scale_out.json"
N_UNITS, N_SYMBOLS = 50, 11
N_GRU_WORDS = 1000
"""Prefixes, and suffixes, of the fill of the GRU."""


def gru() -> RecurrentLanguageModel:
    """Return a network of random weights: speed does not depend on them."""
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return rng.normal(0, 0.3, shape)

    def layer(n_inputs: int) -> RecurrentLayer:
        n_gates = 3 * N_UNITS
        matrices = random(n_gates, n_inputs), random(n_gates, N_UNITS)
        return RecurrentLayer("gru", *matrices, random(n_gates), random(n_gates))

    layers = [layer(N_SYMBOLS), layer(N_UNITS)]
    dense = DenseLayer(random(N_SYMBOLS + 1, N_UNITS), random(N_SYMBOLS + 1))
    return RecurrentLanguageModel(Alphabet(range(N_SYMBOLS)), layers, [dense])


@contextmanager
def dask_workers(n_workers: int) -> Iterator[Any]:
    """Yield a client of so many worker processes of one thread each."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - workers do not need it

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def filled(box: Any, plan: Plan, executor: Executor | None) -> tuple[Any, float]:
    """Fill, and return the values and the seconds."""
    begin = time.perf_counter()
    blocks = fill_planned(open_oracle(box, executor=executor), plan)
    return blocks.values, time.perf_counter() - begin


def warm(box: Any, given: ExecutorLike) -> Any:
    """Return an opened executor (as a context) whose workers run and have opened the box."""

    @contextmanager
    def opened() -> Iterator[Executor | None]:
        with opened_executor(given) as executor:
            basis = seqray.uniform_basis(box.alphabet, 60, 60, seed=0)
            filled(box, Plan.of(basis), executor)
            yield executor

    return opened()


def run_gru() -> dict[str, Any]:
    box = gru()
    plan = Plan.of(seqray.uniform_basis(box.alphabet, N_GRU_WORDS, N_GRU_WORDS, seed=0))
    times: dict[str, list[float]] = {"here": [], "processes:2": [], "dask, 2 workers": []}
    expected, _ = filled(box, Plan.of(plan.basis.share(0.2)), None)  # the libraries are loaded
    is_equal = True
    with dask_workers(2) as client, warm(box, client) as dask, warm(box, 2) as pool:
        for _ in range(2):
            expected, seconds = filled(box, plan, None)
            times["here"].append(seconds)
            for name, executor in (("processes:2", pool), ("dask, 2 workers", dask)):
                values, seconds = filled(box, plan, executor)
                is_equal &= bool((values == expected).all())
                times[name].append(seconds)
    begin = time.perf_counter()
    with opened_executor(2) as fresh:
        filled(box, Plan.of(plan.basis.share(0.1)), fresh)
    start_pool = time.perf_counter() - begin
    least = {name: min(taken) for name, taken in times.items()}
    return {
        "steps": plan.n_steps,
        "seconds": least,
        "speedup": {name: least["here"] / taken for name, taken in least.items()},
        "is_equal_to_the_bit": is_equal,
        "seconds_to_start_two_processes_and_fill_a_hundredth": start_pool,
    }


def run_sleep() -> dict[str, Any]:
    box = seqray.open_black_box("python:scale_out_boxes:sleeping")
    plan = Plan.of(seqray.uniform_basis(box.alphabet, 60, 120, seed=1))
    seconds: dict[str, float] = {}
    equal = []
    for n in (1, 8):
        for name in ("processes", "dask"):
            with dask_workers(n) if name == "dask" else noop(n) as given, warm(box, given) as ready:
                values, seconds[f"{name}, {n}"] = filled(box, plan, ready)
                equal.append(values)
    return {
        "words": plan.n_queries,
        "batch_size": scale_out_boxes.BATCH_SIZE,
        "seconds": seconds,
        "speedup_processes": seconds["processes, 1"] / seconds["processes, 8"],
        "speedup_dask": seconds["dask, 1"] / seconds["dask, 8"],
        "is_equal_to_the_bit": all(bool((each == equal[0]).all()) for each in equal),
    }


@contextmanager
def noop(given: Any) -> Iterator[Any]:
    yield given


def killing(client: Any, share: float) -> Callable[[int, int], None]:
    """Return a progress that kills one worker when so much is done."""
    victims = list(client.run(os.getpid).values())

    def progress(done: int, total: int) -> None:
        if victims and done > share * total:
            os.kill(victims[0], 9)
            victims.clear()

    return progress


def run_kill() -> dict[str, Any]:
    box = gru()
    plan = Plan.of(seqray.uniform_basis(box.alphabet, 600, 600, seed=0))
    expected, _ = filled(box, plan, None)
    with dask_workers(4) as client, warm(box, client) as executor:
        oracle = open_oracle(box, executor=executor)
        values = fill_planned(oracle, plan, killing(client, 0.5)).values
    figures = {
        "gru_is_equal_to_the_bit": bool((values == expected).all()),
        "gru_steps_counted": oracle.meter.n_queries,
        "gru_steps_planned": plan.n_steps,
    }
    with tempfile.TemporaryDirectory() as folder:
        return figures | _killed_words(Path(folder))


def _killed_words(folder: Path) -> dict[str, Any]:
    log = folder / "log.txt"
    os.environ["SCALE_OUT_LOG"] = str(log)
    box = seqray.open_black_box("python:scale_out_boxes:logged")
    plan = Plan.of(seqray.uniform_basis(box.alphabet, 60, 120, seed=1))
    expected, _ = filled(seqray.black_box(scale_out_boxes.weights, box.alphabet), plan, None)
    with dask_workers(4) as client, warm(box, client) as executor:
        log.unlink()
        with opened_store(folder / "answers.sqlite") as store:
            oracle = open_oracle(box, cache=store, executor=executor)
            values = fill_planned(oracle, plan, killing(client, 0.5)).values
    queried = Counter(line.split(" ", 1)[1] for line in log.read_text().splitlines())
    return {
        "words_are_equal_to_the_bit": bool((values == expected).all()),
        "words": plan.n_queries,
        "words_queried": len(queried),
        "words_queried_again": sum(queried.values()) - len(queried),
        "words_under_way_per_worker": JOBS_PER_WORKER * scale_out_boxes.BATCH_SIZE,
        "queries_counted": oracle.meter.n_queries,
        "queries_sent": oracle.meter.n_sent,
    }


# Threads ------------------------------------------------------------------------------------------


def compare_rank(job: tuple[Any, Any, int]) -> float:
    reference, automaton, rank = job
    return float(reference.compare(automaton.truncate(rank)).score)


def fit_rank(job: tuple[Any, Any, int]) -> Any:
    blocks, reference, rank = job
    return fit(blocks, reference, rank).transitions


def fill_part(job: tuple[Any, Any]) -> Any:
    box, basis = job
    return seqray.fill(box, basis).values


def run_threads() -> dict[str, Any]:
    """Two jobs of each kind: one after the other, on two threads, and in two processes."""
    box = gru()
    basis = seqray.uniform_basis(box.alphabet, 400, 400, seed=0)
    demo = seqray.open_black_box("demo")
    reference = Reference.draw(demo, 1000, seed=0, max_length=60)
    blocks = fill_conditional(demo, reference, n_contexts=200)
    extraction = seqray.extract(demo, n_prefixes=100, n_suffixes=80, method="weighted")
    largest = extraction.automaton(extraction.max_rank)
    ranks = [1 + i % extraction.max_rank for i in range(100)]
    work: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
        "fill": (fill_part, [(box, basis)] * 2),
        "comparisons": (compare_rank, [(reference, largest, rank) for rank in ranks]),
        "fits": (fit_rank, [(blocks, reference, 10)] * 2),
    }
    figures: dict[str, Any] = {}
    with opened_executor(2) as pool, ThreadPoolExecutor(2) as threads:
        assert pool is not None
        list(pool.run(Task(fit_rank), enumerate([(blocks, reference, 2)] * 2)))
        for name, (function, jobs) in work.items():
            times = []
            for run in (
                lambda: [function(job) for job in jobs],  # noqa: B023 - called at once
                lambda: list(threads.map(function, jobs)),  # noqa: B023
                lambda: list(pool.run(Task(function), enumerate(jobs))),  # noqa: B023
            ):
                run()
                begin = time.perf_counter()
                run()
                times.append(time.perf_counter() - begin)
            figures[name] = {
                "seconds": times[0],
                "speedup_threads": times[0] / times[1],
                "speedup_processes": times[0] / times[2],
            }
    return figures


PARTS = {"gru": run_gru, "sleep": run_sleep, "kill": run_kill, "threads": run_threads}


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path[1:]])
    for name in sys.argv[1:] or PARTS:
        with one_thread():
            figures = PARTS[name]()
        known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
        known |= {name: figures, "machine": machine()}
        RESULTS.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
        print(name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
