import json

import numpy as np
import pytest

import seqray
from classifier_boxes import remainder_automaton
from seqray.explain.class_facts import class_facts
from seqray.util.errors import ArgumentError


def test_every_step_that_changes_the_class_is_listed():
    facts = class_facts(remainder_automaton())
    assert facts.is_deterministic
    steps = {(each.before, each.symbol, each.after) for each in facts.changes}
    assert steps == {
        *(("zero", "a", "one"), ("zero", "b", "two"), ("one", "a", "two"), ("one", "b", "zero")),
        *(("one", "c", "zero"), ("two", "a", "zero"), ("two", "b", "one"), ("two", "c", "zero")),
    }


def test_each_state_has_its_row():
    text = str(class_facts(remainder_automaton()))
    assert "3 states and their classes" in text
    assert "Each symbol leads from one state to one other" in text
    assert "end" not in text


def test_mixtures_of_states_are_said_to_be_such():
    rng = np.random.default_rng(0)
    automaton = seqray.ClassifierAutomaton(
        *("ab", [1, 0], rng.dirichlet([1, 1], (2, 2)), rng.dirichlet([1, 1], 2)),
        classes=["no", "yes"],
    )
    facts = class_facts(automaton)
    assert not facts.is_deterministic
    assert "mixtures of states" in str(facts)


def test_all_facts_can_be_written_as_json():
    document = json.loads(json.dumps(class_facts(remainder_automaton()).as_dict()))
    assert document["state_classes"] == ["zero", "one", "two"]
    assert document["targets"][0] == [1, 2, 0]


def test_other_automata_are_refused():
    with pytest.raises(ArgumentError, match="expected one that classifies"):
        class_facts(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))
