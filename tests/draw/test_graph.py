"""What a drawing shows: thresholds that adapt, and labels that are cut."""

import numpy as np
import pytest

from automata import FIGURE_1, contraction
from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.graph import (
    clear_threshold,
    distinct,
    drawn_edges,
    heaviest_weight,
    hidden_caption,
    hidden_share,
    iter_edges,
)


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_the_smallest_of_two_digits_that_leaves_so_many_edges(seed: int) -> None:
    wa = contraction(seed, 4 + seed % 5, 3)
    wa = WeightedAutomaton(wa.alphabet, wa.initial, wa.transitions**3, wa.final)  # few are heavy
    sizes = np.abs(wa.transitions).max(axis=0)
    most = int(0.75 * sizes.size)
    found = clear_threshold(wa, most)
    assert len(drawn_edges(wa, found)) <= most
    floor = 0.01 * sizes.max()
    smaller = [float(f"{n}e{e}") for e in range(-8, 2) for n in range(10, 100)]
    tried = [t for t in smaller if floor <= t < found]
    assert all((sizes >= t).sum() > most for t in tried)
    assert float(f"{found:.1e}") == found


@pytest.mark.parametrize("seed", range(20))
def test_by_default_three_edges_per_state_are_left_or_two_thirds_of_the_weight(seed: int) -> None:
    wa = contraction(seed, 4 + seed % 5, 3)
    found = clear_threshold(wa)
    assert hidden_share(wa, found) <= 1 / 3
    n_edges = len(drawn_edges(wa, found))
    assert n_edges <= 3 * wa.n_states or hidden_share(wa, 1.5 * found) > 1 / 3
    assert float(f"{found:.1e}") == found


def test_of_many_weights_of_about_the_same_size_all_are_shown() -> None:
    rng = np.random.default_rng(0)
    counting = np.array([np.eye(9)[np.roll(np.arange(9), -by)] for by in range(1, 5)])
    nearly = counting * rng.uniform(0.97, 1.03, counting.shape) + 1e-3 * rng.random((9, 9))
    wa = WeightedAutomaton("abcd", np.eye(9)[0], nearly, np.eye(9)[0])
    assert len(drawn_edges(wa, clear_threshold(wa))) == 36
    assert hidden_share(wa, clear_threshold(wa)) < 0.01


def test_more_than_a_hundred_edges_are_not_drawn_to_show_more_of_the_weight() -> None:
    dense = np.random.default_rng(0).uniform(0.5, 1, (1, 30, 30))
    wa = WeightedAutomaton("a", np.eye(30)[0], dense, np.ones(30))
    assert 80 <= len(drawn_edges(wa, clear_threshold(wa))) <= 100


def test_weights_below_a_hundredth_of_the_largest_are_hidden_even_if_they_are_few() -> None:
    wa = WeightedAutomaton("a", [1, 0], [[[0.5, 0.004], [0.2, 0]]], [0, 1])
    assert clear_threshold(wa) == 0.005
    assert len(drawn_edges(wa, clear_threshold(wa))) == 2


def test_of_weights_that_are_the_same_none_is_hidden():
    wa = WeightedAutomaton("ab", [1, 0], [np.full((2, 2), 1.0), np.full((2, 2), 1 - 1e-15)], [0, 1])
    wide = WeightedAutomaton("a", np.eye(5)[0], [np.full((5, 5), 0.157)], np.ones(5))
    for automaton in (wa, wide):
        assert len(drawn_edges(automaton, clear_threshold(automaton))) == automaton.n_states**2
    thin = WeightedAutomaton("a", np.eye(12)[0], [np.full((12, 12), 0.157)], np.ones(12))
    assert clear_threshold(thin) == 0.15
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


def test_names_that_differ_still_differ_when_they_are_cut() -> None:
    states = [f"after 24 17 {q} 3 5 9 12 7" for q in range(60)]
    ends = [f"token_with_a_long_name_{q}" for q in range(60)]
    for names in (states, ends, [f"{'x' * 20}{name}{'y' * 20}" for name in ends]):
        cut = distinct(names, 12)
        assert len(set(cut)) == 60
        assert all(len(name) <= 12 for name in cut)
    assert distinct(["a" * 20, "b", "a" * 20], 5) == ["aaaa…", "b", "aaaa…"]


def test_symbols_with_long_names_are_distinct_on_edges() -> None:
    names = ["a_very_long_name_of_a_token_1", "a_very_long_name_of_a_token_2"]
    wa = WeightedAutomaton(names, [1], [[[0.5]], [[0.25]]], [0.25])
    (edge,) = drawn_edges(wa, 0)
    first, second = (line.split(":")[0] for line, _ in edge.lines)
    assert first != second


def test_a_caption_contradicts_nothing() -> None:
    wa = WeightedAutomaton("ab", [1], [[[0.5]], [[1e-6]]], [0.5])
    assert hidden_caption(wa, 0) == "all transitions are drawn"
    said = "1 of 2 transitions, 0 of 1 edge, less than 0.01 % of the weight"
    assert hidden_caption(wa, 0.1).endswith(said)
    assert hidden_caption(wa, 1).endswith("2 of 2 transitions, 1 of 1 edge, 100 % of the weight")
    heavy = WeightedAutomaton("ab", [1], [[[0.999]], [[0.001]]], [0.5])
    assert "100 %" not in hidden_caption(heavy, 0.9985).replace("0.1 %", "")


def test_edges_come_one_by_one():
    assert [*iter_edges(FIGURE_1, 0.2)] == drawn_edges(FIGURE_1, 0.2)
    assert heaviest_weight(FIGURE_1) == 0.5


def test_an_automaton_without_transitions_has_no_edges():
    wa = WeightedAutomaton("a", [1, 0], np.zeros((1, 2, 2)), [1, 1])
    assert drawn_edges(wa, 0) == []
    assert hidden_caption(wa, 0.5) == "all transitions are drawn"
    assert hidden_share(wa, 0.5) == 0
    assert drawn_edges(wa, clear_threshold(wa)) == []
