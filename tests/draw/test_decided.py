import numpy as np
import pytest

import seqray
from classifier_boxes import THREE, remainder_automaton
from seqray import DeterministicAutomaton
from seqray.draw.decided import CLASS_COLOURS, Decided, class_colour, symbols_label
from seqray.draw.graph import DrawnEdge
from seqray.draw.scene import Box
from seqray.draw.styles import picture

NAMED = seqray.name_states(remainder_automaton())
DOUBTFUL = seqray.ClassifierAutomaton(
    *("a", [1, 0], [[[0, 1], [1, 0]]], [[0.9, 0.1, 0], [0.1, 0.9, 0]]), classes=THREE
)
EVEN = DeterministicAutomaton("abc", [[1, 0, 0], [0, 1, 1]], [1, 0])


@pytest.mark.parametrize("draw", [seqray.to_svg, seqray.to_dot])
def test_states_carry_their_class_instead_of_their_end(draw):
    text = draw(NAMED)
    assert all(name in text for name in THREE)
    assert "ends" not in text
    assert "words end" not in text


def test_states_of_a_class_have_its_colour():
    text = seqray.to_svg(NAMED)
    assert all(class_colour(number) in text for number in range(3))


def test_every_class_probability_is_said_of_a_state():
    decided = Decided.of(DOUBTFUL)
    assert decided.tip(1) == "zero 10 %, one 90 %, two 0 %"
    assert decided.label(1) == "one 90 %"
    assert decided.colour(1) == CLASS_COLOURS[1]


def test_other_automata_decide_nothing():
    assert Decided.of(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5])) is None


@pytest.mark.parametrize("draw", [seqray.to_svg, seqray.to_dot])
def test_a_dfa_is_drawn_without_weights_and_probabilities(draw):
    text = draw(seqray.name_states(EVEN))
    assert "b, c" in text
    assert "a: 1" not in text
    assert "100 %" not in text
    assert "|weight|" not in text


def test_accepting_states_have_a_double_rim():
    named = seqray.name_states(EVEN)
    assert seqray.to_dot(named).count("peripheries=2") == 1
    none = seqray.name_states(remainder_automaton())
    assert "peripheries" not in seqray.to_dot(none)
    states = [group for group in picture(named).groups if group.kind == "state"]
    assert [len([s for s in each.shapes if isinstance(s, Box)]) for each in states] == [2, 1]


def test_lines_of_a_dfa_are_thinner():
    named = seqray.name_states(EVEN)
    assert "penwidth=1.80" in seqray.to_dot(named)
    assert "penwidth=4.00" not in seqray.to_dot(named)


@pytest.mark.parametrize("outputs", [[[0.9, 0.1], [0.1, 0.9]], [[1, 0], [0, 1]]])
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_weights_and_probabilities_are_shown_unless_all_are_certain(outputs, weight):
    turn = [[[0, weight], [weight, 0]]]
    automaton = seqray.ClassifierAutomaton("a", [1, 0], turn, outputs, classes=["x", "y"])
    is_certain = weight == 1 and outputs[0][0] == 1
    assert Decided.of(automaton).is_certain == is_certain
    text = seqray.to_svg(automaton, names=["p", "q"])
    assert ("a: " in text) == ("%" in text) == ("|weight|" in text) == (not is_certain)


def test_a_symbol_that_leads_to_two_states_is_not_certain():
    both = [[[1, 1], [0, 1]], [[0, 0], [0, 1]]]
    automaton = seqray.ClassifierAutomaton("ab", [1, 0], both, np.eye(2), classes=["x", "y"])
    assert not Decided.of(automaton).is_certain


def test_certain_states_tell_only_their_class():
    decided = Decided.of(EVEN.to_classifier())
    assert [decided.label(0), decided.tip(1)] == ["yes", "no"]
    assert [decided.is_accepting(number) for number in (0, 1)] == [False, True]


def test_many_symbols_share_lines_and_the_rest_is_counted():
    names = tuple(f"s{number}" for number in range(20))
    edge = DrawnEdge(0, 1, tuple((name, 1.0) for name in names), names)
    lines = [line for line, _ in symbols_label(edge, 4)]
    assert lines == ["s0, s1, s2", "s3, s4, s5", "s6, s7, s8", "… 11 more"]
    assert [line for line, _ in symbols_label(edge, 20)][-1] == "s18, s19"
