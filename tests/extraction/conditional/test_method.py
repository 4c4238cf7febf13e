import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import seqray
from automata import markov_chain
from conditional_boxes import SMALL, RecordedProgress, demo, machine, model
from same_gru import native
from seqray import WeightedAutomaton, extract, language_model
from seqray.automata.generators import random_machine
from seqray.blackbox.queried import QueriedModel
from seqray.blackbox.queries.limits import Meter
from seqray.extraction.conditional import method
from seqray.extraction.conditional.parts import PartSizes
from seqray.extraction.job import draw_within
from seqray.extraction.settings import CONDITIONAL
from seqray.fidelity.reference import Reference
from seqray.util.errors import ArgumentError
from told import ODD, odd_box, rng

pytestmark = pytest.mark.usefixtures("tiny_copies")


def test_by_default_20000_words_are_drawn(monkeypatch):
    class Done(Exception):  # noqa: N818 - not an error
        pass

    def learn(learner, pacer):
        assert learner.sizes == PartSizes(20_000, 1500, 250)
        assert pacer.first_share == 1 / 64
        raise Done

    monkeypatch.setattr(method, "learn_in_parts", learn)
    with pytest.raises(Done):
        extract(machine())


def test_the_settings_say_what_was_queried():
    extraction = extract(demo(), **SMALL, purpose="reading")
    settings = extraction.settings
    assert settings["method"] == "conditional"
    assert settings["query_mode"] == "states"
    assert settings["basis"] == "contexts of 534 words drawn from the box"
    assert settings["prefixes"] == len(extraction.basis.prefixes) == 40
    assert settings["columns"] == 5 * settings["suffixes"]
    assert settings["held_out_words"] == 1000
    assert settings["steps"] == settings["questions"] == settings["rounds"][-1]["questions"]
    assert set(settings["seconds"]) == {"choose", "fill", "svd", "fit"}
    (only,) = settings["rounds"]
    assert (only["words"], only["contexts"]) == (534, 40)
    assert only["score"] == extraction.fidelity.at(3).score
    assert only["ndcg5"] == extraction.fidelity.at(3)["ndcg5"]


def test_every_step_of_a_network_is_counted_once(hasty):
    box = demo()
    steps = [0]

    class Counting(type(box)):
        def step(self, states, parents, symbols):
            steps[0] += len(parents)
            return super().step(states, parents, symbols)

    object.__setattr__(box, "__class__", Counting)
    settings = extract(box, **SMALL).settings
    assert settings["questions"] == settings["steps"] == settings["queries_sent"] == steps[0]
    held_out = draw_within(demo(), 1000, 20, _held_out_rng(0), Meter())
    assert len(held_out.tree) - 1 <= settings["validation_questions"] < held_out.n_prefixes


def _held_out_rng(seed):
    return np.random.default_rng(seed).spawn(2)[1]


def test_words_that_were_cut_are_counted(caplog, hasty):
    extraction = extract(native(), **{**SMALL, "max_length": 3})
    assert extraction.settings["words_cut"] > 0
    assert f"{extraction.settings['words_cut']} of the sampled words had not ended" in caplog.text


def test_contexts_of_a_data_set_are_its_own(hasty):
    wa = machine()
    data = wa.sample(30, seed=rng(4)).words
    extraction = extract(wa, basis=data, **SMALL)
    assert extraction.settings["basis"] == "contexts of 30 words of a data set"
    many = extract(wa, basis=wa.sample(2000, seed=rng(4)).words, **SMALL)
    assert many.settings["basis"] == "contexts of 534 words of a data set"
    assert many.settings["words_cut"] == 0
    with pytest.raises(ArgumentError, match="basis: expected words to learn from, got none"):
        extract(wa, basis=[], **SMALL)


def test_a_data_set_that_the_box_finds_impossible_is_no_trouble():
    box = WeightedAutomaton("abc", [1], [[[0.5]], [[0.25]], [[0]]], [0.25])
    extraction = extract(box, basis=["cab", "c", "acc"], **SMALL)
    assert extraction.fidelity.at(extraction.best_rank())["ndcg5"] > 0.99


@pytest.mark.parametrize("make", [machine, model, demo])
def test_boxes_of_every_kind_are_copied(make):
    extraction = extract(make(), **{**SMALL, "max_rank": 5})
    assert extraction.fidelity.at(extraction.best_rank())["ndcg5"] > 0.999
    for rank in range(1, extraction.max_rank + 1):
        automaton = extraction.automaton(rank)
        assert automaton.n_states == rank
        assert automaton.total == pytest.approx(1, abs=1e-4)
        assert np.isfinite([*extraction.fidelity.at(rank).values()]).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_markov_chain_comes_back_with_all_its_states(seed):
    chain = markov_chain([0.1, 0.2, 0.05, 0.15], seed)
    extraction = extract(chain, n_prefixes=300, max_rank=10)
    assert extraction.best_rank() == 4
    assert extraction.fidelity.at(4).score > 1 - 1e-5
    assert extraction.fidelity.at(3)["ndcg5"] > 0.998  # the order of symbols needs fewer


def test_the_same_seed_gives_the_same_at_any_pace(hasty):
    box = random_machine("pfa", 8, 3, seed=rng(1))  # so rich that no small part is enough
    whole = extract(model(box=box), **SMALL)
    for limits in (
        {"seconds": 1000, "budget": 10**6, "stop": threading.Event()},
        {"target": 1},
    ):
        other = extract(model(box=box), **SMALL, **limits)
        assert other.basis.prefixes == whole.basis.prefixes
        assert set(other.fitted) == set(whole.fitted)
        for rank in (1, 2, 3):
            assert other.automaton(rank).allclose(whole.automaton(rank), rtol=0, atol=0)
    assert extract(model(box=box), **SMALL, seed=1).basis.prefixes != whole.basis.prefixes


@pytest.mark.parametrize("kind", ["states", "next symbols"])
@pytest.mark.parametrize("name", ODD)
def test_odd_boxes_are_extracted(name, kind, monkeypatch):
    monkeypatch.setattr(method, "SETTINGS", replace(CONDITIONAL, min_steps=60))
    box = odd_box(name)
    if kind == "next symbols":
        states = box
        box = language_model(lambda prefixes: next_symbols(states, prefixes), states.alphabet)
    for sizes in ({"prefixes": 1, "suffixes": 1}, {"prefixes": 12, "suffixes": 12}):
        extraction = extract(box, **sizes, max_rank=2, max_length=8)
        assert extraction.settings["query_mode"] == kind
        for rank in range(1, extraction.max_rank + 1):
            assert np.isfinite(
                extraction.automaton(rank).next_symbol([(), box.alphabet.symbols])
            ).all()
            fidelity = extraction.fidelity.at(rank)
            assert 0 <= fidelity["ndcg5"] <= 1 + 1e-9
            assert np.isfinite(fidelity["kl_per_symbol"])
    if name != "one word":  # which needs three states
        assert extraction.fidelity.at(extraction.best_rank())["ndcg5"] > 0.99


def next_symbols(box, prefixes):
    known = Reference.query(box, prefixes)
    return known.next_symbol[:, known.tree.node_of_word].T


def test_a_model_that_knows_other_symbols_too_is_extracted():
    wa = machine()
    sure = language_model(lambda prefixes: 0.9 * wa.next_symbol(prefixes), wa.alphabet)
    extraction = extract(QueriedModel(sure.backend, wa.alphabet, leaks=True), **SMALL)
    assert extraction.fidelity.at(3)["ndcg1"] > 0.9


def test_a_noisy_model_is_detected(caplog):
    wa, noise = machine(), rng(3)

    def answer(prefixes):
        rows = wa.next_symbol(prefixes) * noise.uniform(0.9, 1.1, (len(prefixes), 4))
        return rows / rows.sum(axis=1, keepdims=True)

    extraction = extract(language_model(answer, wa.alphabet), **SMALL)
    assert extraction.settings["noise"]["level"] > 0.01
    assert "answers differently each time" in caplog.text
    assert extraction.fidelity.at(extraction.best_rank())["ndcg5"] > 0.95


def test_a_stop_before_the_first_query_is_an_error():
    stop = threading.Event()
    stop.set()
    for make in (native, model, machine):
        with pytest.raises(seqray.util.errors.Stopped, match="interrupted"):
            extract(make(), **SMALL, stop=stop)


@pytest.mark.parametrize("make", [demo, model, machine])
def test_every_phase_is_named_and_moves(make, hasty):
    progress = RecordedProgress()
    extraction = extract(make(), **SMALL, seed=2, progress=progress)
    names = [name for name, _ in progress.phases]
    asking = ["drawing words to compare on", "drawing words", "following contexts"]
    assert names[:3] == asking
    assert "comparing automata" in names
    moved = [name for name, *_ in progress.calls]
    assert set(moved) == set(names)
    for name, unit in progress.phases:
        steps = [(done, total) for phase, done, total in progress.calls if phase == name]
        n_restarts = sum(after < before for (before, _), (after, _) in pairwise(steps))
        assert n_restarts < names.count(name)
        is_asked = name in (*asking, "drawing more words")
        assert unit == ("answers" if is_asked else "automata" if "comp" in name else "steps")
    if extraction.settings["query_mode"] != "next symbols":
        assert moved.count("following contexts") > 3


def test_a_plain_progress_is_called_with_two_numbers(hasty):
    calls = []
    extract(machine(), **SMALL, progress=lambda done, total: calls.append((done, total)))
    assert calls
    assert all(0 < done <= total for done, total in calls)
