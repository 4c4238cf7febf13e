"""The SVG picture: complete, escaped, without overlaps, and the same every time."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FIGURE_1
from seqray.automata.automaton import WeightedAutomaton
from seqray.draw import paper
from seqray.draw.svg import to_svg
from seqray.util.errors import ArgumentError

SVG = "{http://www.w3.org/2000/svg}"


def machine(n_states: int, n_symbols: int, seed: int, spread: float = 0.3) -> WeightedAutomaton:
    """Draw a stochastic automaton; the smaller ``spread``, the fewer weights share the mass."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(n_states * n_symbols + 1, spread), size=n_states)
    transitions = rows[:, :-1].reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
    initial = rng.dirichlet(np.ones(n_states))
    return WeightedAutomaton(map(str, range(n_symbols)), initial, transitions, rows[:, -1])


def signed(n_states: int, n_symbols: int, seed: int) -> WeightedAutomaton:
    rng = np.random.default_rng(seed)
    shape = (n_symbols, n_states, n_states)
    return WeightedAutomaton(
        map(str, range(n_symbols)),
        rng.normal(size=n_states),
        rng.normal(size=shape) / 5,
        rng.normal(size=n_states),
    )


def parse(wa: WeightedAutomaton, threshold: float = 0.05) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(wa, threshold=threshold))


def groups(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == kind]


def pairs(root: ElementTree.Element, kind: str) -> set[tuple[int, int]]:
    return {(int(g.attrib["data-from"]), int(g.attrib["data-to"])) for g in groups(root, kind)}


def label_boxes(root: ElementTree.Element) -> np.ndarray:
    """Return left, top, right and bottom of every label."""
    rects = [group.find(f"{SVG}rect") for group in groups(root, "label")]
    sides = [[float(r.attrib[k]) for k in ("x", "y", "width", "height")] for r in rects]
    x, y, width, height = np.array(sides).reshape(-1, 4).T
    return np.column_stack([x, y, x + width, y + height])


def caption(root: ElementTree.Element) -> str:
    return " ".join(t.text or "" for g in groups(root, "caption") for t in g.iter(f"{SVG}text"))


def check_layout(root: ElementTree.Element) -> None:
    """Labels overlap neither each other nor a state, and lie on the page with all states."""
    boxes = label_boxes(root)
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (boxes[:, :2] >= [left, top]).all()
    assert (boxes[:, 2:] <= [left + width, top + height]).all()
    for at, box in enumerate(boxes):
        others = boxes[at + 1 :]
        clear = (others[:, :2] >= box[2:]).any(axis=1) | (others[:, 2:] <= box[:2]).any(axis=1)
        assert clear.all()
    for circle in root.iter(f"{SVG}circle"):
        x, y, r = (float(circle.attrib[k]) for k in ("cx", "cy", "r"))
        assert left <= x - r
        assert x + r <= left + width
        assert top <= y - r
        assert y + r <= top + height
        near = np.clip([x, y], boxes[:, :2], boxes[:, 2:])
        assert (np.hypot(*(near - [x, y]).T) >= r).all()


def test_all_states_and_edges_of_figure_1_are_drawn() -> None:
    root = parse(FIGURE_1)
    texts = [[t.text for t in g.iter(f"{SVG}text")] for g in groups(root, "state")]
    assert texts == [["0", "1 > 0"], ["1", "0 > 0.25"]]
    assert pairs(root, "edge") == pairs(root, "label") == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_hidden_edges_and_symbols_are_absent_and_the_caption_counts_them() -> None:
    root = parse(FIGURE_1, threshold=0.3)
    assert pairs(root, "edge") == {(0, 0), (0, 1)}
    assert "a: 0.167" not in "".join(root.itertext())
    assert caption(root) == (
        "|weight| < 0.3 is hidden: 4 of 6 transitions, 2 of 4 edges, 52 % of the weight"
    )


def test_an_automaton_without_any_shown_edge_still_has_its_states() -> None:
    root = parse(FIGURE_1, threshold=5)
    assert len(groups(root, "state")) == 2
    assert not groups(root, "edge")


@pytest.mark.parametrize("n_states", [1, 2, 3, 5, 8, 12])
def test_labels_keep_clear_of_each_other_of_states_and_of_the_page_border(n_states: int) -> None:
    root = parse(machine(n_states, 5, seed=n_states))
    check_layout(root)
    assert len(groups(root, "state")) == n_states
    assert pairs(root, "label") == pairs(root, "edge")


def test_a_dense_signed_automaton_of_five_states_has_room_for_every_label() -> None:
    root = parse(signed(5, 5, seed=3))
    check_layout(root)
    assert len(pairs(root, "label")) == 25


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 1000), st.floats(0.05, 2))
def test_any_layout_keeps_its_labels_apart(n: int, k: int, seed: int, spread: float) -> None:
    check_layout(parse(machine(n, k, seed, spread)))


def test_labels_without_room_are_left_out_counted_and_kept_as_tooltips() -> None:
    root = parse(signed(14, 2, seed=1), threshold=0.0)
    check_layout(root)
    missing = len(pairs(root, "edge")) - len(pairs(root, "label"))
    assert missing > 0
    assert caption(root).endswith(f"{missing} of 196 labels without room")
    assert all(group.find(f"{SVG}title") is not None for group in groups(root, "edge"))


def test_a_crowded_picture_stops_growing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "MAX_RADIUS", 200.0)
    root = parse(signed(6, 6, seed=1), threshold=0.0)
    check_layout(root)
    assert float(root.attrib["viewBox"].split()[2]) < 1000


def test_thirty_states_are_drawn() -> None:
    root = parse(machine(30, 4, seed=4, spread=0.05))
    check_layout(root)
    assert len(groups(root, "state")) == 30


def test_an_edge_across_a_hundred_states_has_an_arrow_head() -> None:
    edges = [(0, "a", 50, 1.0), (50, "a", 0, 0.5)]
    root = parse(WeightedAutomaton.from_edges("a", 100, {0: 1}, edges, {0: 1}))
    check_layout(root)
    heads = [path.attrib["d"] for g in groups(root, "head") for path in g.iter(f"{SVG}path")]
    assert len(heads) == 2
    assert not any("nan" in head for head in heads)


def test_negative_edges_are_dashed_and_have_the_second_colour() -> None:
    wa = WeightedAutomaton("ab", [1, 0], [[[0.2, -0.4], [0, 0]], [[-0.1, 0.1], [0, 0]]], [0, 1])
    lines = {
        group.attrib["data-to"]: group.findall(f"{SVG}path")[-1]
        for group in groups(parse(wa), "edge")
    }
    assert lines["0"].get("stroke-dasharray") is None
    assert lines["1"].get("stroke-dasharray") is not None
    assert (lines["0"].get("stroke"), lines["1"].get("stroke")) == ("#0072B2", "#D55E00")


def test_the_legend_mentions_signs_only_where_there_are_two() -> None:
    def legend(wa: WeightedAutomaton) -> str:
        return " ".join(groups(parse(wa), "legend")[0].itertext())

    assert "negative" not in legend(FIGURE_1)
    assert "negative" in legend(signed(3, 3, seed=0))


def test_edges_end_outside_the_circles_they_join() -> None:
    root = parse(machine(5, 5, seed=1))
    circles = [
        complex(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{SVG}circle")
    ]
    rim = float(next(root.iter(f"{SVG}circle")).attrib["r"])
    for group in groups(root, "edge"):
        path = group.findall(f"{SVG}path")[-1].attrib["d"]
        numbers = [float(x) for x in path.replace("M", "").replace("C", " ").split()]
        begin, end = complex(*numbers[:2]), complex(*numbers[-2:])
        assert abs(begin - circles[int(group.attrib["data-from"])]) >= rim - 0.2
        assert rim < abs(end - circles[int(group.attrib["data-to"])]) < rim + 25


@pytest.mark.parametrize(
    "symbol",
    ["<script>alert(1)</script>", 'a"b', "a&b", "]]>", "\x00\x1b\ud800", "👩\u200d💻", "שלום"],
)
def test_hostile_names_are_text_and_nothing_else(symbol: str) -> None:
    text = to_svg(WeightedAutomaton([symbol], [1], [[[0.5]]], [1]))
    text.encode()  # no lone surrogate is left
    root = ElementTree.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "path", "circle", "text", "rect"}
    assert len(groups(root, "label")) == 1


def test_the_whole_name_is_in_the_tooltip() -> None:
    name = "<b>" + "long " * 10 + "end"
    root = parse(WeightedAutomaton([name], [1], [[[0.5]]], [1]))
    assert groups(root, "label")[0].findtext(f"{SVG}title") == f"0 → 0: {name}: 0.5"
    assert groups(root, "label")[0].findtext(f"{SVG}text") == f"{name[:17]}…: 0.5"


def test_the_picture_is_the_same_every_time() -> None:
    assert to_svg(machine(6, 4, seed=9)) == to_svg(machine(6, 4, seed=9))


def test_the_picture_explains_itself_and_refers_to_nothing_outside() -> None:
    text = to_svg(FIGURE_1, threshold=0.2)
    root = ElementTree.fromstring(text)
    assert root.attrib["role"] == "img"
    assert root[0].text == "Weighted automaton, 2 states, 2 symbols"
    assert "is hidden" in (root[1].text or "")
    assert root[2].attrib["fill"] == "#FFFFFF"
    assert "width" not in root.attrib
    assert text.count("http") == 1  # the name space
    assert "href" not in text
    assert "url(" not in text


def test_a_threshold_that_is_no_size_is_refused() -> None:
    with pytest.raises(ArgumentError, match="threshold"):
        to_svg(FIGURE_1, threshold=-1)
