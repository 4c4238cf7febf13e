import re
from dataclasses import replace

import pytest

from listing import names
from seqray.automata.automaton import WeightedAutomaton
from seqray.cli import draw
from seqray.draw.svg import to_svg
from seqray.explain.naming import name_states
from seqray.fidelity import table


@pytest.mark.parametrize("style", ["readable", "paper"])
@pytest.mark.parametrize(("ending", "begin"), [("svg", "<svg"), ("dot", "digraph")])
def test_draw_writes_a_picture(extracted, run, ending, begin, style):
    how = "--rank", "3", "--threshold", "0.1", "--style", style
    text = run("draw", "run", "-o", f"wa.{ending}", *how)
    assert f"\n{begin} " in "\n" + (extracted / f"wa.{ending}").read_text("utf-8")
    assert f"wa.{ending}: 3 states; transitions below 0.1 are hidden" in text
    assert "chosen" not in text


@pytest.mark.parametrize(("ending", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_draw_writes_an_image(extracted, run, ending, begin):
    pytest.importorskip("matplotlib")
    run("draw", "run", "-o", f"wa.{ending}", "--rank", "2")
    assert (extracted / f"wa.{ending}").read_bytes().startswith(begin)


def test_draw_names_states_and_says_which_threshold_it_chose(extracted, run):
    transitions = [[[0.5, 0.001], [0.2, 0]]]
    WeightedAutomaton("a", [1, 0], transitions, [0.499, 0.8]).save("uneven.json")
    text = run("draw", "uneven.json", "-o", "wa.svg")
    drawn = (extracted / "wa.svg").read_text("utf-8")
    assert "words begin here" in drawn
    limit = re.search(r"transitions below (\S+) are hidden, \S+ % of all weight", text)[1]
    assert f"|weight| &lt; {limit} is hidden" in drawn
    assert "By default at most 3 edges per state are drawn" in text


def test_draw_in_the_papers_style_keeps_the_automatons_own_coordinates(extracted, run):
    text = run("draw", "machine.json", "-o", "wa.svg", "--style", "paper")
    assert "transitions below 0.05 are hidden" in text
    assert "chosen" not in text
    assert (extracted / "wa.svg").read_text("utf-8") == to_svg(
        WeightedAutomaton.load("machine.json")
    )


def test_draw_says_which_states_it_leaves_out(folder, run):
    transitions = [[[0.5, 0], [0.5, 0]]]  # no word comes to the second state
    WeightedAutomaton("a", [1, 0], transitions, [0.5, 0.5]).save("idle.json")
    text = run("draw", "idle.json", "-o", "wa.svg")
    assert "1 of 2 states are drawn: no word needs the others." in text
    assert "wa.svg: 1 state; all transitions are drawn" in text


def test_draw_says_what_readable_coordinates_cost(folder, run, monkeypatch):
    def lossy(automaton):
        return replace(name_states(automaton), loss=0.25)

    monkeypatch.setattr(draw, "name_states", lossy)
    text = run("draw", "machine.json", "-o", "wa.svg")
    assert "weights change by up to 0.2 of the largest; --style paper draws" in text


def test_draw_proposes_a_smaller_rank_where_there_are_many_states(extracted, run, monkeypatch):
    assert "many to look at" not in run("draw", "run", "-o", "wa.svg")
    monkeypatch.setattr(table, "MANY_STATES", 2)
    proposed = "states are many to look at. --rank 1 draws 1, with a fidelity score of 0."
    assert proposed in run("draw", "run", "-o", "wa.svg")
    assert "many to look at" not in run("draw", "run", "-o", "wa.svg", "--rank", "4")


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["machine.json", "-o", "wa.gif"], "wa.gif ends in none of .svg .dot .png .pdf"),
        (2, ["machine.json", "-o", "wa"], "wa ends in none of .svg .dot .png .pdf"),
        (2, ["machine.json", "-o", "missing/wa.svg"], "there is no folder missing to put it in"),
        (2, ["machine.json", "-o", "folder.svg"], "is a directory"),
        (2, ["machine.json", "-o", "wa.svg", "--rank", "0"], "--rank"),
        (2, ["machine.json", "-o", "wa.svg", "--rank", "two"], "--rank"),
        (2, ["run", "-o", "wa.svg", "--rank", "5"], "rank 5 is outside 1 … 4"),
        (2, ["machine.json", "-o", "wa.svg", "--threshold", "-1"], "--threshold"),
        (2, ["machine.json", "-o", "wa.svg", "--style", "round"], "--style"),
        (2, ["missing.json", "-o", "wa.svg"], "missing.json: there is no such file or folder"),
        (2, ["wa:missing", "-o", "wa.svg"], "missing: there is no such file or folder"),
        (1, ["words.txt", "-o", "wa.svg"], "words.txt"),
        (1, ["cut.json", "-o", "wa.svg"], "cut.json: not a seqray automaton, or damaged"),
    ],
)
def test_draw_that_fails_leaves_nothing(extracted, fails, code, arguments, message):
    folder = extracted
    (folder / "folder.svg").mkdir()
    (folder / "cut.json").write_text((folder / "machine.json").read_text()[:99])
    before = names(folder)
    assert message in fails(code, "draw", *arguments)
    assert names(folder) == before
