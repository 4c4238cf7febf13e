import threading
import time
from types import SimpleNamespace

import pytest

from seqray import Alphabet
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.util.errors import ArgumentError, Stopped, StopReason

AB = Alphabet("ab")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"budget": 0}, "budget: expected .* 1"),
        ({"budget": 2.5}, "budget: expected"),
        ({"time_limit": 0}, "time_limit: expected more than 0 seconds, got 0"),
        ({"time_limit": float("nan")}, "time_limit: expected more than 0"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits, message):
    with pytest.raises(ArgumentError, match=message):
        Limits(**limits)


def test_the_reason_to_stop_is_a_type():
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped) as interrupted:
        Meter(Limits(stop=stop)).check()
    assert interrupted.value.reason is StopReason.INTERRUPTED
    with pytest.raises(Stopped) as late:
        Meter(Limits(time_limit=0.1), began=time.monotonic() - 1).check()
    assert late.value.reason is StopReason.TIME
    with pytest.raises(Stopped) as spent:
        Meter(Limits(budget=3)).spend(4)
    assert spent.value.reason is StopReason.BUDGET


def test_a_meter_counts_against_its_limits():
    meter = Meter(Limits(budget=11), repeat=2)
    assert (meter.allowance, meter.left) == (5, 5)
    meter.require(3)
    meter.spend(1)
    assert (meter.n_queries, meter.left) == (7, 2)
    with pytest.raises(Stopped, match="used up"):
        meter.require(3)


def test_queries_for_validation_are_counted_whatever_happens():
    meter = Meter(Limits(budget=2))
    with pytest.raises(Stopped), meter.validating():
        meter.require(9)
    meter.allow(3)
    assert meter.counts() == {"questions": 2, "validation_questions": 2, "queries_sent": 0}


def measured(monkeypatch, *batches):
    """Return the seconds per query after batches, each of so many queries and seconds."""
    clock = SimpleNamespace(seconds=0.0)
    now = SimpleNamespace(monotonic=lambda: clock.seconds)
    monkeypatch.setattr("seqray.blackbox.queries.limits.time", now)
    meter = Meter(began=0.0)
    for n_queries, seconds in batches:
        meter.n_sent += n_queries
        clock.seconds += seconds
        meter.end_batch()
    return meter.seconds_per_query


def test_what_the_first_batch_takes_is_not_the_speed_of_others(monkeypatch):
    assert measured(monkeypatch) is None
    assert measured(monkeypatch, (0, 5)) is None
    assert measured(monkeypatch, (10, 100)) == 10
    assert measured(monkeypatch, (10, 100), (10, 1)) == 0.1


def test_the_speed_is_that_of_large_batches(monkeypatch):
    small = [(1, 1)] * 100
    assert measured(monkeypatch, (1, 1), *small, (64, 2), (32, 1), *small) == 1 / 32


def test_a_batch_that_had_to_wait_is_not_the_speed(monkeypatch):
    batches = [(64, 2), (64, 200), (64, 2)]
    assert measured(monkeypatch, (1, 1), *batches) == 1 / 32
