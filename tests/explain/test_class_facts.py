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


def random_classifier(seed):
    rng = np.random.default_rng(seed)
    transitions = rng.normal(size=(3, 4, 4)) / 2
    return seqray.ClassifierAutomaton(
        *("abc", rng.normal(size=4), transitions, rng.normal(size=(4, 3))),
        classes=["one", "two", "three"],
        question="logit",
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_step_changes_the_class_where_the_automaton_decides_so(seed):
    automaton = random_classifier(seed)
    facts = class_facts(automaton)
    names = dict(zip(facts.named.names, facts.named.prefixes, strict=True))
    expected = set()
    for name, prefix in names.items():
        for symbol in "abc":
            before, after = automaton.classify([prefix, (*prefix, symbol)])
            if before != after:
                expected.add((name, symbol, before, after))
    assert {(c.origin, c.symbol, c.before, c.after) for c in facts.changes} == expected
    targets = {c.target: c.after for c in facts.changes if c.target in names}
    assert targets
    for target, after in targets.items():
        assert automaton.classify([names[target]]) == [after]


def test_a_step_to_a_class_that_no_state_has_leads_to_a_mixture():
    outputs = [[1, 0, 0.9], [0, 1, 0.9]]  # half of both states: the third class
    swap, mix = [[0, 1], [1, 0]], [[0.5, 0.5], [0.5, 0.5]]
    automaton = seqray.ClassifierAutomaton(
        *("ab", [1, 0], [swap, mix], outputs), classes=["x", "y", "both"]
    )
    facts = class_facts(automaton)
    assert ("start", "b", "a mixture", "x", "both") in facts.changes
    assert "a mixture" in str(facts)
    assert facts.as_dict()["targets"] == [[1, 0], [None, None]]


def test_all_facts_can_be_written_as_json():
    document = json.loads(json.dumps(class_facts(remainder_automaton()).as_dict()))
    assert document["state_classes"] == ["zero", "one", "two"]
    assert document["targets"][0] == [1, 2, 0]


def test_other_automata_are_refused():
    with pytest.raises(ArgumentError, match="expected one that classifies"):
        class_facts(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))
