import dataclasses
import json

import pytest

import seqray
from copied import copied
from explore.subjects import machine, probabilities, real
from seqray.explore.content import Subject, how_made, page_content
from seqray.explore.recorded import record_answers
from seqray.extraction.result import ExtractionSettings

RANKS = range(1, 7)


@pytest.fixture(scope="module")
def recorded():
    return record_answers(machine(), probabilities().automaton, RANKS, 5, sure={2})


def test_a_subject_is_an_extraction_or_a_single_automaton():
    run, single = Subject.of(probabilities()), Subject.of(machine())
    assert run.ranks == tuple(RANKS)
    assert run.best == probabilities().best_rank()
    assert single.ranks == (4,)
    assert single.automata.automaton(4) is machine()
    assert single.fidelity == single.settings == {}


def test_a_document_holds_what_json_can(recorded):
    document = page_content(
        Subject.of(probabilities()),
        5,
        name="box",
        facts={"x": float("inf")},
        changes={},
        recorded=recorded,
    )
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text)["facts"] == {"x": None}
    table = document["fidelity"]
    assert table["ranks"] == list(RANKS)
    assert table["values"]["ndcg5"][4] == recorded.fidelity[5]["ndcg5"]
    assert table["intervals"]["ndcg5"][4] is not None
    assert table["intervals"]["ndcg5"][2] is None
    assert sum(document["frequencies"]) == pytest.approx(1)


def test_without_the_box_the_figures_are_those_of_the_run():
    document = page_content(Subject.of(probabilities()), 5, name="box", facts={}, changes={})
    assert document["fidelity"]["source"] == "held-out words drawn from the box"
    assert document["recorded"] is None
    lone = page_content(Subject.of(machine()), 4, name="box", facts={}, changes={})
    assert lone["fidelity"] is None


def test_a_symbol_that_is_no_text_can_still_be_shown():
    odd = seqray.WeightedAutomaton(["\ud800", "b"], [1], [[[0.5]], [[0.25]]], [0.25])
    document = page_content(Subject.of(odd), 1, name="box", facts={}, changes={})
    assert document["alphabet"]["texts"] == ["\\ud800", "b"]
    json.dumps(document, ensure_ascii=False).encode()


def test_how_it_was_made_names_everything():
    rows = dict(how_made(Subject.of(probabilities()), 5, "my box", None))
    assert rows["Black box"] == "my box"
    assert rows["Method"].startswith("conditional: how contexts go on")
    assert rows["Queries"].replace(",", "").isdigit()
    assert rows["Seed"] == "0"
    assert rows["Time"].endswith(")")
    assert f"seqray {seqray.__version__}" in rows["Versions"]
    values = dict(how_made(Subject.of(real()), 2, "f", None))
    assert "suffixes" in values["Basis"]


def test_how_it_was_made_says_what_was_unusual():
    odd = ExtractionSettings(method="by hand", repeat=3, stopped="time is over", questions=7)
    changed = dataclasses.replace(probabilities(), settings=odd)
    rows = dict(how_made(Subject.of(changed), 5, "x", None))
    assert rows["Method"] == "by hand"
    assert rows["Queries"] == "7, each 3 times"
    assert rows["Stopped early"] == "time is over"
    assert rows["Time"] == rows["Seed"] == "–"


def test_copies_of_the_run_are_one_sentence():
    document = page_content(Subject.of(copied()), 2, name="box", facts={}, changes={})
    assert document["copies"].endswith("on held-out words: 6 states (0.02) and 7 states (0.01).")
    for other in (probabilities(), machine()):
        subject = Subject.of(other)
        assert page_content(subject, 4, name="b", facts={}, changes={})["copies"] == ""
