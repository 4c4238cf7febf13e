"""`seqray diff`."""

import json
import sys
from dataclasses import replace

import pytest

import seqray
from compared_pairs import changed, rarely, rescaled
from seqray import cli
from seqray.blackbox.box_record import BoxRecord
from seqray.blackbox.queries.answer_cache import opened_store

TINY = ("--words", "words.txt", "--no-states")


@pytest.fixture
def prefix():
    return ("diff",)


@pytest.fixture
def pair(folder, machine):
    """Two automata: one arrow gives 0.1 to the end of the word."""
    changed(machine, 0.1).save("other.json")
    rescaled(machine).save("same.json")
    return "machine.json", "other.json"


def test_what_differs_is_printed(pair, run, machine):
    text = run(*pair)
    difference = seqray.diff(machine, changed(machine, 0.1))
    assert " ".join(text.split()).startswith(difference.summary)
    assert "A: machine.json, B: other.json." in text
    for title in ("Words on which they differ most", "States", "Arrows that differ"):
        assert title in text
    assert "2 arrows differ by 0.01 or more." in text


def test_json_is_what_python_returns(pair, run, machine):
    document = json.loads(run(*pair, "--json", "--seed", 2))
    expected = seqray.diff(machine, changed(machine, 0.1), seed=2).to_json()
    for key in ("distance", "words", "arrows", "states", "seed"):
        assert document[key] == json.loads(json.dumps(expected[key]))
    assert (document["fail_above"], document["is_above"]) == (None, False)
    assert document["a"]["name"] == "machine.json"


def test_the_same_function_is_no_difference(pair, run):
    text = run("machine.json", "same.json", "--fail-above", 0)
    assert text.startswith("No difference: both give the same answer to every word.")
    assert "Bits per symbol from A to B: 0, not above 0 (--fail-above)" in text


def test_a_page_is_written(pair, run_both):
    printed = run_both(*pair, "-o", "page.html")
    assert "page.html: open it in a browser" in printed.out
    with open("page.html", encoding="utf-8") as file:
        page = file.read()
    assert "They differ by" in page
    printed = run_both(*pair, "-o", "page.html", "--json")
    json.loads(printed.out)
    assert "page.html: open" in printed.err


def test_a_picture_of_both_is_written(pair, run, tmp_path):
    assert "both.svg: both as a picture" in run(*pair, "-o", "both.svg")
    picture = (tmp_path / "both.svg").read_text("utf-8")
    assert picture.count("<svg ") == 3
    assert ">A: machine.json</text>" in picture
    assert ">B: other.json</text>" in picture


def test_words_of_a_file_are_what_both_are_compared_on(pair, run, machine):
    document = json.loads(run(*pair, *TINY, "--json"))
    words = seqray.read_words("words.txt", alphabet=machine.alphabet)
    expected = seqray.diff(machine, changed(machine, 0.1), words=words, with_states=False)
    assert document["distance"]["value"] == expected.figure.value
    assert document["distance"]["a_to_b"]["n_words"] == 50
    assert document["states"] is None
    assert {each["source"] for each in document["words"]} == {"given"}


# Regression tests of models -------------------------------------------------------------------


def test_a_difference_above_the_limit_has_a_status_of_its_own(pair, fails):
    error = fails(3, *pair, *TINY, "--fail-above", 0.001)
    assert error.startswith("Too different. Bits per symbol from ")
    assert ": 0.0207. Expected at most 0.001 (--fail-above): the larger figure of" in error
    assert "counts, not its interval. See which words and arrows differ" in error
    assert "add -o page.html" in error


def test_a_difference_below_the_limit_passes_and_says_so(pair, run):
    text = run(*pair, *TINY, "--fail-above", 0.5)
    assert text.splitlines()[-1].endswith("not above 0.5 (--fail-above).")


def test_a_limit_within_the_interval_is_said_to_be_near(pair, run, fails):
    document = json.loads(run(*pair, "--no-states", "--json"))
    low = document["distance"]["interval"][0]
    error = fails(3, *pair, "--no-states", "--fail-above", low)
    assert "lies within the interval: with other words it may be otherwise." in error
    assert "within the interval" not in fails(3, *pair, "--no-states", "--fail-above", low / 2)


def test_a_limit_of_nothing_allows_no_difference_at_all(pair, fails):
    assert "Too different" in fails(3, *pair, "--no-states", "--fail-above", 0)
    for name, probability in (("often", 0.5), ("seldom", 0.1)):
        rarely(probability).save(f"{name}.json")
    error = fails(3, "often.json", "seldom.json", "--no-states", "--fail-above", 0)
    assert "Too different. They differ, if on rare words only. Expected at most 0" in error


def test_the_page_and_the_json_are_written_before_the_command_fails(pair, capsys, tmp_path):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["diff", *pair, *TINY, "--fail-above", "0.001", "--json", "-o", "page.html"])
    assert stopped.value.code == 3
    assert json.loads(capsys.readouterr().out)["is_above"]
    assert (tmp_path / "page.html").is_file()


# Boxes and runs -------------------------------------------------------------------------------


def test_run_folders_are_compared_as_automata(extracted, run):
    document = json.loads(run("run", "machine.json", *TINY, "--json"))
    assert document["distance"]["value"] < 0.1
    assert document["a"]["n_queries"] == 0


def test_the_box_that_a_run_remembers_is_not_opened(folder, machine, run):
    extraction = seqray.extract(machine, n_prefixes=20, max_rank=2)
    settings = replace(extraction.settings, recorded_box=BoxRecord("cmd:touch owned"))
    seqray.save_run(replace(extraction, settings=settings), "hostile")
    run("hostile", "machine.json", *TINY)
    assert not (folder / "owned").exists()


COUNTING = """
import os
import seqray

def answer(words):
    if "bba" in words and os.path.exists("stop"):
        raise KeyboardInterrupt
    return [FACTOR * len(word) for word in words]

box = seqray.black_box(answer, "ab", name="counting FACTOR", batch_size=1)
"""


def test_answers_of_boxes_are_cached_and_survive_an_interruption(folder, run, fails, monkeypatch):
    for factor in (1, 2):
        (folder / f"counting_{factor}.py").write_text(COUNTING.replace("FACTOR", str(factor)))
        monkeypatch.delitem(sys.modules, f"counting_{factor}", raising=False)
    (folder / "two.txt").write_text("a b\nb b a\n")
    (folder / "stop").touch()
    pair = ("python:counting_1:box", "python:counting_2:box", "--words", "two.txt", "--no-states")

    def n_cached():
        with opened_store(folder / ".answers.sqlite") as store:
            return sum(each.n_answers for each in store.boxes())

    said = fails(130, *pair)
    assert said == "Interrupted. No output was written; cached answers are safe."
    assert n_cached() == 1
    (folder / "stop").unlink()
    assert "Their weights differ by 100 %" in run(*pair)
    assert n_cached() == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["machine.json", "missing.json"], "missing.json: there is no such file or folder"),
        (["machine.json", "xyz.json"], "the alphabets differ: machine.json has 0, 1, 2, which xyz"),
        (["machine.json", "dfa.json"], "dfa.json decides for classes, machine.json gives numbers"),
        (["machine.json", "machine.json", "-o", "page.pdf"], "page.pdf ends in none of .html .svg"),
        (["machine.json", "machine.json", "-o", "x.svg", "--no-states"], "a picture shows states"),
        (["machine.json", "machine.json", "--fail-above", "nan"], "expected a number from 0"),
        (["machine.json", "machine.json", "--fail-above", "1%"], "got '1%': for 1% write 0.01"),
        (["machine.json", "machine.json", "--fail-above", "x%"], "expected a number from 0, got"),
        (["machine.json", "machine.json", "--fail-above", "-1"], "-1.0 is not in the range"),
        (["machine.json", "machine.json", "--case", "x"], "--case says how to read a file"),
        (["machine.json"], "Missing argument 'B'"),
    ],
)
def test_what_cannot_be_compared_is_refused(folder, fails, arguments, message):
    seqray.WeightedAutomaton("xyz", [1], [[[0.1]]] * 3, [0.1]).save("xyz.json")
    seqray.DeterministicAutomaton(range(3), [[0, 0, 0]], [1]).save("dfa.json")
    assert message in fails(2, *arguments)
