import threading

import pytest

from seqray import Stopped, StopReason
from seqray.blackbox.queries.limits import Limits
from seqray.training.clock import Pace, TrainingClock
from trainings import HandClock


def test_the_time_limit_stops():
    now = HandClock(seconds_per_step=59)
    now.pass_time()  # before the beginning: does not count
    clock = TrainingClock(Limits(time_limit=60), now)
    now.pass_time()
    clock.check()
    now.pass_time()
    assert clock.elapsed == 118
    with pytest.raises(Stopped, match="the time limit of 60 s is over") as stopped:
        clock.check()
    assert stopped.value.reason is StopReason.TIME


def test_an_event_stops():
    stop = threading.Event()
    clock = TrainingClock(Limits(stop=stop), HandClock())
    clock.check()
    stop.set()
    with pytest.raises(Stopped) as stopped:
        clock.check()
    assert stopped.value.reason is StopReason.INTERRUPTED


def test_nothing_stops_without_limits():
    now = HandClock(1e9)
    clock = TrainingClock(Limits(), now)
    now.pass_time()
    clock.check()


def paced(now, n_steps, trial):
    pace = Pace(now, trial)
    pace.begin(30)
    for _ in range(n_steps):
        now.pass_time()
        pace.step()
    return pace


def test_a_size_is_measured_without_its_first_step():
    now = HandClock(100)
    pace = paced(now, 1, {}.get)
    assert not pace.is_measured
    now.seconds_per_step = 2
    for _ in range(4):
        now.pass_time()
        pace.step()
    assert pace.is_measured
    assert pace.seconds({30: 10}) == 20


def test_a_new_size_takes_in_proportion_to_its_trial():
    pace = paced(HandClock(2), 5, {30: 0.5, 50: 1.0, 120: 3.0}.get)
    assert pace.seconds({30: 0, 50: 10, 120: 5}) == 10 * 4 + 5 * 12


def test_a_new_size_is_measured_when_it_is_trained():
    now = HandClock(2)
    pace = paced(now, 5, {30: 0.5, 50: 5.0}.get)
    pace.begin(50)
    assert pace.seconds({50: 10}) == 200
    now.seconds_per_step = 3
    for _ in range(2):
        now.pass_time()
        pace.step()
    assert pace.seconds({50: 10}) == 30
    assert pace.seconds({30: 10}) == 20


def test_the_time_of_a_trial_counts_for_no_size():
    now = HandClock(2)

    def trial(hidden):
        now.seconds += 50
        return 1.0

    pace = paced(now, 5, trial)
    assert pace.seconds({120: 1}) == 2
    now.pass_time()
    pace.step()
    assert pace.seconds({30: 10}) == 20


def test_a_trial_that_takes_no_time_says_nothing():
    assert paced(HandClock(2), 5, lambda hidden: 0.0).seconds({120: 10}) == 20
