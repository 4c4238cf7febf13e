import threading
import time

import numpy as np
import pytest

from conditional_boxes import SMALL, RecordedProgress, demo, machine, model
from same_gru import native
from seqray import WeightedAutomaton, extract
from seqray.extraction.conditional import learner

pytestmark = pytest.mark.usefixtures("tiny_copies")


def test_learning_ends_when_the_target_is_reached():
    whole = extract(demo(), **SMALL, target=1, purpose="reading")
    rounds = whole.settings["rounds"]
    assert [each["contexts"] for each in rounds] == [2, 5, 15, 40]
    questions = [each["questions"] for each in rounds]
    assert questions == sorted(questions)
    enough = rounds[1]["score"]
    extraction = extract(demo(), **SMALL, target=enough)
    assert extraction.settings["rounds"] == rounds[: 1 + (rounds[0]["score"] < enough)]
    assert extraction.settings["stopped"] == ""
    assert extraction.settings["prefixes"] < 40


def test_nothing_is_fitted_where_nothing_is_left_to_fit(monkeypatch):
    monkeypatch.setattr(learner, "fit", lambda *_, **__: pytest.fail("fitted"))
    box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    extraction = extract(box, **SMALL)
    assert extraction.fitted == {}
    assert extraction.best_rank() == 1


@pytest.mark.parametrize("make", [native, model, machine])
def test_stopping_while_querying_gives_the_part_before(make, caplog):
    stop = threading.Event()
    seen = []

    def react(phase, done, total):
        seen.append(phase)
        if phase == "following contexts" and seen[-2] == "drawing words" and len(set(seen)) > 2:
            starts.append(done)
            if len(starts) == 2:
                stop.set()

    starts = []
    extraction = extract(make(), **SMALL, stop=stop, progress=RecordedProgress(react))
    assert stop.is_set()
    assert extraction.settings["stopped"] == "interrupted"
    assert 1 <= extraction.settings["prefixes"] < 40
    assert (
        f"interrupted: {extraction.settings['prefixes']} contexts of 40 were queried" in caplog.text
    )
    assert extraction.fitted == {}
    assert np.isfinite(extraction.best().weights([(), extraction.basis.alphabet.symbols])).all()


@pytest.mark.parametrize("make", [native, model, machine])
def test_stopping_while_fitting_skips_what_is_left(make, caplog):
    stop = threading.Event()

    def react(phase, done, total):
        if phase == "fitting 2 states" and done == 5:
            stop.set()

    progress = RecordedProgress(react)
    extraction = extract(make(), **{**SMALL, "max_rank": 6}, stop=stop, progress=progress)
    assert extraction.settings["stopped"] == "interrupted"
    assert extraction.settings["prefixes"] == (15 if make is machine else 40)
    assert "interrupted: no automaton of 2 states was fitted" in caplog.text
    assert [name for name, *_ in progress.calls].count("fitting 2 states") == 5
    assert progress.phases[-1] == ("fitting 2 states", "steps")
    assert set(extraction.fitted) <= {extraction.max_rank}


def test_time_that_is_over_while_fitting_ends_it(monkeypatch):
    real = learner.fit

    def slow(*arguments, progress, **options):
        def step(done, total):
            time.sleep(0.05)
            progress(done, total)

        return real(*arguments, progress=step, **options)

    monkeypatch.setattr(learner, "fit", slow)
    began = time.monotonic()
    extraction = extract(native(), **SMALL, seconds=1.0)
    assert time.monotonic() - began < 8
    assert extraction.settings["stopped"] == "the time of 1 s is over"


def test_an_earlier_fit_counts_where_the_last_one_was_not_made():
    stop = threading.Event()

    def react(phase, done, total):
        if (
            phase == "fitting 3 states"
            and progress.phases.count(("following contexts", "answers")) == 4
        ):
            stop.set()

    progress = RecordedProgress(react)
    extraction = extract(demo(), **SMALL, target=1, stop=stop, progress=progress)
    before, last = extraction.settings["rounds"][2:]
    assert extraction.settings["stopped"] == "interrupted"
    assert extraction.settings["prefixes"] == 40
    assert extraction.fidelity.at(3).score == max(before["score"], last["score"])
