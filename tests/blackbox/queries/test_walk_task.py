import numpy as np
import pytest

import seqray
from clusters import Posted
from seqray.blackbox.parcel import BoxWorkers
from seqray.blackbox.queries import walk_task
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.blackbox.queries.walk_task import PieceAnswers, read_pieces
from seqray.extraction.hankel.fill import fill_planned
from seqray.extraction.hankel.plan import Plan
from seqray.parallel.executor import Outcome, Task
from seqray.util.errors import BlackBoxError, Stopped, StopReason


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch):
    monkeypatch.setattr(walk_task, "STEPS_PER_JOB", 1000)


@pytest.fixture(scope="module")
def box():
    return seqray.open_black_box("demo")


@pytest.fixture(scope="module")
def plan(box):
    return Plan.of(seqray.uniform_basis(box.alphabet, 60, 30, seed=0))


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_values_and_counts_do_not_depend_on_the_number_of_workers(box, plan, n_workers):
    here = open_oracle(box)
    expected = fill_planned(here, plan)
    executor = Posted(n_workers)
    there = open_oracle(box, executor=executor)
    blocks = fill_planned(there, plan)
    assert executor.n_jobs > 1
    assert (blocks.values == expected.values).all()
    assert blocks.n_steps == expected.n_steps
    assert there.meter.counts() == here.meter.counts()


@pytest.mark.parametrize("n_missing", [0, 1, 500])
def test_a_budget_ends_at_the_same_step_as_here(box, plan, n_missing):
    counts = []
    for executor in (None, Posted()):
        meter = Meter(Limits(budget=plan.n_steps - n_missing))
        oracle = open_oracle(box, meter, executor=executor)
        if n_missing:
            with pytest.raises(Stopped) as stopped:
                fill_planned(oracle, plan)
            assert stopped.value.reason is StopReason.BUDGET
        else:
            fill_planned(oracle, plan)
        counts.append(meter.n_queries)
    assert counts[0] == counts[1] == plan.n_steps - n_missing


def test_a_guided_box_is_guided_on_workers_too(box, plan):
    guided = seqray.guided(box, "(a | b c)* d?")
    here, there = open_oracle(guided), open_oracle(guided, executor=Posted())
    assert (fill_planned(here, plan).values == fill_planned(there, plan).values).all()
    assert here.meter.counts() == there.meter.counts()


class Lost(Posted):
    def run(self, task, jobs, **options):
        for name, _ in jobs:
            yield Outcome(name, error="several workers died over it")


def test_a_job_that_fails_ends_the_fill_with_its_reason(box, plan):
    with pytest.raises(BlackBoxError, match="several workers died over it"):
        fill_planned(open_oracle(box, executor=Lost()), plan)


def test_progress_counts_every_answer_once(box, plan):
    seen = []
    oracle = open_oracle(box, executor=Posted())
    fill_planned(oracle, plan, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (plan.n_queries, plan.n_queries)
    assert (np.diff([done for done, _ in seen]) > 0).all()


class Piece:
    n_reads = 0

    def __init__(self, number):
        self.number = number

    @property
    def max_steps(self):
        Piece.n_reads += 1
        return 10


def answer(numbers):
    return PieceAnswers([-number for number in numbers], len(numbers))


def test_what_is_under_way_is_not_counted_anew_for_every_piece():
    workers = BoxWorkers(Posted(n_workers=5), None)
    pieces = map(Piece, range(1000))
    read = dict(read_pieces(workers, Task(answer), pieces, Meter(), None, 0))
    assert sorted((piece.number, value) for piece, value in read.items()) == [
        (number, -number) for number in range(1000)
    ]
    assert Piece.n_reads <= 5 * 1000


WALK_STEPS, PIECE_STEPS, N_PIECES = 5, 10, 20
READ_BY_WORKERS = []


def read_and_note(numbers):
    READ_BY_WORKERS.extend(numbers)
    return PieceAnswers(list(numbers), PIECE_STEPS * len(numbers))


@pytest.mark.parametrize("budget", range(60, 110, 7))
def test_what_workers_read_near_a_budget_is_counted_and_never_dropped(monkeypatch, budget):
    monkeypatch.setattr(walk_task, "STEPS_PER_JOB", 1)
    READ_BY_WORKERS.clear()
    meter, workers = Meter(Limits(budget=budget)), BoxWorkers(Posted(n_workers=5), None)

    def walked():
        for number in range(N_PIECES):
            meter.require(WALK_STEPS)
            yield Piece(number)

    def read_here(piece):
        meter.require(PIECE_STEPS)
        return piece.number

    n_walk_steps = WALK_STEPS * 4  # fewer than the walk takes, as with blocks that are cached
    read = read_pieces(workers, Task(read_and_note), walked(), meter, read_here, n_walk_steps)
    taken = []
    with pytest.raises(Stopped) as stopped:
        taken.extend(value for _, value in read)
    assert stopped.value.reason is StopReason.BUDGET
    assert set(READ_BY_WORKERS) <= set(taken)
    assert meter.n_queries == budget
    assert PIECE_STEPS * len(READ_BY_WORKERS) <= budget
