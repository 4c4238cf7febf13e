import logging

import pytest

from seqray.blackbox.queries.limits import Limits
from seqray.training.clock import TrainingClock
from seqray.training.recipe import Recipe
from seqray.training.reports import Listeners, Reports
from trainings import SETTINGS, HandClock

N_BATCHES = 10


def no_trial(hidden):
    raise AssertionError("nobody listens: no trial is needed")


class Watch:
    """Listens to reports of sizes of 4, 6 and 10 units, 10 steps in each of 8 epochs."""

    def __init__(self, *, limit=None, trial={4: 1.0, 6: 2.0, 10: 4.0}.get, **settings):
        self.now = HandClock(2.0)
        self.steps, self.estimates = [], []
        recipe = Recipe(**SETTINGS | {"sizes": (4, 6, 10)} | settings)
        clock = TrainingClock(Limits(time_limit=limit), self.now)
        listeners = Listeners(lambda *at: self.steps.append(at), None, self.estimates.append)
        self.reports = Reports(recipe, N_BATCHES, clock, listeners, trial)

    def train(self, hidden, n_steps, *, n_epochs=0):
        self.reports.begin_size(hidden, n_epochs)
        for i in range(n_steps):
            self.now.pass_time()
            self.reports.step(n_epochs + i // N_BATCHES + 1, i % N_BATCHES + 1)
        return self


def test_steps_are_counted_over_all_sizes():
    watch = Watch().train(4, 12).train(6, 3, n_epochs=1)
    assert watch.steps[:2] == [(1, 240), (2, 240)]
    assert watch.steps[9:13] == [(10, 240), (11, 240), (12, 240), (91, 240)]


def test_the_estimate_is_that_of_the_measured_steps():
    watch = Watch().train(4, 80).train(6, 80).train(10, 80)
    first, last = watch.estimates[0], watch.estimates[-1]
    assert first[:3] == (4, 1, pytest.approx(0.2))
    assert first.seconds_left == pytest.approx(78 * 2 + 80 * 4 + 80 * 8)
    assert first.seconds == pytest.approx(4 + first.seconds_left)
    assert last == (10, 8, 1.0, 480, 0)  # all steps took two seconds, whatever the trials said
    second_size = watch.estimates[81]
    assert second_size[:3] == (6, 1, pytest.approx(0.3))
    assert second_size.seconds_left == pytest.approx(77 * 2 + 80 * 2 * 2)


def test_estimates_come_once_a_second():
    watch = Watch()
    watch.now.seconds_per_step = 0.3
    watch.train(4, 20)
    assert [round(10 * each.share + 10 * (each.epoch - 1)) for each in watch.estimates] == [
        *(4, 8, 12, 16, 20)
    ]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "about 19 min for 8 epochs of 3 sizes; patience may end a size sooner"),
        ({"patience": None}, "about 19 min for 8 epochs of 3 sizes"),
        ({"patience": None, "sizes": (4,), "epochs": 1}, "about 20 s for 1 epoch of 1 size"),
        (
            {"limit": 600},
            "about 19 min for 8 epochs of 3 sizes, but the time limit of 10 min ends it before; "
            "4 epochs would fit",
        ),
        (
            {"limit": 60},
            "about 19 min for 8 epochs of 3 sizes, but the time limit of 60 s ends it before",
        ),
        ({"limit": 6000, "patience": None}, "about 19 min for 8 epochs of 3 sizes"),
    ],
)
def test_the_first_estimate_is_logged(caplog, settings, sentence):
    with caplog.at_level(logging.INFO, "seqray.training"):
        Watch(**settings).train(4, 5)
    assert [record.getMessage() for record in caplog.records] == [sentence]


def test_after_a_break_it_is_the_rest_that_is_estimated(caplog):
    with caplog.at_level(logging.INFO, "seqray.training"):
        Watch(limit=60).train(6, 5, n_epochs=2)
    (record,) = caplog.records
    assert record.getMessage() == (
        "about 7 min for the rest of 8 epochs of 3 sizes, but the time limit of 60 s ends it before"
    )


def test_without_listeners_there_is_no_trial():
    clock = TrainingClock(Limits(), HandClock(2.0))
    reports = Reports(Recipe(**SETTINGS), N_BATCHES, clock, Listeners(), no_trial)
    reports.begin_size(4, 0)
    for i in range(5):
        clock.now.pass_time()
        reports.step(1, i + 1)
    assert reports.last is None
