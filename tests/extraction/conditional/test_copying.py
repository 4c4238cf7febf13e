import logging
import threading
from dataclasses import replace

import numpy as np
import pytest

from conditional_boxes import SMALL, RecordedProgress, machine, model
from seqray import extract
from seqray.automata.structured import StructuredAutomaton
from seqray.blackbox.queries.limits import Limits
from seqray.extraction.conditional import copying, method
from seqray.extraction.conditional.comparison import compare
from seqray.extraction.conditional.copying import SAFE_SHARE_OF_BUDGET, learn_copies
from seqray.extraction.conditional.parts import Counterexamples
from seqray.extraction.settings import StructuredSettings
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity
from seqray.util.errors import Stopped, StopReason

FAR = Fidelity({"kl_per_symbol": 9.0, "ndcg5": 0.0}, 1, 1)
SETTINGS = StructuredSettings(
    max_states=(1, 3, 6),
    word_factors=(1, 1.5, 2),
    n_contexts=20,
    max_contexts=(2, 1),
    min_steps=10,
    n_epochs=1,
    min_gain=-9,
    exact_bits=0,  # no spectral copy: it would be exact
    near_bits=0,
)


def box():
    """Return a machine with more states than any rank will have."""
    return machine(n_states=8, n_symbols=2)


SHORT = {**SMALL, "max_rank": 1, "max_length": 10}


def learnt(box, **options):
    """Learn from a box all but copies."""
    recorded = []

    def record(learner, learning, best, *settings):
        recorded.append((learner, learning, best))
        return (), learning

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "learn_copies", record)
        extract(box, **SHORT, **options)
    return recorded[0]


@pytest.fixture(scope="module")
def from_machine():
    return learnt(box())


@pytest.fixture
def known(from_machine):
    """Return a learner with a random generator of its own, the learning, and the best fidelity."""
    learner, learning, best = from_machine
    return replace(learner, rng=np.random.default_rng(0)), learning, best


@pytest.fixture
def stop(known, monkeypatch):
    """An event that ends the learning."""
    event = threading.Event()
    monkeypatch.setattr(known[0].meter, "limits", Limits(stop=event))
    return event


def with_progress(learner, react=lambda phase, done, total: None):
    """Return a learner that reports to a recorder, and the recorder."""
    progress = RecordedProgress(react)
    return replace(learner, job=replace(learner.job, progress=progress)), progress


def test_copies_are_nearer_than_the_best_rank_and_each_nearer_than_the_one_before(known):
    learner, learning, best = known
    copies, after = learn_copies(learner, learning, best, SETTINGS)
    assert copies
    scores = [best.score, *(copy.fidelity.score for copy in copies)]
    assert scores == sorted(scores)
    assert len(set(scores)) == len(scores)
    assert [copy.n_states for copy in copies] == sorted(copy.n_states for copy in copies)
    for copy in copies:
        assert isinstance(copy.automaton, StructuredAutomaton)
        assert copy.fidelity == compare(copy.automaton, learner.held_out, None)
    assert after.stopped is None
    assert after.part is learning.part


def test_every_fit_is_a_round_whether_or_not_it_is_near(known):
    learner, learning, best = known
    copies, after = learn_copies(learner, learning, best, SETTINGS)
    rounds = after.rounds[len(learning.rounds) :]
    assert after.rounds[: len(learning.rounds)] == learning.rounds
    assert len(rounds) == len(SETTINGS.max_states)
    n_words = len(learning.part.reference.weights)
    assert [each.words for each in rounds] == [int(f * n_words) for f in SETTINGS.word_factors]
    assert [each.questions for each in rounds] == sorted(each.questions for each in rounds)
    assert rounds[-1].questions == learner.meter.n_queries
    assert {copy.fidelity.score for copy in copies} <= {each.score for each in rounds}


def test_what_is_no_nearer_than_the_best_rank_is_no_copy(known):
    learner, learning, _ = known
    near = Fidelity({"kl_per_symbol": 0.0, "ndcg5": 1.0}, 1, 1)
    copies, after = learn_copies(learner, learning, near, SETTINGS)
    assert copies == ()
    assert len(after.rounds) == len(learning.rounds) + len(SETTINGS.max_states)


def test_a_limit_keeps_the_copies_so_far(known, stop, caplog):
    learner, learning, _ = known

    def react(phase, done, total):
        if ("drawing more words", "answers") in progress.phases and phase.startswith("fitting"):
            stop.set()

    learner, progress = with_progress(learner, react)
    copies, after = learn_copies(learner, learning, FAR, SETTINGS)
    assert len(copies) == len(after.rounds) - len(learning.rounds) == 1
    assert after.stopped.reason is StopReason.INTERRUPTED
    assert "interrupted: no larger copy was fitted" in caplog.text


def test_a_limit_that_was_met_before_is_not_said_twice(known, stop, caplog):
    learner, learning, _ = known
    stop.set()
    before = replace(learning, stopped=Stopped(StopReason.TIME, "over"))
    with caplog.at_level(logging.WARNING):
        copies, after = learn_copies(learner, before, FAR, SETTINGS)
    assert copies == ()
    assert after.rounds == learning.rounds
    assert after.stopped.reason is StopReason.TIME
    assert "no larger copy" not in caplog.text


def test_no_more_words_are_drawn_than_the_budget_allows(known, monkeypatch):
    learner, learning, _ = known
    meter, n_known = learner.meter, len(learning.part.reference.weights)
    n_left = int(50 * learner.word_length)
    budget = meter.n_queries + n_left
    monkeypatch.setattr(meter, "limits", Limits(budget=budget))
    _, after = learn_copies(learner, learning, FAR, SETTINGS)
    assert after.stopped is None
    assert meter.n_queries <= budget
    n_more = int(SAFE_SHARE_OF_BUDGET * n_left / learner.word_length)
    assert [each.words for each in after.rounds[-3:-1]] == [n_known, n_known + n_more]


@pytest.mark.parametrize("limit", ["max_prefixes", "memory"])
def test_no_more_words_are_drawn_than_fit(known, monkeypatch, limit):
    learner, learning, _ = known
    settings = replace(SETTINGS, max_prefixes=1) if limit == "max_prefixes" else SETTINGS
    if limit == "memory":
        monkeypatch.setattr(type(learner), "words_that_fit", 1)
    _, after = learn_copies(learner, learning, FAR, settings)
    assert {each.words for each in after.rounds[-3:]} == {len(learning.part.reference.weights)}


def test_of_a_data_set_there_are_no_more_words():
    words = [box().alphabet.symbols[:n] for n in (0, 1, 2)] * 20
    learner, learning, _ = learnt(box(), basis=words)
    _, after = learn_copies(learner, learning, FAR, SETTINGS)
    assert {each.words for each in after.rounds[-2:]} == {60}


def test_a_box_that_is_queried_by_prefixes_is_queried_no_more():
    learner, learning, _ = learnt(model(box=box()))
    n_queries = learner.meter.n_queries
    copies, after = learn_copies(learner, learning, FAR, SETTINGS)
    assert copies
    assert learner.meter.n_queries == n_queries
    assert {each.words for each in after.rounds[-3:]} == {len(learning.part.reference.weights)}


def test_counterexamples_count_a_share_of_all_words(known):
    learner, learning, _ = known
    words = [learner.box.alphabet.symbols[:3], learner.box.alphabet.symbols[:1] * 4]
    few, several = (Reference.query(learner.box, some) for some in (words[:1], words))
    part = replace(learning.part, counterexamples=Counterexamples(few, None, several))
    n_words, share = len(part.reference.weights), learner.settings.counterexample_share
    settings = replace(SETTINGS, small_share=99)
    copies, after = learn_copies(learner, replace(learning, part=part), FAR, settings)
    assert after.rounds[-1].words == n_words + round(share * n_words)
    (copy,) = copies
    assert copy.fidelity == compare(copy.automaton, learner.held_out, several)
    assert copy.fidelity != compare(copy.automaton, learner.held_out, None)


def test_many_counterexamples_are_learnt_once(known):
    learner, learning, _ = known
    reference = learning.part.reference
    part = replace(learning.part, counterexamples=Counterexamples(reference))
    settings = replace(SETTINGS, small_share=99)
    _, after = learn_copies(learner, replace(learning, part=part), FAR, settings)
    assert after.rounds[-1].words == 2 * len(reference.weights)


def test_copies_do_not_grow_where_the_first_is_near_enough(known):
    learner, learning, _ = known
    settings = replace(SETTINGS, small_share=99)
    copies, after = learn_copies(learner, learning, FAR, settings)
    assert len(copies) == len(after.rounds) - len(learning.rounds) == 1


def test_copies_do_not_grow_where_growing_brought_nothing(known):
    learner, learning, _ = known
    settings = replace(SETTINGS, min_gain=1)
    _, after = learn_copies(learner, learning, FAR, settings)
    assert len(after.rounds) == len(learning.rounds) + 2


def test_the_copies_of_an_extraction_are_those_that_were_learnt(monkeypatch):
    monkeypatch.setattr(
        method, "learn_copies", lambda *known: copying.learn_copies(*known[:3], SETTINGS)
    )
    extraction = extract(box(), **SHORT)
    assert extraction.copies
    assert extraction.best() is extraction.copies[-1].automaton
    assert extraction.best(purpose="reading").n_states == 1
    assert "copies" in repr(extraction)


def test_no_copy_is_made_where_a_rank_is_near_enough(monkeypatch):
    monkeypatch.setattr(method, "learn_copies", lambda *_: pytest.fail("not wanted"))
    assert extract(machine(n_states=1), **SHORT).copies == ()
    assert extract(box(), **SHORT, target=0.01).copies == ()


def test_the_same_seed_makes_the_same_copies(known):
    learner, learning, _ = known
    numbers = []
    for _ in range(2):
        again = replace(learner, rng=np.random.default_rng(0))
        copies, _ = learn_copies(again, learning, FAR, SETTINGS)
        numbers.append(copies[-1].automaton.emission)
    np.testing.assert_array_equal(*numbers)


def test_copies_that_several_processes_fit_are_those_of_one(monkeypatch):
    families = []
    for n_processes in (1, 2):
        monkeypatch.setattr(copying, "n_fit_processes", lambda _, n=n_processes: n)
        families.append(learn_copies(*learnt(box())[:2], FAR, SETTINGS)[0])
    one, two = families
    assert len(one) == len(two) > 1
    for copy, other in zip(one, two, strict=True):
        assert copy.automaton.allclose(other.automaton, rtol=0, atol=0)
