import numpy as np
import pytest

from explore.subjects import large, machine, signed
from seqray.explore.first_graph import (
    MAX_STATES,
    FirstGraph,
    opening_position,
    slider_threshold,
    state_names,
)


def graph(automaton):
    names = [("", f"state {q}") for q in range(automaton.n_states)]
    return FirstGraph.of(automaton, names, None)


def test_the_slider_hides_more_the_further_it_stands():
    thresholds = [slider_threshold(0.8, position) for position in range(61)]
    assert thresholds[0] == 0
    assert thresholds[-1] == 0.8
    assert (np.diff(thresholds) > 0).all()


def test_an_arrow_is_drawn_if_it_is_as_heavy_as_the_threshold():
    first = graph(machine())
    assert first.threshold == slider_threshold(abs(machine().transitions).max(), first.position)
    assert all(abs(edge.heaviest) >= first.threshold for edge in first.edges)
    assert opening_position(machine()) == first.position


@pytest.mark.parametrize("automaton", [machine(), signed()], ids=["probabilities", "signed"])
def test_every_state_and_arrow_has_a_place(automaton):
    first = graph(automaton)
    arrangement = first.arrangement
    assert len(arrangement.centres) == automaton.n_states
    assert len(arrangement.curves) == len(first.edges) + len(first.begins)


def test_too_many_states_are_not_laid_out():
    assert graph(large(n_states=MAX_STATES + 1, n_symbols=1)) is None


def test_names_say_how_sure_they_are():
    assert state_names(["λ", "ab", "b"], [1, 0.7, 0.2]) == [
        ("", "start"),
        ("mostly after", "ab"),
        ("partly after", "b"),
    ]
