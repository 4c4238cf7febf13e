"""Plots of explanations."""

import pytest

import seqray
from classifier_boxes import remainder_automaton
from explore.subjects import machine, signed

pytestmark = pytest.mark.usefixtures("pyplot")


def test_a_bar_for_each_symbol_shows_what_it_adds():
    explanation = seqray.explain_word(machine(), "abd")
    ax = explanation.plot()
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx((100 * explanation.shapley.relative).tolist())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "d"]
    assert ax.get_ylabel() == "adds, %"


def test_weights_below_zero_are_added_as_they_are():
    word = next(w for w in ([0], [1], [2], [3]) if signed().weight(w) < 0)
    explanation = seqray.explain_word(signed(), word)
    ax = explanation.plot()
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(
        explanation.shapley.values.tolist()
    )
    assert ax.get_ylabel() == "adds, weight"


def test_the_class_after_each_prefix_is_a_line(pyplot):
    explanation = seqray.explain_decision(remainder_automaton(), "ab")
    _, own = pyplot.subplots()
    assert explanation.plot(ax=own) is own
    drawn = {line.get_label(): line.get_ydata() for line in own.get_lines()}
    assert list(drawn) == ["zero", "one", "two", "decided here"]
    assert list(drawn["one"]) == pytest.approx([0, 1, 0])


def test_words_are_rows_of_symbols_coloured_by_their_surprise():
    surprise = seqray.surprise(machine(), ["abd", "b", "xx"])
    ax = surprise.plot([2, 0])
    assert [text.get_text() for text in ax.texts] == ["x", "x", "end", "a", "b", "d", "end"]
    shown = ax.images[0].get_array()
    assert shown.shape == (2, 4)
    assert shown[0, 0] == shown.max()  # a symbol that is not known is as dark as can be
    assert shown[1, :4].tolist() == pytest.approx([step.bits for step in surprise[0]])
