"""Files of events on the command line, and symbols that hold spaces in every command."""

import json

import numpy as np
import pytest

import seqray
from seqray.automata.generators import random_machine

NAMES = ("Take in charge ticket", "Wait", "Resolve ticket")
SMALL = ("--prefixes", "40", "--suffixes", "40", "--max-rank", "3", "--for", "reading")


@pytest.fixture
def events(tmp_path, monkeypatch, hasty):
    """A folder with a machine whose symbols hold spaces, and words of it as a table of events."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    drawn = random_machine("pfa", 3, 3, seed=np.random.default_rng(1))
    machine = seqray.WeightedAutomaton(NAMES, drawn.initial, drawn.transitions, drawn.final)
    machine.save("machine.json")
    words = machine.sample(60, seed=np.random.default_rng(2)).words
    rows = [f"{at},{name},{i}" for at, word in enumerate(words) for i, name in enumerate(word)]
    (tmp_path / "events.csv").write_text("\n".join(["case,activity,time", *rows[::-1]]) + "\n")
    (tmp_path / "other.csv").write_text("\n".join(["ticket,step,when", *rows]) + "\n")
    return tmp_path


@pytest.fixture
def extracted(events, run):
    run("extract", "wa:machine.json", "-o", "run", *SMALL, "--basis", "events.csv")
    return events


def test_columns_are_guessed_and_said(events, run_both):
    arguments = ("evaluate", "machine.json", "--against", "wa:machine.json", "--json")
    out, err = run_both(*arguments, "--words", "events.csv")
    assert err == "events.csv: case 'case', activity 'activity', sorted by 'time'.\n"
    log = seqray.read_events("events.csv")
    assert json.loads(out)["words"] == len(log.words)
    columns = ("--case", "ticket", "--activity", "step", "--time", "none")
    other, err = run_both(*arguments, "--words", "other.csv", *columns)
    assert err == "other.csv: case 'ticket', activity 'step', in the order of the file.\n"
    assert json.loads(other)["entropy_per_symbol"] == json.loads(out)["entropy_per_symbol"]


def test_a_table_without_times_and_a_xes_file_are_described(events, run_both):
    arguments = ("evaluate", "machine.json", "--against", "wa:machine.json", "--json", "--words")
    (events / "no_times.csv").write_text("case,activity\n1,Wait\n")
    _, err = run_both(*arguments, "no_times.csv")
    assert "in the order of the file, since no column looks like a time (--time COLUMN)" in err
    event = '<event><string key="concept:name" value="Wait"/></event>'
    (events / "log.xes").write_text(f"<log><trace>{event}</trace></log>")
    _, err = run_both(*arguments, "log.xes", "--time", "none")
    wanted = "case 'concept:name' of traces, activity 'concept:name' of events, in the order of"
    assert wanted in err
    assert "--time" not in err


def test_columns_that_cannot_be_guessed_are_listed(events, fails):
    arguments = ("evaluate", "machine.json", "--against", "wa:machine.json")
    err = fails(2, *arguments, "--words", "other.csv")
    assert "no column looks like the case" in err
    assert "'ticket', 'step', 'when'" in err
    assert "--case" in err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("evaluate", "machine.json", "--against", "wa:machine.json"), "--words"),
        (("extract", "wa:machine.json", "-o", "run"), "--basis"),
        (("explore", "machine.json", "-o", "page.html"), "--words"),
        (("explain", "machine.json", "Wait"), "--words"),
        (("learn", "wa:machine.json", "-o", "pdfa.json"), "--words"),
    ],
)
def test_columns_without_a_file_are_refused(events, fails, command, option):
    err = fails(2, *command, "--time-format", "%Y")
    assert f"--time-format says how to read a file: add {option} FILE" in " ".join(err.split())


def test_a_plain_log_is_read_by_its_sessions(events, run_both, fails):
    (events / "a.log").write_text("job 1 Wait\nstart\njob 2 Wait\n")
    seqray.WeightedAutomaton(["job <*> Wait"], [1], [[[0.5]]], [0.5]).save("log.json")
    arguments = ("evaluate", "log.json", "--against", "wa:log.json", "--words", "a.log")
    _, err = run_both(*arguments, "--session", r"job \d")
    assert err == "a.log: 2 sessions; 1 line without one left out.\n"
    err = fails(2, *arguments, "--session", "job", "--case", "x")
    assert "--session reads a plain log, and --case a table of events" in " ".join(err.split())


def test_sequences_need_nothing_to_be_said(events, run_both):
    (events / "a.fasta").write_text(">1\nacgt\n>2\nAA\n")
    seqray.WeightedAutomaton("ACGT", [1], np.full((4, 1, 1), 0.2), [0.2]).save("dna.json")
    out, err = run_both(
        "evaluate", "dna.json", "--against", "wa:dna.json", "--words", "a.fasta", "--json"
    )
    assert (json.loads(out)["words"], err) == (2, "")


# Symbols that hold spaces -------------------------------------------------------------------------


def test_a_run_knows_them(extracted, run):
    run_alphabet = seqray.open_run("run").automaton(2).alphabet
    assert run_alphabet == seqray.Alphabet(NAMES)
    out = run("evaluate", "run", "--against", "wa:machine.json", "--words", "events.csv")
    assert "words of events.csv" in out


@pytest.mark.parametrize(
    "word",
    [
        ("Take in charge ticket", "Wait"),
        ("Take in charge ticket | Wait",),
        ("Take in charge ticket Wait",),
        ("Take", "in", "charge", "ticket", "Wait"),
    ],
)
def test_a_word_to_explain_is_typed_with_quotes_or_bars(extracted, run, word):
    document = json.loads(run("explain", "run", *word, "--words", "events.csv", "--json"))
    assert document["word"] == ["Take in charge ticket", "Wait"]
    assert "Take in charge ticket | Wait" in run("explain", "run", *word)


def test_whole_automata_are_explained_and_drawn_with_them(extracted, run):
    assert "Take in charge ticket | " in run("explain", "run")
    run("draw", "run", "-o", "run.svg")
    assert "Take in charge" in (extracted / "run.svg").read_text("utf-8")


def test_pages_show_them(extracted, run):
    run("explore", "run", "-o", "p.html", "--against", "wa:machine.json", "--words", "events.csv")
    page = (extracted / "p.html").read_text("utf-8")
    assert '"separator":" | "' in page.replace('": "', '":"')


@pytest.mark.parametrize(
    "name", ["wa.json", "wa.npz", "wa.fst", "wa.dot", "wa.pautomac", "wa.prism"]
)
def test_every_format_holds_them(extracted, run, name):
    run("convert", "machine.json", name)
    if name.endswith((".json", ".npz")):
        assert seqray.open_black_box(f"wa:{name}").alphabet == seqray.Alphabet(NAMES)
    if name.endswith((".dot", ".prism")):
        assert "Take in charge" in (extracted / name).read_text("utf-8")


def test_learners_know_them(events, run):
    run("learn", "wa:machine.json", "-o", "d.dot", "--tolerance", "0.3", "--words", "events.csv")
    assert set(seqray.open_black_box("d.dot").alphabet) == set(NAMES)


def test_answers_to_their_words_are_cached(events):
    machine = seqray.WeightedAutomaton.load("machine.json")
    queries = []

    def weights(words):
        queries.extend(words)
        return [machine.weight(word) for word in words]

    for _ in range(2):
        box = seqray.black_box(weights, machine.alphabet, name="machine")
        seqray.extract(box, n_prefixes=20, n_suffixes=20, max_rank=3, store="a.sqlite", seed=0)
    assert ("Take in charge ticket", "Wait") in queries
    assert len(queries) < 1.1 * len(set(queries))  # but for a few that check the cache
