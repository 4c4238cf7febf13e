import json

import numpy as np

import seqray
from seqray.automata.stepper import PredictingStepper
from seqray.blackbox.native.demo import open_demo


def test_the_demo_leaves_a_run_a_drawing_and_words(tmp_path, run):
    folder = tmp_path / "demo"
    out = run("demo", "-o", folder)
    assert "ndcg5" in out
    assert "automaton.svg" in out
    assert "perplexity" not in out
    page_line = out.splitlines()[-1]
    assert page_line == f"Look at it: {folder / 'explorer.html'}  (open it in a browser)"
    left = seqray.open_run(folder)
    assert left.fidelity.at(left.settings["rank"])["ndcg5"] > 0.99
    assert (folder / "automaton.svg").read_text("utf-8").startswith("<svg")
    page = (folder / "explorer.html").read_bytes()
    assert b"The demo's GRU" in page
    assert len(page) < 3_000_000
    assert len(seqray.read_words(folder / "words.txt", alphabet=open_demo().alphabet)) == 20_000
    words = folder / "words.txt"
    found = json.loads(run("evaluate", folder, "--against", "demo", "--words", words, "--json"))
    assert found["ndcg5"] > 0.99
    assert found["states"] == left.settings["rank"]


def test_the_demo_refuses_a_folder_that_is_something_else(tmp_path, fails):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "letter.txt").write_text("mine")
    assert "no run folder" in fails(2, "demo", "-o", tmp_path / "demo")


def test_the_demo_box_is_small_and_learnt_its_machine():
    box = open_demo()
    assert isinstance(box, PredictingStepper)
    folder = seqray.__path__[0] + "/blackbox/native"
    machine = seqray.WeightedAutomaton.load(f"{folder}/demo_machine.json")
    words = machine.sample(500, seed=np.random.default_rng(5)).words
    fidelity = seqray.compare(machine, box, words)
    assert fidelity["ndcg5"] > 0.99
    assert fidelity["perplexity_ratio"] > 0.99
