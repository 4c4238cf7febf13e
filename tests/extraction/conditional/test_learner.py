import re
import threading
import time
from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from conditional_boxes import SMALL, RecordedProgress, demo, machine, model
from same_gru import native
from seqray import WeightedAutomaton, extract
from seqray.extraction.conditional import fit, learner, method
from seqray.extraction.settings import CONDITIONAL
from seqray.fidelity.reference import Reference
from seqray.util.errors import StopReason
from seqray.util.memory import limited_memory

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
    monkeypatch.setattr(fit, "fit", lambda *_, **__: pytest.fail("fitted"))
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
        if phase.startswith("fitting 2 ") and done == 5:
            stop.set()

    progress = RecordedProgress(react)
    extraction = extract(make(), **{**SMALL, "max_rank": 6}, stop=stop, progress=progress)
    assert extraction.settings["stopped"] == "interrupted"
    assert extraction.settings["prefixes"] == (15 if make is machine else 40)
    assert re.search(r"interrupted: no automaton of 2(, 3)?(, 5)? states was fitted", caplog.text)
    name, unit = progress.phases[-1]
    assert name.startswith("fitting 2 ")
    assert unit == "steps"
    assert [each for each, *_ in progress.calls].count(name) == 5
    assert set(extraction.fitted) <= {extraction.max_rank}


def test_time_that_is_over_while_fitting_ends_it(monkeypatch):
    real = fit.fit

    def slow(*arguments, progress, **options):
        def step(done, total):
            time.sleep(0.05)
            progress(done, total)

        return real(*arguments, progress=step, **options)

    monkeypatch.setattr(fit, "fit", slow)
    began = time.monotonic()
    extraction = extract(native(), **SMALL, seconds=1.0)
    assert time.monotonic() - began < 8
    assert extraction.settings["stopped"] == "the time of 1 s is over"


def test_fits_in_several_processes_are_those_of_one(monkeypatch):
    monkeypatch.setattr(learner, "MIN_SHARED_PREFIXES", 1)
    extractions = []
    for n_cores in (1, 2):
        monkeypatch.setattr(learner, "n_cores", lambda n_cores=n_cores: n_cores)
        extractions.append(extract(native(), **{**SMALL, "max_rank": 6}))
    one, two = extractions
    assert set(one.fitted) == set(two.fitted) != set()
    for rank, automaton in one.fitted.items():
        assert automaton.allclose(two.fitted[rank], rtol=0, atol=0)


def test_few_words_or_little_memory_are_fitted_to_in_one_process(monkeypatch):
    reference = Reference.draw(native(), 200, seed=0, max_length=20)
    made = []
    monkeypatch.setattr(learner, "n_cores", lambda: 4)
    for shared, limit in ((10**6, 10**9), (10, 10**9), (10, 8 * reference.next_symbol.nbytes)):
        monkeypatch.setattr(learner, "MIN_SHARED_PREFIXES", shared)
        with limited_memory(limit):
            made.append(learner.n_fit_processes(reference))
    assert made == [1, 4, 2]


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


READING = {"max_rank": 3, "max_length": 20, "purpose": "reading"}
SMALL_WHOLE = replace(CONDITIONAL, n_contexts=200, n_columns=30)


def test_where_the_fitted_automaton_is_nearest_the_rest_of_the_queries_are_words(monkeypatch):
    monkeypatch.setattr(method, "SETTINGS", SMALL_WHOLE)
    extraction = extract(demo(), **READING)
    n_contexts = SMALL_WHOLE.n_contexts * SMALL_WHOLE.max_block_share**0.75
    assert extraction.settings["prefixes"] == ceil(n_contexts)
    rounds = extraction.settings.rounds
    assert [each.contexts for each in rounds] == [ceil(n_contexts)] * 2
    assert [each.words for each in rounds] == [667, 2667]
    assert 3 in extraction.fitted
    assert extraction.settings.stopped == ""


def test_where_the_svd_is_nearest_blocks_become_whole(monkeypatch):
    monkeypatch.setattr(method, "SETTINGS", SMALL_WHOLE)
    monkeypatch.setattr(learner.ConditionalLearner, "needs_blocks", lambda *_: True)
    extraction = extract(demo(), **READING)
    assert [each.contexts for each in extraction.settings.rounds][-1] > 71
    assert extraction.settings.rounds[-1].words == 2667


def test_contexts_that_the_user_asks_for_are_queried():
    extraction = extract(demo(), **READING, n_prefixes=60, n_suffixes=30)
    assert extraction.settings["prefixes"] == 60


@pytest.mark.parametrize("budget", [600, 3000])
@pytest.mark.parametrize("make", [demo, model])
def test_a_budget_is_used_up_and_never_exceeded(make, budget, monkeypatch):
    monkeypatch.setattr(learner.ConditionalLearner, "needs_blocks", lambda *_: False)
    extraction = extract(make(), **READING, budget=budget)
    assert 0.75 * budget < extraction.settings.questions <= budget
    assert extraction.stop_reason is StopReason.BUDGET
    words = [each.words for each in extraction.settings.rounds]
    assert words == sorted(words)
