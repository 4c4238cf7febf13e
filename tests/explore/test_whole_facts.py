import json

import pytest

from explore.subjects import machine
from seqray.automata.ranks import RankedAutomata
from seqray.explore.ranks import show_ranks
from seqray.explore.whole_facts import rank_changes, whole_facts, without_states


@pytest.fixture(scope="module")
def whole():
    shown = show_ranks(RankedAutomata(machine(), None, {4: machine()}), [4], 4)[0]
    return whole_facts(shown)


def test_the_heaviest_words_come_first(whole):
    weights = [each["weight"] for each in whole["words"]]
    assert weights == sorted(weights, reverse=True)
    first = [machine().alphabet.symbols[code] for code in whole["words"][0]["word"]]
    assert machine().weight(first) == pytest.approx(weights[0])


def test_facts_can_be_written_as_json(whole):
    assert json.loads(json.dumps(whole)) == whole
    mean, deviation = whole["length"]
    assert mean > 0
    assert deviation > 0


def test_facts_about_states_can_be_left_out(whole):
    assert set(whole) - set(without_states(whole)) == {"absorbing", "periodic", "continuations"}


def test_one_rank_changes_nothing():
    assert rank_changes(RankedAutomata(machine()), [4], 4) == {"steps": []}


def test_changes_lead_from_rank_to_rank():
    steps = rank_changes(RankedAutomata(machine()), [1, 2, 3, 4], 4)["steps"]
    assert [step["after"] for step in steps][:-1] == [step["before"] for step in steps][1:]
    assert steps[-1]["after"] == 4
