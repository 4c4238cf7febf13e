import dataclasses
import json

import numpy as np
import pytest

import seqray
from explore.subjects import large, machine, probabilities, real, real_box, signed
from seqray.automata.ranks import RankedAutomata
from seqray.explore.content import Subject, how_made, page_content
from seqray.explore.ranks import show_ranks
from seqray.explore.recorded import record_answers
from seqray.explore.whole_facts import rank_changes, whole_facts
from seqray.extraction.result import ExtractionSettings
from seqray.util.errors import ArgumentError

RANKS = range(1, 7)


# What the box says --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded():
    return record_answers(machine(), probabilities().automaton, RANKS, 5, sure={2})


def test_words_and_prefixes_carry_what_the_box_says(recorded):
    assert len(set(recorded.words)) == len(recorded.words)
    assert recorded.weights == pytest.approx(machine().weights(recorded.words), rel=1e-9)
    assert recorded.prefixes[0] == ()
    assert recorded.next_symbol == pytest.approx(machine().next_symbol(recorded.prefixes), rel=1e-9)
    worst = machine().alphabet.words([each.word for each in recorded.worst])
    assert recorded.worst_next == pytest.approx(machine().next_symbol(worst), rel=1e-9)
    assert recorded.source == "2,000 words drawn from the box"


def test_only_some_ranks_have_intervals(recorded):
    sure = {rank for rank, fidelity in recorded.fidelity.items() if fidelity.intervals}
    assert sure == {2, 5}
    assert set(recorded.fidelity) == set(RANKS)


def test_words_are_codes_on_the_page(recorded):
    told = json.loads(json.dumps(recorded.to_json(), allow_nan=False))
    decode = machine().alphabet.decode
    assert [decode(codes) for codes in told["words"]] == list(recorded.words)
    assert [decode(codes) for codes in told["prefixes"]] == list(recorded.prefixes)
    assert [decode(each["word"]) for each in told["worst"]] == [
        each.word for each in recorded.worst
    ]
    assert np.array(told["next"]) == pytest.approx(recorded.next_symbol, rel=1e-4)


def test_a_box_of_numbers_is_asked_about_random_words():
    recorded = record_answers(real_box(), real().automaton, [1, 2], 2)
    assert recorded.source == "2,000 random words"
    assert recorded.prefixes is recorded.next_symbol is recorded.worst_next is None
    told = recorded.to_json()
    assert told["prefixes"] is told["next"] is told["worst_next"] is None


def test_words_of_ones_own_are_compared_on():
    words = machine().alphabet.words(["", "ab", "ab", "dcb"])
    recorded = record_answers(machine(), probabilities().automaton, [5], 5, words=words)
    assert recorded.source == "4 words of your own"
    assert sorted(recorded.words) == [(), ("a", "b"), ("d", "c", "b")]
    assert recorded.fidelity[5].n_words == 4


def test_long_words_do_not_fill_the_page(monkeypatch):
    monkeypatch.setattr("seqray.explore.recorded.MAX_SYMBOLS", 200)
    words = machine().alphabet.words([symbol * 60 for symbol in "abcd"] + ["abcd" * 15])
    recorded = record_answers(machine(), probabilities().automaton, [5], 5, words=words)
    assert len(recorded.words) == 3


def test_another_alphabet_is_refused():
    with pytest.raises(ArgumentError, match="expected the same symbols"):
        record_answers(real_box(), probabilities().automaton, RANKS, 5)


# Facts --------------------------------------------------------------------------------------------


def test_facts_are_those_of_the_chosen_automaton():
    shown = show_ranks(probabilities().automata, RANKS, 5)[4]
    told = whole_facts(shown)
    alphabet = machine().alphabet
    words = [alphabet.decode(each["word"]) for each in told["words"]]
    weights = probabilities().automaton(5).weights(words)
    assert [each["weight"] for each in told["words"]] == pytest.approx(weights, rel=1e-9)
    assert told["length"][0] == pytest.approx(sum(told["counts"]), rel=1e-6)
    assert len(told["continuations"]) == shown.named.automaton.n_states
    json.dumps(told, allow_nan=False)


def test_facts_of_numbers_that_are_no_chances_are_fewer():
    told = whole_facts(show_ranks(RankedAutomata(signed(), None, {5: signed()}), [5], 5)[0])
    assert told["length"] is told["counts"] is told["influence"] is None
    assert told["words"]


def test_without_names_only_the_heaviest_words_are_found():
    wa = large(70, 3)
    told = whole_facts(show_ranks(RankedAutomata(wa, None, {70: wa}), [70], 70)[0])
    assert set(told) == {"words", "exact"}
    assert told["words"]


def test_changes_go_a_little_beyond_the_chosen_rank():
    told = rank_changes(probabilities().automata, RANKS, 3)
    pairs = [(step["before"], step["after"]) for step in told["steps"]]
    assert pairs[0] == (1, 2)
    assert pairs[-1][1] in (5, 6)
    assert told["predicting"]
    assert rank_changes(RankedAutomata(machine()), [4], 4) == {"steps": []}


# The document -------------------------------------------------------------------------------------


def test_a_subject_is_an_extraction_or_a_single_automaton():
    run, single = Subject.of(probabilities()), Subject.of(machine())
    assert run.ranks == tuple(RANKS)
    assert run.best == probabilities().best_rank()
    assert single.ranks == (4,)
    assert single.automata.automaton(4) is machine()
    assert single.fidelity == single.settings == {}


def test_a_document_holds_what_json_can(recorded):
    told = page_content(
        Subject.of(probabilities()),
        5,
        name="box",
        facts={"x": float("inf")},
        changes={},
        recorded=recorded,
    )
    text = json.dumps(told, allow_nan=False)
    assert json.loads(text)["facts"] == {"x": None}
    table = told["fidelity"]
    assert table["ranks"] == list(RANKS)
    assert table["values"]["ndcg5"][4] == recorded.fidelity[5]["ndcg5"]
    assert table["intervals"]["ndcg5"][4] is not None
    assert table["intervals"]["ndcg5"][2] is None
    assert sum(told["frequencies"]) == pytest.approx(1)


def test_without_the_box_the_figures_are_those_of_the_run():
    told = page_content(Subject.of(probabilities()), 5, name="box", facts={}, changes={})
    assert told["fidelity"]["source"] == "held-out words"
    assert told["recorded"] is None
    lone = page_content(Subject.of(machine()), 4, name="box", facts={}, changes={})
    assert lone["fidelity"] is None


def test_a_symbol_that_is_no_text_can_still_be_shown():
    odd = seqray.WeightedAutomaton(["\ud800", "b"], [1], [[[0.5]], [[0.25]]], [0.25])
    told = page_content(Subject.of(odd), 1, name="box", facts={}, changes={})
    assert told["alphabet"]["texts"] == ["\\ud800", "b"]
    json.dumps(told, ensure_ascii=False).encode()


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
