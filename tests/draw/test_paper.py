import numpy as np

from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.draw.graph import drawn_edges
from seqray.draw.paper import arranged, paper_scene, state_lines


def test_states_stand_on_a_circle():
    machine = random_machine("pfa", 5, 2, seed=0)
    edges = drawn_edges(machine, 0.1)
    arrangement = arranged(machine, edges, state_lines(machine))
    radii = abs(arrangement.centres)
    assert np.allclose(radii, radii[0])
    assert len(arrangement.curves) == len(edges)


def test_a_state_shows_its_number_and_its_two_weights():
    machine = WeightedAutomaton("a", [1, 0], [[[0.5, 0.25], [0, 0.5]]], [0.25, 0.5])
    assert state_lines(machine) == [["0", "1 > 0.25"], ["1", "0 > 0.5"]]


def test_long_weights_take_a_line_each():
    machine = WeightedAutomaton("a", [-0.12345], [[[0.5]]], [-0.0012345])
    assert len(state_lines(machine)[0]) == 3


def test_every_state_edge_and_label_is_a_group():
    machine = random_machine("pfa", 4, 2, seed=1)
    kinds = [group.kind for group in paper_scene(machine, 0.05).groups]
    n_edges = len(drawn_edges(machine, 0.05))
    assert kinds.count("state") == 4
    assert kinds.count("edge") == kinds.count("head") == n_edges
    assert kinds.count("label") <= n_edges
    assert kinds[-2:] == ["legend", "caption"]
