"""What a drawing shows: thresholds that adapt, and labels that are cut."""

import numpy as np
import pytest

from automata import FIGURE_1, contraction
from seqray.automaton import WeightedAutomaton
from seqray.draw.graph import clear_threshold, drawn_edges


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_the_smallest_of_two_digits_that_leaves_three_edges_a_state(
    seed: int,
) -> None:
    wa = contraction(seed, 4 + seed % 5, 3)
    found = clear_threshold(wa)
    sizes = np.abs(wa.transitions).max(axis=0)
    assert len(drawn_edges(wa, found)) <= 3 * wa.n_states
    floor = 0.01 * sizes.max()
    smaller = [float(f"{n}e{e}") for e in range(-8, 2) for n in range(10, 100)]
    tried = [t for t in smaller if floor <= t < found]
    assert all((sizes >= t).sum() > 3 * wa.n_states for t in tried)
    assert float(f"{found:.1e}") == found


def test_weights_below_a_hundredth_of_the_largest_are_hidden_even_if_they_are_few() -> None:
    wa = WeightedAutomaton("a", [1, 0], [[[0.5, 0.004], [0.2, 0]]], [0, 1])
    assert clear_threshold(wa) == 0.005
    assert len(drawn_edges(wa, clear_threshold(wa))) == 2


def test_of_weights_that_are_the_same_none_is_hidden():
    wa = WeightedAutomaton("ab", [1, 0], [np.full((2, 2), 1.0), np.full((2, 2), 1 - 1e-15)], [0, 1])
    wide = WeightedAutomaton("a", np.eye(5)[0], [np.full((5, 5), 0.157)], np.ones(5))
    for automaton, threshold in ((wa, 0.01), (wide, 0.15)):
        assert clear_threshold(automaton) == threshold
        assert len(drawn_edges(automaton, threshold)) == automaton.n_states**2
    mixed = np.full((5, 5), 0.157)
    mixed[0] = 1 - np.arange(5) * 1e-16
    assert len(drawn_edges(WeightedAutomaton("a", np.eye(5)[0], [mixed], np.ones(5)), 1)) == 5


@pytest.mark.parametrize("size", [0.0, 1e-320, 5e-324, 1e308, 1.79e308])
def test_weights_of_any_size_have_a_threshold(size: float) -> None:
    wa = WeightedAutomaton("a", np.ones(5), size * np.ones((1, 5, 5)), np.ones(5))
    found = clear_threshold(wa)
    assert 0 <= found < np.inf
    assert len(drawn_edges(wa, found)) == (25 if found <= size and size else 0)


def test_a_readable_label_has_few_lines_and_two_digits() -> None:
    wa = WeightedAutomaton("abcdef", [1], np.linspace(0.1, 1, 6)[:, None, None] / 7, [1])
    (edge,) = drawn_edges(wa, 0)
    assert [line for line, _ in edge.label(3, 2)] == ["f: 0.14", "e: 0.12", "… 4 more"]
    (loop, *_) = drawn_edges(FIGURE_1, 0)
    assert loop.label(3, 2) == (("a: 0.5", 0.5),)
