import json

import pytest

from explore.subjects import large, machine, probabilities, signed
from seqray import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.explore.ranks import show_ranks
from seqray.explore.whole_facts import rank_changes, whole_facts

RANKS = range(1, 7)


def test_facts_are_those_of_the_chosen_automaton():
    shown = show_ranks(probabilities().automata, RANKS, 5)[4]
    document = whole_facts(shown)
    alphabet = machine().alphabet
    words = [alphabet.decode(each["word"]) for each in document["words"]]
    weights = probabilities().automaton(5).weights(words)
    assert [each["weight"] for each in document["words"]] == pytest.approx(weights, rel=1e-9)
    assert document["length"][0] == pytest.approx(sum(document["counts"]), rel=1e-6)
    assert len(document["continuations"]) == shown.named.automaton.n_states
    json.dumps(document, allow_nan=False)


def test_weights_that_sum_to_more_than_one_are_no_shares_of_all_words():
    twice = WeightedAutomaton("ab", [1], [[[0.25]], [[0.25]]], [1])
    document = whole_facts(show_ranks(RankedAutomata(twice, None, {1: twice}), [1], 1)[0])
    assert document["words"][0] == {"word": [], "weight": 1}
    assert document["length"] is document["counts"] is document["influence"] is None


def test_facts_of_numbers_that_are_no_probabilities_are_fewer():
    document = whole_facts(show_ranks(RankedAutomata(signed(), None, {5: signed()}), [5], 5)[0])
    assert document["length"] is document["counts"] is document["influence"] is None
    assert document["words"]


def test_without_names_only_the_heaviest_words_are_found():
    wa = large(70, 3)
    document = whole_facts(show_ranks(RankedAutomata(wa, None, {70: wa}), [70], 70)[0])
    assert set(document) == {"words", "exact"}
    assert document["words"]


def test_changes_go_a_little_beyond_the_chosen_rank():
    document = rank_changes(probabilities().automata, RANKS, 3)
    pairs = [(step["before"], step["after"]) for step in document["steps"]]
    assert pairs[0] == (1, 2)
    assert pairs[-1][1] in (5, 6)
    assert document["predicting"]
    assert rank_changes(RankedAutomata(machine()), [4], 4) == {"steps": []}
