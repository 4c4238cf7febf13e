"""The readable style: names, probabilities, merged edges, and what it says of itself."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from automata import FIGURE_1
from seqray.automata.automaton import WeightedAutomaton
from seqray.draw.dot import to_dot
from seqray.draw.graph import NEGATIVE, POSITIVE
from seqray.draw.readable import DOUBLE_RIM_SHARE, name_lines
from seqray.draw.svg import to_svg
from seqray.util.errors import ArgumentError

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["start", "after b"]


def parse(wa: WeightedAutomaton, **how: object) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(wa, **how))


def groups(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == kind]


def texts(group: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in group.iter(f"{SVG}text")]


def legend(root: ElementTree.Element) -> str:
    return " | ".join(texts(groups(root, "legend")[0]))


def caption(root: ElementTree.Element) -> str:
    return " ".join(texts(groups(root, "caption")[0]))


def signed() -> WeightedAutomaton:
    """A real function: all that follows a state has no meaning."""
    transitions = [[[0.4, -0.9], [0, 0.3]], [[-0.2, 0.1], [0.5, 0]]]
    return WeightedAutomaton("ab", [2, -1], transitions, [1, -3])


def test_states_carry_their_name_and_the_chance_to_end_there() -> None:
    root = parse(FIGURE_1, names=NAMES)
    assert [texts(state) for state in groups(root, "state")] == [
        ["start", "ends 0 %"],
        ["after b", "ends 25 %"],
    ]


def test_parallel_edges_are_one_with_symbols_ordered_by_weight() -> None:
    root = parse(FIGURE_1, names=NAMES)
    found = {(g.get("data-from"), g.get("data-to")): texts(g) for g in groups(root, "label")}
    assert len(groups(root, "edge")) == 4
    assert found["0", "1"] == ["b: 0.33", "a: 0.17"]
    assert found["1", "1"] == ["a: 0.25", "b: 0.25"]


def test_the_caption_says_how_much_the_threshold_hides() -> None:
    root = parse(FIGURE_1, names=NAMES, threshold=0.2)
    assert caption(root) == (
        "|weight| < 0.2 is hidden: 1 of 6 transitions, 0 of 4 edges, 9.5 % of the weight"
    )


def test_by_default_three_edges_per_state_are_left() -> None:
    rng = np.random.default_rng(2)
    wa = WeightedAutomaton("ab", np.eye(8)[0], rng.random((2, 8, 8)) ** 12 / 20, np.ones(8))
    root = parse(wa, names=[f"after {q}" for q in range(8)])
    assert 12 < len(groups(root, "edge")) <= 24


def test_words_begin_at_an_arrow_with_its_share_unless_all_do() -> None:
    (arrow,) = groups(parse(FIGURE_1, names=NAMES), "entry")
    assert arrow.get("data-to") == "0"
    assert texts(arrow) == []
    half = WeightedAutomaton("ab", [0.3, 0.7], FIGURE_1.transitions, FIGURE_1.final)
    arrows = groups(parse(half, names=NAMES), "entry")
    assert [(a.get("data-to"), *texts(a)) for a in arrows] == [("0", "30 %"), ("1", "70 %")]


def test_faint_beginnings_have_no_arrow_and_the_caption_counts_them() -> None:
    faint = WeightedAutomaton("ab", [0.99, 0.01], FIGURE_1.transitions, FIGURE_1.final)
    root = parse(faint, names=NAMES)
    assert len(groups(root, "entry")) == 1
    assert caption(root) == "all transitions are drawn; 1 % of the beginnings are hidden"


def test_states_where_words_end_often_have_two_rims_and_the_legend_says_so() -> None:
    root = parse(FIGURE_1, names=NAMES)
    rims = [len(state.findall(f"{SVG}rect")) for state in groups(root, "state")]
    assert rims == [1, 2]
    assert f"words end here most ({100 * DOUBLE_RIM_SHARE * 0.25:.0f} % or more)" in legend(root)


def test_without_any_end_nothing_is_marked() -> None:
    endless = WeightedAutomaton("a", [1], [[[0.5]]], [0])
    root = parse(endless, names=["start"])
    assert len(groups(root, "state")[0].findall(f"{SVG}rect")) == 1
    assert "words end here" not in legend(root)


def test_tint_grows_with_the_mass_and_the_legend_says_how_much_is_dark() -> None:
    root = parse(FIGURE_1, names=NAMES, mass=[0.75, 0.25])
    fills = [state.findall(f"{SVG}rect")[0].attrib["fill"] for state in groups(root, "state")]
    grey = [sum(int(fill[at : at + 2], 16) for at in (1, 3, 5)) for fill in fills]
    assert grey[0] < grey[1] < 3 * 255
    assert "75 % of all steps; lighter: fewer" in legend(root)
    assert "75 % of all steps are spent here" in (
        groups(root, "state")[0].findtext(f"{SVG}title") or ""
    )


def test_an_unknown_mass_is_no_mass() -> None:
    assert to_svg(FIGURE_1, names=NAMES, mass=[np.nan] * 2) == to_svg(FIGURE_1, names=NAMES)


def test_a_mass_of_nothing_is_drawn() -> None:
    assert "0 % of all steps" in legend(parse(FIGURE_1, names=NAMES, mass=[0, 0]))


def test_weights_that_are_no_chances_are_not_called_so() -> None:
    root = parse(signed(), names=NAMES, threshold=0)
    assert texts(groups(root, "state")[1])[-1] == "ends −3"
    assert "%" not in "".join(texts(groups(root, "entry")[0]))
    assert "the weight with which words end there" in (root.findtext(f"{SVG}desc") or "")


def test_signs_are_told_apart_by_dashes_as_well_as_colour() -> None:
    root = parse(signed(), names=NAMES, threshold=0)
    for edge in groups(root, "edge"):
        line = edge.findall(f"{SVG}path")[-1]
        negative = (edge.get("data-from"), edge.get("data-to")) == ("0", "1")
        assert (line.get("stroke-dasharray") is not None) == negative
        assert line.get("stroke") == (NEGATIVE if negative else POSITIVE)
    arrows = [group.findall(f"{SVG}path")[1] for group in groups(root, "entry")]
    assert [arrow.get("stroke-dasharray") is not None for arrow in arrows] == [True, False]
    assert "negative" in legend(root)


def test_edges_are_as_wide_as_their_weight_asks_for() -> None:
    root = parse(FIGURE_1, names=NAMES)
    widths = {
        (e.get("data-from"), e.get("data-to")): float(
            e.findall(f"{SVG}path")[-1].attrib["stroke-width"]
        )
        for e in groups(root, "edge")
    }
    assert widths["0", "0"] == 5
    assert widths["0", "0"] > widths["0", "1"] > widths["1", "0"] == widths["1", "1"]


def test_pointing_at_an_edge_shows_whole_names_and_all_symbols() -> None:
    long = "mostly after " + "ab" * 30
    root = parse(FIGURE_1, names=["start", long])
    tips = [edge.findtext(f"{SVG}title") for edge in groups(root, "edge")]
    assert f"start → {long}: b: 0.333, a: 0.167" in tips
    assert not any(long in text for text in texts(groups(root, "state")[1]))


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", 'a"b', "]]>", "\x00\ud800", "שלום", " ", "no" * 40, "x y" * 9],
)
def test_hostile_names_are_text_and_nothing_else(name: str) -> None:
    text = to_svg(FIGURE_1, names=["start", name])
    text.encode()
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(text).iter()}
    assert tags <= {"svg", "title", "desc", "g", "path", "circle", "text", "rect"}
    to_dot(FIGURE_1, names=["start", name]).encode()


def test_labels_without_room_are_counted() -> None:
    rng = np.random.default_rng(0)
    wa = WeightedAutomaton("ab", np.ones(14), rng.normal(size=(2, 14, 14)), np.ones(14))
    root = parse(wa, names=[str(q) for q in range(14)], threshold=0)
    assert re.search(r"; \d+ of 210 labels without room", caption(root))


def test_the_picture_is_the_same_every_time() -> None:
    assert to_svg(FIGURE_1, names=NAMES) == to_svg(FIGURE_1, names=NAMES)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"names": ["one"]}, "names: expected one for each of 2 states, got 1"),
        ({"names": NAMES, "mass": [1, 2, 3]}, r"mass: expected shape \(2,\), one per state"),
        ({"mass": [0.5, 0.5]}, "mass: only the readable style shows it"),
        ({"names": NAMES, "threshold": -1}, "threshold: expected a number from 0 up"),
    ],
)
def test_what_does_not_fit_is_refused(how: dict, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        to_svg(FIGURE_1, **how)


def test_graphviz_text_has_names_ends_tints_and_rims() -> None:
    dot = to_dot(FIGURE_1, names=NAMES, mass=[0.75, 0.25])
    assert '0 [label="start\\nends 0 %", fillcolor="#7DBEE8"];' in dot
    assert re.search(r'1 \[label="after b\\nends 25 %", fillcolor="#\w{6}", peripheries=2\];', dot)
    assert 'in0 -> 0 [label="", tooltip="words begin here with weight 1"];' in dot
    assert '0 -> 1 [label="b: 0.33\\la: 0.17\\l"' in dot


def test_graphviz_text_dashes_negative_beginnings() -> None:
    dot = to_dot(signed(), names=NAMES, threshold=0)
    assert f'in1 -> 1 [color="{NEGATIVE}", style=dashed, label="−1"' in dot
    assert 'in0 -> 0 [label="2"' in dot


def test_states_with_long_names_can_be_told_apart() -> None:
    wa = WeightedAutomaton("a", np.eye(3)[0], [np.eye(3)[[1, 2, 0]] / 2], np.full(3, 0.5))
    names = [f"mostly after 24 17 4 12 9 31 5 {last}" for last in (1, 2, 3)]
    states = groups(parse(wa, names=names), "state")
    lines = [tuple(text.text for text in state if text.tag.endswith("text")) for state in states]
    assert len(set(lines)) == 3


def test_names_with_bars_have_a_line_for_each_of_the_last_two_symbols() -> None:
    names = ["start", "after take ticket | close", "mostly after a | wait for it | close it all"]
    assert name_lines(names) == [
        ["start"],
        ["after", "take ticket |", "close"],
        ["mostly after …", "wait for it |", "close it all"],
    ]


def test_names_that_end_with_the_same_two_symbols_show_the_third() -> None:
    both = "register request | examine casually", "register request | examine it"
    names = [f"mostly after {each} | check ticket | decide" for each in both]
    assert name_lines(names) == [
        ["mostly after …", "examine casually |", "check ticket |", "decide"],
        ["mostly after …", "examine it |", "check ticket |", "decide"],
    ]


def test_names_that_only_differ_in_earlier_symbols_still_differ() -> None:
    lines = name_lines(["after a | b c | d", "after e | b c | d"])
    assert lines[0] != lines[1]
