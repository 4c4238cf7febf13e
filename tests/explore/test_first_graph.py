import pytest

from seqray import WeightedAutomaton
from seqray.explore.first_graph import MAX_STATES, FirstGraph, state_names

WA = WeightedAutomaton("ab", [1, 0], [[[0.3, 0.2], [0, 0.5]], [[0.1, 0.1], [0.2, 0]]], [0.3, 0.3])
NAMES = state_names(["λ", "a"], [1.0, 0.7])


def test_names_have_two_parts():
    assert NAMES == [("", "start"), ("mostly after", "a")]


def test_the_picture_has_all_states_and_the_arrows_of_its_json():
    graph = FirstGraph.of(WA, NAMES, [0.6, None])
    picture, places = graph.to_svg(), graph.to_json()
    assert picture.count('class="state"') == 2
    assert picture.count('class="line"') == len(places["arrows"])
    assert len(places["states"]) == 4
    assert "style=" not in picture


def test_a_caption_says_what_is_drawn():
    many = WeightedAutomaton("a", [1, 0], [[[0.5, 0.1], [0.001, 0.3]]], [0.4, 0.6])
    assert FirstGraph.of(many, NAMES, None).caption() == "All 4 arrows are drawn."


def test_states_that_are_links_can_be_reached_by_the_keyboard():
    links = [("#one", "start: 1 state"), ("#two", "after <a>")]
    picture = FirstGraph(WA, NAMES, None, links).to_svg()
    assert picture.count("<a href=") == 2
    assert 'aria-label="after &lt;a&gt;"' in picture


def test_negative_weights_are_dashed():
    signed = WeightedAutomaton("a", [1, 0], [[[0.5, -0.4], [0.3, 0.3]]], [1, 0.5])
    assert "stroke-dasharray" in FirstGraph.of(signed, NAMES, None).to_svg()


@pytest.mark.parametrize("n_states", [MAX_STATES + 1])
def test_too_many_states_have_no_first_graph(n_states):
    large = WeightedAutomaton("a", [1] * n_states, [[[0.0] * n_states] * n_states], [1] * n_states)
    assert FirstGraph.of(large, [("", "1")] * n_states, None) is None
