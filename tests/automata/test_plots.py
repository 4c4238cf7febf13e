"""Plots of automata."""

import numpy as np
import pytest

import seqray
from displays import NASTY
from explore.subjects import large, machine, signed
from seqray.automata.plots import MAX_PLOTTED_SYMBOLS

pytestmark = pytest.mark.usefixtures("pyplot")


def test_the_map_shows_what_is_expected_after_each_prefix():
    ax = machine().plot_next_symbols("abd")
    (image,) = ax.get_images()
    expected = machine().next_symbol(["", "a", "ab", "abd"]).T
    np.testing.assert_allclose(image.get_array(), expected)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c", "d", "end"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["start", "a", "b", "d"]


def test_circles_mark_the_word_and_its_end():
    (path,) = machine().plot_next_symbols("abd").get_lines()
    assert path.get_ydata().tolist() == [0, 1, 3, 4]


def test_it_is_drawn_on_given_axes(pyplot):
    _, own = pyplot.subplots()
    assert machine().plot_next_symbols("", ax=own) is own


def test_of_many_symbols_those_of_the_word_and_the_likeliest_are_shown():
    ax = large(5, 100).plot_next_symbols([99, 98, 3])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == MAX_PLOTTED_SYMBOLS
    assert {"99", "98", "3", "end"} <= set(names)


def test_names_of_symbols_are_no_mathematics():
    n = len(NASTY)
    wa = seqray.WeightedAutomaton(NASTY, [1], np.full((n, 1, 1), 0.5 / n), [0.5])
    wa.plot_next_symbols(NASTY).figure.draw_without_rendering()


def test_what_does_not_predict_is_refused():
    with pytest.raises(seqray.ArgumentError, match="does not predict next symbols"):
        signed().plot_next_symbols([1])
