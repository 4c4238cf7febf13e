import numpy as np
import pytest

from seqray import ArgumentError, WeightedAutomaton, name_states
from seqray.automata.generators import random_machine
from seqray.draw.styles import checked, chosen_threshold, picture, subject

MACHINE = random_machine("pfa", 3, 2, seed=0)


def texts(scene):
    shapes = [shape for group in scene.groups for shape in group.shapes]
    return [shape.text for shape in shapes if hasattr(shape, "text")]


def test_without_names_states_show_their_weights():
    assert any(" > " in text or text.startswith("> ") for text in texts(picture(MACHINE)))


def test_names_are_shown():
    assert {"calm", "busy", "late"} <= set(texts(picture(MACHINE, names=["calm", "busy", "late"])))


def test_a_named_automaton_brings_its_own_names():
    named = name_states(MACHINE)
    automaton, names, _ = subject(named, None, None)
    assert isinstance(automaton, WeightedAutomaton)
    assert list(names) == list(named.names)
    assert subject(named, ["a", "b", "c"], None)[1] == ["a", "b", "c"]


def test_a_given_threshold_is_taken():
    assert chosen_threshold(MACHINE, 0.25, None) == 0.25
    assert chosen_threshold(MACHINE, None, None) > 0


def test_names_and_mass_are_one_per_state():
    with pytest.raises(ArgumentError, match="names: expected one for each of 3 states, got 2"):
        checked(MACHINE, ["a", "b"], None)
    with pytest.raises(ArgumentError, match=r"mass: expected shape \(3,\)"):
        checked(MACHINE, list("abc"), [1.0])
    assert checked(MACHINE, list("abc"), [0.5, np.nan, 0.5]) == (["a", "b", "c"], None)


def test_mass_needs_names():
    with pytest.raises(ArgumentError, match="mass: only the readable style"):
        picture(MACHINE, mass=[1, 2, 3])


def test_what_nobody_could_read_is_not_drawn():
    many = random_machine("dpfa", 501, 2, seed=0)
    with pytest.raises(ArgumentError, match=r"at most 500 states to draw, got 501.*convert"):
        picture(many)
