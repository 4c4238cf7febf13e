import re

import numpy as np

from explore.subjects import machine, probabilities, real
from seqray import WeightedAutomaton
from seqray.explore.first_look import spelled_states, table_html
from seqray.explore.page import to_html


def before_scripts(page):
    """Return what a browser without JavaScript shows, as text."""
    shown = page.split('<script type="application/json"')[0].split("</style>")[1]
    return re.sub(r"<[^>]+>", " ", shown)


def test_a_page_has_its_headline_figures_and_tables_before_any_script_runs():
    text = before_scripts(to_html(probabilities(), box=machine(), rank=5, name="a machine"))
    for said in ("seen as five states", "bits per symbol of", "most probable words", "Seed"):
        assert said in text
    measured = "Measured on 2,000 words drawn from the box; ± 95 % confidence interval, for words"
    assert measured in text


def test_where_no_figure_has_an_interval_a_page_says_why():
    text = before_scripts(to_html(machine(), box=machine()))
    assert "±" not in text
    assert "drawn from the box. No word loses anything: with 95 % confidence, fewer than 1" in text
    goes_on = ([[0.5, 0], [0, a]] for a in (0.5, 0.3))  # these differ after b alone, which is rare
    box, copy = (
        WeightedAutomaton("ab", [1, 0], [each, [[0, 0.01], [0, 0.2]]], [0.49, 0.8 - each[1][1]])
        for each in goes_on
    )
    text = before_scripts(to_html(copy, box=box, words=["aa", "a", "", "aaa"] * 100 + ["ba"] * 5))
    assert "on 405 given words. No confidence interval of bits: fewer than 40 words" in text
    assert "±" not in text


def test_a_page_about_weights_has_other_figures():
    text = before_scripts(to_html(real()))
    assert "relative error of its weights" in text
    assert "heaviest words" in text


def test_next_symbols_of_states_are_those_of_the_automaton():
    wa = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0, 0]], [[0.25, 0], [0, 0.75]]], [0.25, 0.25])
    text = before_scripts(to_html(wa))
    row = np.sort(wa.next_symbol(["a"])[0])[::-1]
    assert f"b {100 * row[0]:.3g} %, end {100 * row[1]:.3g} %" in text.replace("\u00a0", " ")


def test_what_is_shown_is_text():
    assert "<b>" not in table_html(["<b>"], [["<b>", "<b>"]])
    assert spelled_states(13) == "13 states"
