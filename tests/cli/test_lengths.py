"""Commands keep to a box's own length limit, and to --max-length."""

import json
import sys

import pytest

import seqray

MODULE = """
import seqray

LIMIT = 3

def checked(words):
    assert all(len(word) <= LIMIT for word in words), max(words, key=len)
    with open("longest.txt", "a") as file:
        file.writelines(f"{len(word)}\\n" for word in words)

def values(words):
    checked(words)
    return [0.25 * 0.4 ** len(word) for word in words]

def rows(prefixes):
    checked(prefixes)
    return [[0.4, 0.4, 0.2]] * len(prefixes)

value = seqray.black_box(values, "ab", name="values", max_length=LIMIT)
model = seqray.language_model(rows, "ab", name="rows", max_length=LIMIT)
"""
BOXES = ["python:short_box:value", "python:short_box:model"]


@pytest.fixture
def short(folder, monkeypatch):
    """A module with two boxes that read three symbols, and an automaton to compare with."""
    monkeypatch.delitem(sys.modules, "short_box", raising=False)
    (folder / "short_box.py").write_text(MODULE)
    seqray.WeightedAutomaton("ab", [1], [[[0.4]], [[0.4]]], [0.25]).save("ab.json")
    (folder / "long.txt").write_text("ab\nabab\nb\naba\n")
    return folder


def longest_asked(folder):
    return max(map(int, (folder / "longest.txt").read_text().split()))


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "ab.json", "--worst", "2", "--json"],
        ["explore", "ab.json", "-o", "page.html"],
        ["explain", "ab.json", "aba"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_box_s_own_limit_is_kept(short, run, box, arguments):
    run(*arguments, "--against", box)
    assert longest_asked(short) == 3


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize(
    "arguments",
    [["evaluate", "ab.json", "--worst", "2", "--json"], ["explore", "ab.json", "-o", "page.html"]],
    ids=lambda arguments: arguments[0],
)
def test_no_word_is_longer_than_max_length(short, run, fails, box, arguments):
    run(*arguments, "--against", box, "--max-length", "2")
    assert longest_asked(short) == 2
    error = fails(2, *arguments, "--against", box, "--max-length", "4")
    assert "reads words of at most 3 symbols, got 4" in error


@pytest.mark.parametrize("command", ["evaluate", "explore"])
def test_words_of_a_file_that_are_too_long_are_left_out_and_counted(
    short, run_both, fails, command
):
    arguments = [command, "ab.json", "--against", BOXES[0], "--words", "long.txt"]
    arguments += ["--json"] if command == "evaluate" else ["-o", "page.html"]
    told = run_both(*arguments)
    assert "1 of 4 words in long.txt are left out: they are longer than 3 symbols" in told.err
    if command == "evaluate":
        assert json.loads(told.out)["words"] == 3
    assert "2 of 4 words" in run_both(*arguments, "--max-length", "2").err
    (short / "long.txt").write_text("abab\nbbbb\n")
    assert "all 2 words are longer than 3 symbols" in fails(2, *arguments)


def test_evaluate_draws_longer_words_if_told_to(short, run_both):
    seqray.WeightedAutomaton("ab", [1], [[[0.4]], [[0.4]]], [0.5]).save("two.json")
    told = run_both("evaluate", "ab.json", "--against", "two.json", "--max-length", "20", "--json")
    assert "Compared on random words of up to 20 symbols" in told.err


def test_a_word_that_is_too_long_to_explain_is_named(short, fails):
    error = fails(1, "explain", "ab.json", "ababa", "--against", BOXES[1])
    assert "reads words of at most 3 symbols, and 'ababa' has 5" in error
    assert not (short / "longest.txt").exists()
