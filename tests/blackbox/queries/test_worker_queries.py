import sys
from types import SimpleNamespace

import pytest

import seqray
from clusters import Posted
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.util.errors import BlackBoxError, Stopped

MODULE = """
import threading
import seqray

stop = threading.Event()

def stopping(words):
    stop.set()
    return [1] * len(words)

def weights(words):
    if "bbbb" in words:
        raise ValueError("four of them")
    return [len(word) + 0.5 for word in words]

def after(prefixes):
    return [[0.5, 0.25, 0.25] if len(p) % 2 else [0.25, 0.25, 0.5] for p in prefixes]

def scores(words):
    return [[0.25, 0.75] if "a" in word else [1, 0] for word in words]

numbers = seqray.black_box(weights, "ab", name="numbers", batch_size=8)
stopped = seqray.black_box(stopping, "ab", name="stopped", batch_size=8)
given_up = seqray.black_box(stopping, "ab", name="given up", batch_size=8)
model = seqray.language_model(after, "ab", name="model", batch_size=8)
classes = seqray.classifier(scores, "ab", ["no", "yes"], name="classes")

class Own:
    alphabet = seqray.Alphabet("ab")
    def weights(self, words):
        return [len(word) for word in words]
"""

AB = str.maketrans("01", "ab")

WORDS = seqray.Alphabet("ab").words([f"{n:b}".translate(AB) for n in range(99)])


@pytest.fixture
def boxes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "worker_boxes.py").write_text(MODULE)
    yield lambda name: seqray.open_black_box(f"python:worker_boxes:{name}")
    sys.modules.pop("worker_boxes", None)


@pytest.mark.parametrize("name", ["numbers", "model", "classes", "Own"])
def test_every_kind_of_box_answers_as_it_does_here(boxes, name):
    words = WORDS[:15]  # no word of four b
    executor = Posted()
    here, there = open_oracle(boxes(name)), open_oracle(boxes(name), executor=executor)
    assert (here.weights(words) == there.weights(words)).all()
    assert here.meter.counts() == there.meter.counts()
    assert executor.n_jobs > 0


def test_answers_that_came_before_a_failure_are_cached(boxes, tmp_path):
    with opened_store(tmp_path / "a.sqlite") as store:
        oracle = open_oracle(boxes("numbers"), cache=store, executor=Posted())
        with pytest.raises(BlackBoxError, match=r"failed on the word 'bbbb': .*four of them"):
            oracle.weights(WORDS)
        n_sent = oracle.meter.n_sent
        again = open_oracle(boxes("numbers"), cache=store, executor=Posted())
        with pytest.raises(BlackBoxError, match="bbbb"):
            again.weights(WORDS[:16])
    assert n_sent >= 16
    assert again.meter.n_sent - again.meter.n_extra <= 1


def test_a_budget_holds(boxes):
    oracle = open_oracle(boxes("model"), Meter(Limits(budget=10)), executor=Posted())
    with pytest.raises(Stopped):
        oracle.next_symbol(WORDS)
    assert (oracle.meter.n_queries, oracle.meter.n_sent) == (10, 10)


def test_what_is_under_way_when_somebody_says_stop_is_not_lost(boxes, tmp_path):
    box = boxes("stopped")
    meter = Meter(Limits(stop=sys.modules["worker_boxes"].stop))
    with opened_store(tmp_path / "a.sqlite") as store:
        oracle = open_oracle(box, meter, cache=store, executor=Posted(n_workers=3))
        with pytest.raises(Stopped, match="interrupted"):
            oracle.weights(WORDS)
        assert [each.n_answers for each in store.boxes()] == [24]
    assert (meter.n_answers, meter.n_sent) == (24, 24)


def test_what_takes_too_long_after_a_stop_is_given_up(boxes, monkeypatch):
    monkeypatch.setattr("seqray.blackbox.queries.worker_queries.FINISHING_SECONDS", -1.0)
    box = boxes("given_up")
    meter = Meter(Limits(stop=sys.modules["worker_boxes"].stop))
    with pytest.raises(Stopped, match="interrupted"):
        open_oracle(box, meter, executor=Posted(n_workers=3)).weights(WORDS)
    assert meter.n_sent == 8


def test_a_backend_shows_the_attributes_of_the_one_in_it(boxes):
    box = open_oracle(boxes("numbers"), executor=Posted()).box
    assert box.backend.batch_size == 8
    assert box.backend.who == "the function 'weights'"
    assert box.backend.fingerprint == "numbers"


def test_a_box_that_fails_to_open_is_named(boxes, tmp_path):
    path = tmp_path / "worker_boxes.py"
    path.write_text(MODULE.replace('name="numbers"', 'name="other numbers"'))
    box = boxes("numbers")
    sys.modules.pop("worker_boxes")
    path.write_text("raise ValueError('gone')")
    oracle = open_oracle(box, executor=Posted())
    with pytest.raises(BlackBoxError, match=r"failed on a worker: .*gone"):
        oracle.weights(["a"])


def test_workers_of_a_function_of_constant_time_get_ever_larger_jobs(boxes, monkeypatch):
    now = iter(0.3 * tick for tick in range(100_000))  # every look at the clock takes a while
    for module in ("blackbox.native.function", "blackbox.queries.worker_queries"):
        clock = SimpleNamespace(monotonic=lambda: next(now))
        monkeypatch.setattr(f"seqray.{module}.time", clock)
    executor = Posted(n_workers=2)
    oracle = open_oracle(boxes("classes"), executor=executor)
    words = seqray.Alphabet("ab").words([f"{n:012b}".translate(AB) for n in range(4000)])
    assert len(oracle.classifier.scores(words)) == oracle.meter.n_sent == 4000
    assert executor.n_jobs <= 20
