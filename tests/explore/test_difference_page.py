"""The page of a difference, as HTML."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import seqray
from classifier_boxes import remainder_automaton
from compared_pairs import chain, changed
from displays import elements
from explore.subjects import NASTY, machine
from seqray.explore.difference_page import (
    MAX_DRAWN_PLACES,
    difference_html,
    difference_svg,
    side_by_side,
)


@pytest.fixture(scope="module")
def difference():
    return seqray.diff(machine(), changed(machine()))


@pytest.fixture(scope="module")
def page(difference):
    return seqray.to_html(difference)


def test_a_page_says_what_differs_and_shows_both(page, difference):
    text = " ".join(elements(page).texts)
    assert f"<h1>{difference.headline}</h1>" in page
    assert "A needs that much more than B" in text
    for title in ("Both as maps", "Arrows that differ", "Words on which they differ most"):
        assert title in text
    assert page.count("<figure") == 2
    for each in difference.different:
        assert "".join(each.word) in text


def test_a_page_needs_no_script_and_no_request(page):
    scripts = re.findall(r"<script[^>]*>", page)
    assert scripts == ['<script type="application/json" id="content">']
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in page
    assert " style=" not in page


def test_the_numbers_are_in_the_page_for_programs(page, difference):
    content = re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(content)["distance"]["value"] == difference.figure.value


def test_names_that_are_code_become_text():
    n = len(NASTY)
    one = seqray.WeightedAutomaton(NASTY, [1], np.full((n, 1, 1), 0.5 / n), [0.5])
    difference = seqray.diff(one, changed(one, 0.05))
    named = replace(difference, a=replace(difference.a, name=NASTY[0]))
    parsed = elements(seqray.to_html(named))
    assert "img" not in parsed.names
    assert parsed.names.count("script") == 1
    assert any(NASTY[0] in text for text in parsed.texts)


def test_two_that_are_the_same_have_two_equal_drawings():
    same = seqray.diff(machine(), machine())
    one, other = side_by_side(same.states)
    assert one.replace("<title>A", "<title>B") == other
    page = difference_html(same)
    assert "<h1>No difference</h1>" in page
    assert "arrows differ: none" in page


def test_without_states_there_is_no_drawing():
    page = difference_html(seqray.diff(chain(), chain((0.4, 0.5)), with_states=False))
    assert "<figure" not in page
    assert "Arrows that differ" not in page
    assert "Words on which they differ most" in page


def test_more_states_than_fit_are_counted_and_not_drawn():
    n = MAX_DRAWN_PLACES + 1
    ring = [[(q + 1) % n] for q in range(n)]
    ends = np.linspace(0.1, 0.6, n)
    one = seqray.deterministic_pfa("a", ring, np.column_stack([1 - ends, ends]))
    difference = seqray.diff(one, one)
    page = difference_html(difference)
    assert "<figure" not in page
    assert f"{n} states are too many to draw side by side." in page
    with pytest.raises(seqray.ArgumentError, match="needs their states, at most 40 together"):
        difference_svg(difference)


def test_classes_that_differ_are_drawn():
    automaton = remainder_automaton()
    outputs = automaton.outputs[[0, 2, 1]]
    other = automaton.with_arrays(automaton.initial, automaton.transitions, outputs)
    page = difference_html(seqray.diff(automaton, other))
    assert "They decide differently on" in page
    assert "class two" in page
    assert page.count("<figure") == 2


def test_extraction_that_loses_more_than_the_difference_is_said(difference):
    states = replace(difference.states, loss_a=0.5, loss_b=0.25)
    page = difference_html(replace(difference, states=states))
    assert "miss their boxes by 0.5 and 0.25 (bits per symbol)" in page
    assert "arrows may differ by extraction alone" in page
    assert all(part not in page for part in ("<figure", 'id="arrows"', "arrows differ:"))
    assert "miss their boxes" not in difference_html(difference)


def test_bars_stand_beside_probabilities_alone(page):
    assert page.count('class="bars"><svg') == page.count('<rect class="a"') > 2
    one = seqray.WeightedAutomaton("a", [1], [[[2]]], [1])
    assert 'class="bars"' not in difference_html(seqray.diff(one, seqray.scale(one, 1.5)))
