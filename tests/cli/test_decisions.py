import json

import numpy as np
import pytest

import seqray
from classifier_boxes import doubtful_classes, remainder_automaton, three_classes
from seqray.cli.decisions import show_decisions
from seqray.fidelity.decisions import compare_decisions

BOX = """
import seqray

def scores(words):
    return [(word.count("a") % 2) for word in words]

box = seqray.classifier(scores, "ab", ["even", "odd"], name="parity 1")
number = seqray.black_box(scores, "ab")
"""


def shown(capsys, box, automaton, words, n_words=0):
    show_decisions(compare_decisions(box, automaton, words), box.alphabet, n_words)
    return capsys.readouterr().out


def test_tables_show_confusion_and_agreement(capsys):
    out = shown(capsys, three_classes(), remainder_automaton(), ["", "a", "abc", "bb"], 3)
    assert "rows the box, columns the automaton" in out
    assert "Agreement by length" in out
    assert "Agreement by margin of the box" in out
    assert "Both give every word the same class." in out
    assert "0.00 %" in out  # the difference itself, beside its interval


def test_words_that_differ_are_listed(capsys):
    never = seqray.classifier(lambda words: [0.2] * len(words), "ab", ["low", "high"])
    out = shown(capsys, doubtful_classes(), never, ["a", "aa", "b"], 1)
    assert "Words on which box and automaton decide differently" in out
    assert out.count("aa") == 1


@pytest.fixture
def parity(tmp_path, monkeypatch, folder, run):
    """A run folder of a classifier in a module."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "parity_box.py").write_text(BOX)
    text = run("extract", "python:parity_box:box", "-o", "parity")
    assert "computes the probability of each class" in " ".join(text.split())
    assert "Or: seqray learn python:parity_box:box -o moore.json --max-length 30, a Moore" in text
    return "parity"


@pytest.mark.parametrize(
    ("options", "length"), [(["--max-length", "9"], 9), (["--basis", "data.txt"], 4)]
)
def test_the_advice_to_learn_names_the_length_of_the_words_that_were_drawn(
    parity, folder, run, options, length
):
    (folder / "data.txt").write_text("abba\nab\nbab\n")
    text = run("extract", "python:parity_box:box", "-o", "again", *options)
    assert f"-o moore.json --max-length {length}, a Moore machine" in text


def test_commands_speak_of_decisions(parity, run):
    evaluated = run("evaluate", parity, "--against", "python:parity_box:box", "--worst", "2")
    assert "agreement" in evaluated
    assert "on words of up to 12 symbols. Longer words were not compared." in evaluated
    assert "perplexity" not in evaluated
    explained = run("explain", parity, "aab", "--against", "python:parity_box:box")
    assert "aab: even" in explained
    assert "confirmed" in explained
    assert "aab: even" in run("explain", parity, "aab")
    whole = run("explain", parity)
    assert "2 states and their classes" in whole
    for text in (evaluated, explained, whole):
        assert " ends" not in text
        assert "language" not in text


def test_json_has_the_details(parity, run):
    line = run("evaluate", parity, "--against", "python:parity_box:box", "--json")
    document = json.loads(line.splitlines()[-1])
    assert document["agreement"] == 1
    assert document["classes"] == ["even", "odd"]
    assert len(document["confusion"]) == 2
    assert document["worst"] == []
    flips = json.loads(run("explain", parity, "ab", "--json"))["flips"]
    assert {flip["class"] for flip in flips} == {"even"}


def test_a_drawing_and_a_page_are_made(parity, run, tmp_path):
    run("draw", parity, "-o", "run.svg")
    assert ">odd<" in (tmp_path / "run.svg").read_text("utf-8")
    run("explore", parity, "-o", "page.html", "--against", "python:parity_box:box")
    assert "decided by two states" in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_about_a_classifier_is_not_served(parity, fails):
    text = fails(2, "explore", parity, "--serve", "--against", "python:parity_box:box")
    assert "--serve: a page about a classifier queries no box" in text
    assert "is_live" not in text


def test_a_box_that_does_not_classify_cannot_explain_a_decision(parity, fails):
    text = fails(2, "explain", parity, "ab", "--against", "python:parity_box:number")
    assert "expected a classifier" in text


def test_headers_stay_whole_in_a_narrow_terminal(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    steps = rng.dirichlet(np.ones(7), (4, 7))
    automaton = seqray.ClassifierAutomaton(
        *("acgt", np.eye(7)[0], steps, rng.dirichlet(np.ones(3) / 9, 7)),
        classes=["plain", "repeat", "motif"],
    )
    automaton.save("classes.json")
    header = "state class prob. visits then a then c then g then t"
    assert header in " ".join(run("explain", "classes.json").split())
