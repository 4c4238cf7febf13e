import json

import numpy as np
import pytest

import seqray
from listing import names
from seqray import WeightedAutomaton, open_run
from seqray.cli import common


@pytest.mark.parametrize("wa", ["machine.json", "wa:machine.json"])
@pytest.mark.parametrize("rank", [1, 4, 5])
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("draw", ["-o", "wa.svg"]),
        ("convert", ["wa.npz"]),
        ("evaluate", ["--against", "machine.json", "--words", "words.txt"]),
    ],
)
def test_only_a_run_has_ranks(folder, fails, command, options, rank, wa):
    before = names(folder)
    error = fails(2, command, wa, *options, "--rank", rank)
    assert "Invalid value for --rank: machine.json is no run folder" in error
    assert names(folder) == before


def test_what_is_opened_may_be_written_as_a_box_is(extracted, run, machine):
    run("convert", "wa:machine.json", "wa.json")
    assert WeightedAutomaton.load("wa.json").allclose(machine, rtol=0, atol=0)
    run("convert", "wa:run", "wa.npz", "--rank", "2")
    assert WeightedAutomaton.load("wa.npz").allclose(open_run("run").automaton(2), rtol=0, atol=0)
    assert "wa.svg: 3 states" in run("draw", "wa:run", "-o", "wa.svg", "--rank", "3")
    assert "wa.svg: 4 states" in run("draw", "wa:machine.json", "-o", "wa.svg")
    arguments = ("--against", "machine.json", "--words", "words.txt", "--json")
    plain, same = (json.loads(run("evaluate", wa, *arguments)) for wa in ("run", "wa:run"))
    assert plain == same


def test_a_line_of_json_has_null_for_what_is_no_number():
    numbers = {"a": float("nan"), "b": float("inf"), "c": -float("inf"), "d": 0.5, "e": 3, "f": "λ"}
    line = common.json_line(numbers)
    assert line == '{"a": null, "b": null, "c": null, "d": 0.5, "e": 3, "f": "λ"}'


def test_the_ranks_shown_include_the_best_and_the_largest():
    assert common.some_ranks(4, 4) == [1, 2, 3, 4]
    assert common.some_ranks(100, 40) == [1, 2, 3, 5, 8, 13, 21, 34, 40, 55, 89, 100]
    assert common.some_ranks(1, 1) == [1]


def test_ranks_at_which_an_automaton_was_fitted_are_shown():
    assert common.some_ranks(40, 12, [2, 3, 5, 10, 20, 30, 40]) == [1, 2, 3, 5, 10, 12, 20, 30, 40]


def test_a_comparison_shows_probable_words_once_and_the_worst(capsys):
    words = seqray.Alphabet("ab").words(["b", "a", "a", "", "ab" * 30])
    box = np.array([0.1, 0.4, 0.4, 0.3, 0.01])
    common.show_comparison(words, box, np.array([0.1, 0.4, 0.4, 0.3, -0.5]))
    text = capsys.readouterr().out
    assert text.count("0.4") == 2
    assert "λ" in text
    assert "-0.5" in text
    assert "ab" * 30 not in text
