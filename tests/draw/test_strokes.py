from seqray import WeightedAutomaton
from seqray.draw.graph import drawn_edges
from seqray.draw.strokes import count_missing, line_entries, pen, pens, title_of

MIXED = WeightedAutomaton("a", [1, 0], [[[0.5, -0.25], [0, 1.0]]], [0.5, 1])


def test_the_title_counts_states_and_symbols():
    assert title_of(MIXED) == "Weighted automaton, 2 states, 1 symbol"


def test_a_line_is_as_wide_as_its_weight():
    widths = pens(drawn_edges(MIXED, 0))
    assert max(widths) == pen(1, 1) > pen(0.5, 1) > pen(-0.25, 1) > min(1.0, *widths) - 1e-9
    assert pen(-0.5, 1) == pen(0.5, 1)
    assert pen(0, 0) == 1
    assert pens([]) == []


def test_the_legend_shows_the_thinnest_the_thickest_and_both_signs():
    texts = [entry.text for entry in line_entries(drawn_edges(MIXED, 0))]
    assert texts == ["|weight| 0.25", "|weight| 1", "positive", "negative"]
    assert line_entries([]) == []


def test_labels_without_room_are_counted_in_the_caption():
    assert count_missing("All", 3, 3) == "All"
    assert count_missing("All", 3, 1) == "All; 2 of 3 labels without room"
