import threading
from dataclasses import replace

import numpy as np
import pytest

import seqray
from conditional_boxes import RecordedProgress, machine, model
from seqray import extract, language_model
from seqray.automata.generators import triggered_machine
from seqray.extraction.conditional import method
from seqray.extraction.settings import CONDITIONAL
from seqray.util.errors import ArgumentError
from told import rng

pytestmark = pytest.mark.usefixtures("hasty")

RARE_SIZES = {"prefixes": 200, "suffixes": 40, "max_length": 30}
FEW_SIZES = {"prefixes": 60, "suffixes": 30, "max_length": 15}


def largest_distance(box, automaton):
    return seqray.disagreements(box, automaton, seed=9)[0].distance


def test_rare_behaviour_is_learnt_from_counterexamples():
    box = triggered_machine("abacabac")  # one place in ten thousand
    missed = extract(box, **RARE_SIZES)
    assert largest_distance(box, missed.best()) > 0.5
    assert missed.settings["counterexamples"] == []
    assert "total_variation" not in missed.fidelity.at(1)
    extraction = extract(box, **RARE_SIZES, counterexamples=3)
    assert extraction.best_rank() == box.n_states
    assert largest_distance(box, extraction.best()) < 1e-8
    words = box.sample(200, seed=rng(3)).words
    np.testing.assert_allclose(extraction.best().weights(words), box.weights(words), rtol=1e-8)
    first, *_, last = extraction.settings["counterexamples"]
    assert first["then"] == "learnt"
    assert first["distance"] > 0.5
    assert first["after"].endswith("abacabac")
    assert (last["then"], last["words"], last["states"]) == ("nothing to learn", 0, box.n_states)
    assert last["distance"] < 1e-8
    questions = [each["questions"] for each in extraction.settings["counterexamples"]]
    assert questions == sorted(questions)
    assert questions[-1] == extraction.settings["questions"]
    assert extraction.fidelity.at(1)["total_variation"] > 0.5
    assert extraction.fidelity.at(box.n_states)["total_variation"] < 1e-8


def test_no_query_is_sent_twice_for_counterexamples(hasty):
    box, asked = triggered_machine("abac"), []

    def answer(prefixes):
        asked.extend(prefixes)
        return box.next_symbol(prefixes).round(12)

    twice = []
    for n in (0, 1):
        asked.clear()
        model = language_model(answer, box.alphabet, batch_size=64)
        extraction = extract(model, **FEW_SIZES, counterexamples=n)
        twice.append(len(asked) - len(set(asked)))
    assert extraction.settings["counterexamples"][0]["then"] == "learnt"
    assert twice[0] == twice[1] < 300  # a few words, to see whether it changes its mind


@pytest.mark.parametrize("most", ["max_ndcg_loss", "max_ratio_loss"])
def test_learning_that_brings_no_automaton_nearer_is_undone(monkeypatch, caplog, most):
    box = triggered_machine("abacabac")
    monkeypatch.setattr(method, "SETTINGS", replace(CONDITIONAL, **{most: -1}))
    sizes = {**RARE_SIZES, "prefixes": 400}
    plain, tried = (extract(box, **sizes, counterexamples=n) for n in (0, 3))
    first, *others = tried.settings["counterexamples"]
    assert first["then"] == "no nearer"
    assert first["words"] > 1
    assert {each["then"] for each in others} <= {"stays"}
    assert (
        "give 54 % of the probability to different symbols, and that was not learnt" in caplog.text
    )
    assert "total_variation" not in tried.fidelity.at(1)
    np.testing.assert_array_equal(plain.automaton(1).final, tried.automaton(1).final)
    assert plain.basis.prefixes == tried.basis.prefixes


@pytest.mark.parametrize("phase", ["searching for disagreements", "following contexts"])
def test_stopping_among_counterexamples_keeps_what_was_learnt_before(phase, caplog, hasty):
    box, stop = triggered_machine("abacabac"), threading.Event()

    def react(now, done, total):
        names = [name for name, _ in progress.phases]
        if now == phase and "searching for disagreements" in names and done > 5:
            stop.set()

    progress = RecordedProgress(react)
    extraction = extract(
        model(box=box), **RARE_SIZES, counterexamples=2, stop=stop, progress=progress
    )
    assert stop.is_set()
    assert extraction.settings["stopped"] == "interrupted"
    assert extraction.settings["prefixes"] == 200
    thens = [each["then"] for each in extraction.settings["counterexamples"]]
    said = "no counterexamples were searched for"
    if phase == "following contexts":
        assert thens == ["stopped"]
        said = "the search for counterexamples ended early"
    assert f"interrupted: {said}" in caplog.text


def test_every_kind_of_rare_behaviour_is_learnt(hasty):
    def answer(rule):
        def probabilities(prefixes):
            rows = []
            for prefix in prefixes:
                odd = rule(prefix)
                even = [0.5, 0.3, 0.1, 0.1] if prefix.count("b") % 2 else [0.3, 0.5, 0.1, 0.1]
                rows.append(odd or even)
            return rows

        return language_model(probabilities, "abc", batch_size=256)

    surely = [0.02, 0.02, 0.9, 0.06]
    rules = {
        "at the start": lambda prefix: prefix == "cacb" and surely,
        "then the end": lambda prefix: prefix.endswith("ccaca") and [0, 0, 0, 1.0],
        "two of them": lambda prefix: prefix.endswith(("ccab", "bccc")) and surely,
    }
    for name, rule in rules.items():
        extraction = extract(answer(rule), **FEW_SIZES, max_rank=20, counterexamples=3)
        searches, rank = extraction.settings["counterexamples"], extraction.best_rank()
        last = [each for each in searches if each["states"] == rank][-1]
        assert last["then"] == "nothing to learn", name


def test_a_budget_is_shared_with_counterexamples(caplog, hasty):
    box = model(box=triggered_machine("abaca"))
    extraction = extract(box, max_length=20, max_rank=8, counterexamples=1, budget=60_000)
    first = extraction.settings["counterexamples"][0]
    assert first["then"] == "learnt"
    assert (
        extraction.settings["rounds"][-1]["questions"] < 10_000 < extraction.settings["questions"]
    )
    assert extraction.settings["questions"] <= 60_000
    assert "counterexamples" not in caplog.text
    extract(box, max_length=20, max_rank=8, counterexamples=2, budget=800)
    assert "used up: no counterexamples were searched for" in caplog.text


def test_counterexamples_are_for_boxes_that_predict():
    box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab")
    with pytest.raises(ArgumentError, match=r"expected a box that predicts .* this is weighted"):
        extract(box, counterexamples=1)
    with pytest.raises(ArgumentError, match="counterexamples"):
        extract(machine(), counterexamples=-1)
