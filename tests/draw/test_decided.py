import pytest

import seqray
from classifier_boxes import THREE, remainder_automaton
from seqray.draw.decided import CLASS_COLOURS, Decided, class_colour

NAMED = seqray.name_states(remainder_automaton())


@pytest.mark.parametrize("draw", [seqray.to_svg, seqray.to_dot])
def test_states_carry_their_class_instead_of_their_end(draw):
    text = draw(NAMED)
    for name in THREE:
        assert f"{name} 100 %" in text
    assert "ends" not in text
    assert "words end" not in text


def test_states_of_a_class_have_its_colour():
    text = seqray.to_svg(NAMED)
    assert all(class_colour(number) in text for number in range(3))


def test_every_class_probability_is_said_of_a_state():
    decided = Decided.of(NAMED.automaton)
    assert decided.tip(1) == "zero 0 %, one 100 %, two 0 %"
    assert decided.label(2) == "two 100 %"
    assert decided.colour(1) == CLASS_COLOURS[1]


def test_other_automata_decide_nothing():
    assert Decided.of(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5])) is None
