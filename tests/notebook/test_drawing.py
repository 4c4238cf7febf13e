"""Drawings for notebooks."""

import numpy as np
import pytest

import seqray
from displays import NASTY
from explore.subjects import large, machine
from seqray import ArgumentError
from seqray.notebook import drawing
from seqray.notebook.drawing import draw, shown_drawing


def test_states_have_names():
    assert ">after b<" in draw(machine()).svg


def test_given_names_are_used():
    assert ">rainy<" in machine().draw(names=["rainy", "b", "c", "d"]).svg


def test_a_named_automaton_is_drawn_as_it_is():
    named = seqray.name_states(machine())
    assert named.draw().svg == machine().draw().svg


def test_a_drawing_is_written_to_a_file_and_shown(tmp_path):
    for ending in ("svg", "dot"):
        picture = machine().draw(tmp_path / f"wa.{ending}", threshold=0.2)
        assert picture.svg.startswith("<svg width=")
        assert picture.svg == machine().draw(threshold=0.2).svg
    assert (tmp_path / "wa.svg").read_text("utf-8").startswith("<svg xmlns=")
    assert (tmp_path / "wa.dot").read_text("utf-8").count("digraph") == 1


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"a drawing ends in \.svg"):
        machine().draw(tmp_path / "wa.bmp")


def test_drawings_of_one_page_share_no_ids():
    assert " id=" not in draw(machine()).svg


def test_names_of_symbols_are_text():
    n = len(NASTY)
    wa = seqray.WeightedAutomaton(NASTY, [1], np.full((n, 1, 1), 0.5 / n), [0.5])
    svg = wa.draw(threshold=0).svg
    assert "<script" not in svg
    assert "<img" not in svg


def test_an_automaton_without_words_is_drawn():
    nothing = seqray.WeightedAutomaton("a", [0], [[[0]]], [0])
    assert "<svg" in draw(nothing).svg


def test_large_automata_are_not_drawn_unasked(monkeypatch):
    assert shown_drawing(large(21, 2)) is None
    assert shown_drawing(large(20, 26)) is None
    assert shown_drawing(large(1, 301)) is None
    assert shown_drawing(machine()) is not None
    monkeypatch.setattr(drawing, "MAX_SHOWN_CHARACTERS", 1000)
    assert shown_drawing(machine()) is None
