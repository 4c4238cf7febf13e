"""Graphviz text: what is shown, what is hidden, and that no name can break out of its quotes."""

import re

import numpy as np
import pytest

from automata import FIGURE_1
from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.dot import to_dot
from seqray.draw.graph import drawn_edges, hidden_share, shown_name
from seqray.util.errors import ArgumentError

STRING = r'"(?:[^"\\\n]|\\[^\n])*"'


def with_symbols(symbols: list[object]) -> WeightedAutomaton:
    return WeightedAutomaton(symbols, [1], np.full((len(symbols), 1, 1), 0.5), [1])


def test_states_carry_input_and_output_weights() -> None:
    assert '0 [label="0\\n1 > 0"];' in to_dot(FIGURE_1)
    assert '1 [label="1\\n0 > 0.25"];' in to_dot(FIGURE_1)


def test_symbols_of_an_edge_share_one_label_the_heaviest_first() -> None:
    assert '0 -> 1 [label="b: 0.333\\la: 0.167\\l"' in to_dot(FIGURE_1)
    assert to_dot(FIGURE_1).count(" -> ") == 4


def test_a_weight_at_the_threshold_is_shown_and_one_below_is_hidden() -> None:
    dot = to_dot(FIGURE_1, threshold=0.25)
    assert "a: 0.167" not in dot
    assert "b: 0.25" in dot


def test_an_edge_without_any_shown_weight_is_absent() -> None:
    assert re.findall(r"\d -> \d", to_dot(FIGURE_1, threshold=0.3)) == ["0 -> 0", "0 -> 1"]


def test_a_threshold_above_all_weights_leaves_the_states() -> None:
    dot = to_dot(FIGURE_1, threshold=2)
    assert "->" not in dot
    assert dot.count("[label=") == 2


def test_a_zero_weight_is_no_edge_even_without_threshold() -> None:
    assert to_dot(FIGURE_1, threshold=0).count(" -> ") == 4


def test_negative_edges_are_dashed_and_the_heaviest_weight_decides() -> None:
    wa = WeightedAutomaton("ab", [1, 0], [[[0.2, -0.4], [0, 0]], [[-0.1, 0.1], [0, 0]]], [0, 1])
    loop, edge = [line for line in to_dot(wa).splitlines() if "->" in line]
    assert "dashed" not in loop
    assert "dashed" in edge


def test_the_pen_grows_with_the_heaviest_weight() -> None:
    widths = [float(w) for w in re.findall(r"penwidth=([\d.]+)", to_dot(FIGURE_1))]
    assert widths == [4.0, 3.0, 2.5, 2.5]


def test_long_labels_are_cut_and_say_how_many_are_missing() -> None:
    assert "more" not in to_dot(with_symbols(list(range(6))))
    dot = to_dot(with_symbols(list(range(10))))
    assert "… 5 more\\l" in dot
    assert "9: 0.5" in dot.split("tooltip=")[1]


def test_the_caption_says_how_much_is_hidden() -> None:
    caption = "|weight| < 0.2 is hidden: 1 of 6 transitions, 0 of 4 edges, 9.5 % of the weight"
    dot = to_dot(FIGURE_1, threshold=0.2)
    assert dot.startswith(f"// {caption}\n")
    assert f'label="{caption}"' in dot


def test_hidden_share_is_the_share_of_absolute_weight() -> None:
    assert hidden_share(FIGURE_1, 0.2) == pytest.approx((1 / 6) / 1.75)
    assert hidden_share(FIGURE_1, 0) == 0
    assert hidden_share(FIGURE_1, 9) == 1


def test_hidden_share_of_no_weight_and_of_huge_weights_is_a_number() -> None:
    assert hidden_share(WeightedAutomaton("a", [1], [[[0]]], [1]), 0.1) == 0
    huge = WeightedAutomaton("ab", [1], [[[1e308]], [[-1.7e308]]], [1])
    assert hidden_share(huge, 1.5e308) == pytest.approx(1 / 2.7)


@pytest.mark.parametrize("threshold", [-0.1, np.nan, np.inf])
def test_a_threshold_that_is_no_size_is_refused(threshold: float) -> None:
    with pytest.raises(ArgumentError, match="threshold: expected a number from 0 up"):
        to_dot(FIGURE_1, threshold=threshold)


@pytest.mark.parametrize(
    ("symbol", "written"),
    [
        ('say "hi"', 'say \\"hi\\"'),
        ("back\\slash", "back\\\\slash"),
        ("ends in \\", "ends in \\\\"),
        ("two\nlines", "two\\\\nlines"),
        ("<script>", "<script>"),
        ("&lt;", "&amp;lt;"),
        ("\u202eoverride", "\\\\u202eoverride"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("שלום", "\u200e\u2068שלום\u2069"),
        ("\x00", "\\\\x00"),
        (" ", "' '"),
        ((1, "x"), "(1, 'x')"),
    ],
)
def test_hostile_names_stay_inside_their_quotes(symbol: object, written: str) -> None:
    edge = next(line for line in to_dot(with_symbols([symbol])).splitlines() if "->" in line)
    shape = rf"    0 -> 0 \[label=({STRING}), tooltip={STRING}, penwidth=4.00, color={STRING}\];"
    match = re.fullmatch(shape, edge)
    assert match
    assert match[1] == f'"{written}: 0.5\\l"'


def test_long_names_are_cut_in_the_label_and_whole_in_the_tooltip() -> None:
    dot = to_dot(with_symbols(["a" * 40, "ש" * 40]))
    assert f"{'a' * 17}…: 0.5" in dot
    assert f"\u200e\u2068{'ש' * 15}…\u2069: 0.5" in dot
    assert "a" * 40 in dot.split("tooltip=")[1]


def test_names_of_one_line_are_left_as_they_are() -> None:
    assert shown_name("noun phrase") == "noun phrase"


def test_edges_come_by_origin_and_target() -> None:
    assert [edge[:2] for edge in drawn_edges(FIGURE_1, 0)] == [(0, 0), (0, 1), (1, 0), (1, 1)]
