from classifier_boxes import remainder_automaton
from seqray.explain.class_facts import class_facts
from seqray.explore import class_map as module
from seqray.explore.class_map import class_map
from seqray.fidelity import table
from seqray.fidelity.table import Fidelity, FidelityTable

FACTS = class_facts(remainder_automaton())


def test_the_map_says_in_plain_words_what_is_drawn():
    shown = class_map(FACTS, None)
    assert '<g class="caption experts">' in shown
    assert '<p class="caption everyone">All arrows are drawn.</p>' in shown


def test_arrows_that_are_left_out_are_said():
    automaton = remainder_automaton()
    steps = 0.995 * automaton.transitions + 0.005 / 3
    mixed = automaton.with_arrays(automaton.initial, steps, automaton.outputs)
    assert "The lightest arrows are left out, 0.33 % of all weight." in class_map(
        class_facts(mixed), None
    )


def test_many_states_are_said_to_be_many(monkeypatch):
    ranks = FidelityTable((1, 3), (Fidelity({"agreement": 0.5}, 9, 9),) * 2)
    assert "many to look at" not in class_map(FACTS, ranks)
    for each in (module, table):
        monkeypatch.setattr(each, "MANY_STATES", 2)
    shown = class_map(FACTS, ranks)
    assert "3 states are many to look at. <code>seqray explore --rank 1</code> shows 1" in shown
    assert "for 50 % of the words" in shown
    monkeypatch.setattr(module, "MAX_DRAWN_STATES", 2)
    assert "too many to draw.</p>" in class_map(FACTS, None)
