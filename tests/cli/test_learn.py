"""``seqray learn``."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import seqray
from deterministic_cases import random_pdfa
from seqray import (
    DeterministicAutomaton,
    LearningEnd,
    WeightedAutomaton,
    cli,
    deterministic_pfa,
)

MODULE = """
import numpy as np
import seqray

threes = seqray.black_box(lambda words: [word.count("a") % 3 == 0 for word in words], "ab")

class Thirds:
    alphabet = seqray.Alphabet("ab")
    classes = ("x", "y", "z")
    def weights(self, words):
        return self.scores(words).argmax(axis=1)
    def scores(self, words):
        return np.eye(3)[[word.count("a") % 3 for word in words]]

thirds = Thirds()

def unqueried(words):
    raise RuntimeError("queried")

short = seqray.black_box(
    lambda words: [float(("aab" in w) != (w.count("b") % 3 == 1)) for w in words],
    "ab",
    max_length=6,
)
braces = seqray.black_box(unqueried, "{}a")
nothing = seqray.black_box(unqueried, ["<eps>", "c"])
"""


@pytest.fixture
def prefix():
    return ("learn",)


@pytest.fixture
def boxes(folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "deciding", raising=False)
    (folder / "deciding.py").write_text(MODULE)
    yield folder
    sys.modules.pop("deciding", None)


def test_a_pdfa_is_learnt_where_the_box_predicts(folder, run):
    machine = random_pdfa(8, 2, 0)
    machine.save("pdfa-box.json")
    out = run("pdfa-box.json", "-o", "pdfa.json", "--tolerance", "0.001")
    learned = WeightedAutomaton.load("pdfa.json")
    assert f"pdfa.json: {learned.n_states} states, learnt from" in out
    assert "Complete: the last search found no word that splits another state." in out
    words = machine.sample(100, seed=0).words
    assert np.allclose(learned.next_symbol(words), machine.next_symbol(words))


@pytest.mark.parametrize("method", ["kv", "lstar", "tree"])
def test_a_dfa_is_learnt_of_a_box_of_numbers(boxes, run, method):
    out = run("python:deciding:threes", "-o", "dfa.json", "--method", method)
    assert "3 states" in out
    assert "decided otherwise 0" in out
    assert WeightedAutomaton.load("dfa.json").decide(["aaa", "a"]) == ["yes", "no"]


def test_the_graph_of_a_pdfa_of_a_network_is_opened_as_a_box(folder, run):
    options = ("--tolerance", "0.05", "--min-probability", "0.01")
    run("demo", "-o", "pdfa.dot", *options)
    run("demo", "-o", "pdfa.json", *options)
    again, learned = seqray.open_black_box("wa:pdfa.dot"), WeightedAutomaton.load("pdfa.json")
    words = learned.sample(50, seed=0).words
    assert np.allclose(again.next_symbol(words), learned.next_symbol(words), rtol=1e-12)


def test_a_moore_machine_is_learnt_of_a_classifier(boxes, run):
    run("python:deciding:thirds", "-o", "moore.dot")
    again = seqray.open_black_box("moore.dot")
    assert isinstance(again, DeterministicAutomaton)
    assert again.decide(["aa"]) == ["z"]


def test_words_and_a_hint_are_searched(boxes, run):
    (boxes / "data.txt").write_text("a a a b\nb\n")
    DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [1, 0, 0]).save("hint.json")
    options = ("--words", "data.txt", "--hint", "hint.json", "--draw", "50", "--method", "tree")
    run("python:deciding:threes", "-o", "dfa.npz", "--threshold", "0.7", *options)
    assert WeightedAutomaton.load("dfa.npz").n_states == 3


def test_a_limit_writes_what_is_known(folder, run):
    out = run("demo", "-o", "pdfa.json", "--budget", "30")
    assert "Not complete: the budget of queries is used up." in out
    assert "so far; a larger --budget learns more." in out
    assert WeightedAutomaton.load("pdfa.json").n_states > 1


def test_a_classifier_has_classes_and_others_have_none(boxes, fails):
    assert "expected moore" in fails(2, "python:deciding:thirds", "-o", "a.json", "--kind", "dfa")
    assert "expected dfa" in fails(2, "python:deciding:threes", "-o", "a.json", "--kind", "moore")
    message = fails(2, "python:deciding:threes", "-o", "a.json", "--kind", "pdfa")
    assert "does not predict next symbols" in message


def test_a_dfa_is_learnt_of_a_dfa(folder, run):
    DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [1, 0, 0]).save("box.json")
    for kind in ("auto", "dfa"):
        assert "3 states" in run("box.json", "-o", "dfa.dot", "--kind", kind)


def test_a_difference_above_the_tolerance_is_explained(folder, run):
    out = run("demo", "-o", "a.json", "--tolerance", "0.02", "--min-probability", "0.01")
    assert ("builds up in small steps" in out) == (
        float(out.split("largest difference ")[1].split()[0].rstrip(".")) > 0.02
    )
    assert "small steps" not in run("demo", "-o", "a.json", "--partitions", "1")


def test_a_format_that_cannot_hold_the_automaton_is_refused_before_any_query(boxes, fails, run):
    message = fails(2, "python:deciding:threes", "-o", "dfa.prism")
    assert ".prism is only for probabilistic automata, and a dfa is none" in message
    run("demo", "-o", "pdfa.prism", "--tolerance", "0.05", "--min-probability", "0.01")
    assert (boxes / "pdfa.prism").read_text().startswith("dtmc")


@pytest.mark.parametrize(("box", "ending"), [("braces", ".dot"), ("nothing", ".fst")])
def test_a_format_that_cannot_hold_the_symbols_is_refused_before_any_query(
    boxes, fails, box, ending
):
    message = fails(2, f"python:deciding:{box}", "-o", f"dfa{ending}", "--method", "tree")
    assert f"{ending} cannot hold the dfa of this box" in message
    assert "choose .json" in message
    assert not list(boxes.glob("dfa*"))


def test_what_its_format_cannot_hold_is_saved_as_json_beside_it(folder, fails):
    leaking = deterministic_pfa("a", [[1], [0]], [[0.5, 0.5], [0.5, 0.25]])
    leaking.save("box.json")
    message = fails(1, "box.json", "-o", "pdfa.prism")
    assert "pdfa.prism was not written" in message
    assert "The automaton is in pdfa.prism.json instead." in message
    learned = WeightedAutomaton.load("pdfa.prism.json")
    assert np.allclose(learned.next_symbol(["", "a"]), leaking.next_symbol(["", "a"]))


def test_an_unknown_ending_is_refused(folder, fails):
    assert "ends in none of" in fails(2, "demo", "-o", "a.txt")


def test_ctrl_c_writes_what_is_known_and_exits_with_130(folder, capsys, monkeypatch):
    monkeypatch.setattr(seqray, "learn_pdfa", interrupted(seqray.learn_pdfa))
    with pytest.raises(SystemExit, match="130"):
        cli.main(["learn", "demo", "-o", "pdfa.json", "--store", "answers.sqlite"])
    printed = capsys.readouterr()
    assert "The automaton is what is known so far.\n" in printed.out
    assert "Interrupted: the same command sends only the missing queries.\n" in printed.err
    assert WeightedAutomaton.load("pdfa.json").n_states >= 1


def test_states_without_end_are_reported_early_and_at_the_end(folder, run_both, run):
    out, err = run_both("demo", "-o", "pdfa.json", "--max-states", "150")
    assert re.search(r"Note: \d+ states became \d+ by counterexamples, and more are likely", err)
    assert "at 0.05" in err
    assert "to need fewer states, choose a larger --tolerance, or a larger --min-prob" in out
    out = run("demo", "-o", "pdfa.json", "--max-states", "10", "--partitions", "20")
    assert "choose fewer --partitions" in out


def test_limits_of_a_dfa_are_named(boxes, run):
    out = run("python:deciding:threes", "-o", "a.json", "--max-states", "2")
    assert "so far; a smaller --max-length needs fewer states, a larger --max-states" in out


def test_too_little_time_is_named(folder, run, monkeypatch):
    monkeypatch.setattr(seqray, "learn_pdfa", ended(seqray.learn_pdfa, LearningEnd.TIME))
    assert "so far; a larger --time-limit learns more." in run("demo", "-o", "a.json")


def test_a_threshold_that_no_word_reaches_is_reported(folder, run_both):
    _, out = run_both("demo", "-o", "dfa.json", "--kind", "dfa", "--draw", "50")
    assert "Note: the decision is no for every word that was queried" in out


def ended(learn, end):
    """Return a learner that ends as if a limit was reached."""
    return lambda box, **options: replace(learn(box, **{**options, "max_states": 5}), end=end)


def interrupted(learn):
    """Return a learner that is interrupted by its progress."""

    def call(box, **options):
        options["progress"] = lambda done, total: options["stop"].set()
        return learn(box, **options)

    return call


def test_a_box_of_short_words_leads_to_the_tree(boxes, run):
    out = run("python:deciding:short", "-o", "a.json", "--method", "kv")
    assert "--method tree learns more from short words." in out
    out = run("python:deciding:short", "-o", "a.json", "--method", "tree")
    assert "--method tree" not in out
