"""What commands that ask a box share: its options, its store, its limits, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import seqray
from seqray import open_run
from seqray.blackbox.queries.answer_cache import AnswerStore

SMALL = ("--prefixes", "30", "--suffixes", "30")
MODULE = """
import time
import seqray

def answer(words):
    with open("asked.txt", "a") as file:
        file.writelines(word + "\\n" for word in words)
    time.sleep(PAUSE * len(words))
    return [0.25 ** len(word) * (1 + word.count("a")) for word in words]

box = seqray.black_box(answer, "ab", name="mine", batch_size=16)
"""


@pytest.fixture
def module(folder, monkeypatch):
    """A module with a box, that writes down what it is asked."""
    monkeypatch.delitem(sys.modules, "slow_box", raising=False)

    def write(pause=0.0):
        (folder / "slow_box.py").write_text(MODULE.replace("PAUSE", str(pause)))
        return "python:slow_box:box"

    yield write
    sys.modules.pop("slow_box", None)


def asked(folder):
    return (folder / "asked.txt").read_text().split("\n")[:-1]


# The store ----------------------------------------------------------------------------------------


def test_answers_are_kept_and_not_asked_again(folder, run, module):
    box = module()
    text = run("extract", box, "-o", "run", *SMALL)
    assert "The answers are cached in" in text
    assert ".answers.sqlite" in "".join(text.split())
    n_asked = len(asked(folder))
    run("extract", box, "-o", "again", *SMALL)
    assert len(asked(folder)) - n_asked <= 8
    assert open_run("run").singular_values.tolist() == open_run("again").singular_values.tolist()


def test_answers_may_be_kept_elsewhere_or_not_at_all(folder, run, module):
    run("extract", module(), "-o", "run", *SMALL, "--store", "mine.sqlite")
    assert (folder / "mine.sqlite").exists()
    text = run("extract", module(), "-o", "run", *SMALL, "--store", "none")
    assert "are kept" not in text
    assert not (folder / ".answers.sqlite").exists()


def test_boxes_of_seqrays_own_are_not_kept(folder, run):
    run("extract", "machine.json", "-o", "run", *SMALL)
    assert not (folder / ".answers.sqlite").exists()


def test_evaluate_keeps_answers_as_well(folder, run, module):
    (folder / "some.txt").write_text("a\nab\nba\n")
    run("extract", module(), "-o", "run", *SMALL)
    n_asked = len(asked(folder))
    for _ in range(2):
        run("evaluate", "run", "--against", module(), "--words", "some.txt")
    assert len(asked(folder)) - n_asked <= 2 * 8 + 3


def test_info_shows_what_is_kept(folder, run, module):
    run("extract", module(), "-o", "run", *SMALL)
    text = " ".join(run("store", "info").split())
    assert "answers.sqlite:" in text
    assert "MB" in text
    assert "mine value 2" in text


def test_export_writes_a_line_a_word(folder, run, module):
    run("extract", module(), "-o", "run", *SMALL)
    rows = [json.loads(line) for line in run("store", "export", "--box", "mine").splitlines()]
    assert len(rows) == len(set(asked(folder)))
    kept = {"".join(row["word"]): row["answer"] for row in rows}
    assert kept["ab"] == 0.125
    assert {row["box"] for row in rows} == {"mine"}


def test_prune_forgets_what_it_is_told(folder, run, fails, module):
    run("extract", module(), "-o", "run", *SMALL)
    assert "Removed 0 answers" in run("store", "prune", "--older-than", "1")
    assert "Removed 0 answers" in run("store", "prune", "--box", "other")
    assert "nothing was chosen" in fails(2, "store", "prune")
    assert "of 1 boxes" in run("store", "prune", "--box", "mine")
    assert "Removed 0 answers" in run("store", "prune", "--all")
    assert run("store", "export") == ""
    assert "no box has 'mine' in its name" in fails(2, "store", "export", "--box", "mine")


def test_a_store_that_is_not_there_is_named(folder, fails):
    assert "there are no cached answers yet" in fails(2, "store", "info")
    assert "x.sqlite: there are no cached answers yet" in fails(
        2, "store", "info", "--store", "x.sqlite"
    )


def test_a_damaged_store_is_named_before_anything_is_asked(folder, fails, module):
    (folder / "bad.sqlite").write_text("not a database, not at all, but rather long" * 99)
    error = fails(1, "extract", module(), "-o", "run", *SMALL, "--store", "bad.sqlite")
    assert "bad.sqlite: no store of seqray, or a damaged one" in error
    assert not (folder / "asked.txt").exists()


# Options ------------------------------------------------------------------------------------------


def test_options_reach_the_box_as_values(folder, monkeypatch, run):
    seen = {}

    def opened(spec, **options):
        seen.update(options)
        return seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])

    monkeypatch.setattr(seqray, "open_black_box", opened)
    run(
        *("extract", "machine.json", "-o", "run", *SMALL),
        *("-O", "timeout=1.5", "-O", "some-name=text", "--option", "flag=true"),
    )
    assert seen == {"timeout": 1.5, "some_name": "text", "flag": True}


def test_options_that_make_no_sense_are_refused(folder, fails):
    error = fails(2, "extract", "machine.json", "-o", "run", "-O", "timeout")
    assert "expected NAME=VALUE, got 'timeout'" in error
    error = fails(2, "extract", "wa:machine.json", "-o", "run", "-O", "timeout=3")
    assert "the wa adapter has no option 'timeout': it takes none" in error


# Limits -------------------------------------------------------------------------------------------


def test_a_budget_is_kept_and_said(folder, run_both, module):
    _, error = run_both("extract", module(), "-o", "run", *SMALL, "--budget", "800")
    assert len(set(asked(folder))) <= 800
    assert "the budget of 800 queries allows no more" in error
    assert open_run("run").settings["stopped"]


def test_a_budget_that_is_too_small_is_an_error(folder, fails, module, run):
    error = fails(1, "extract", module(), "-o", "run", *SMALL, "--budget", "10")
    assert "Stopped before there was enough for an automaton: the budget of 10" in error
    assert "about 35 are enough" in error
    run("extract", module(), "-o", "run", *SMALL, "--budget", "35")


def test_time_is_kept_and_said(folder, run_both, module):
    box = module(pause=0.003)
    _, error = run_both("extract", box, "-o", "run", *SMALL, "--time", "3")
    assert "the time of 3 s is over" in error


def interrupt_when_asking(folder, arguments, n_times):
    """Run seqray, and press Ctrl-C when it has asked something."""
    process = subprocess.Popen(
        [sys.executable, "-m", "seqray", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    for n in range(1, n_times + 1):
        while not (folder / "asked.txt").exists() or len(asked(folder)) < 1200 * n:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=60)
    return process.returncode, output, " ".join(error.split())


def test_ctrl_c_once_saves_what_there_is(folder, module, run):
    box = module(pause=0.001)
    code, _, error = interrupt_when_asking(folder, ["extract", box, "-o", "run", *SMALL], 1)
    assert code == 130
    assert "Finishing this batch" in error
    assert "the same command sends only the missing queries" in error
    part = open_run(folder / "run")
    assert part.settings["stopped"] == "interrupted"
    with AnswerStore(folder / ".answers.sqlite") as store:
        assert sum(kept.n_answers for kept in store.boxes()) == len(set(asked(folder)))
    n_asked = len(asked(folder))
    module(pause=0)
    run("extract", box, "-o", "run", *SMALL)
    again = asked(folder)[n_asked:]
    assert len(set(again) & set(asked(folder)[:n_asked])) <= 8
    assert open_run(folder / "run").settings["stopped"] == ""


def test_ctrl_c_while_a_basis_grows_saves_what_there_is(folder, module):
    box = module(pause=0.001)
    sizes = ("--prefixes", "200", "--suffixes", "200", "--target", "0.99")
    code, output, error = interrupt_when_asking(folder, ["extract", box, "-o", "run", *sizes], 1)
    assert code == 130, error
    assert "Fidelity by rank" in output
    assert open_run(folder / "run").settings["stopped"] == "interrupted"


PREDICTING = """

def answer_next(prefixes):
    answer(prefixes)
    return [[0.3 + 0.2 * (len(prefix) % 2), 0.2, 0.5 - 0.2 * (len(prefix) % 2)]
            for prefix in prefixes]

box = seqray.language_model(answer_next, "ab", name="mine", batch_size=16)
"""


def test_ctrl_c_once_saves_the_contexts_there_are(folder, module, run):
    box, small = module(pause=0.002), ("--prefixes", "200", "--max-rank", "2")
    source = (folder / "slow_box.py").read_text()
    (folder / "slow_box.py").write_text(source + PREDICTING)
    code, output, error = interrupt_when_asking(folder, ["extract", box, "-o", "run", *small], 1)
    assert code == 130, error
    part = open_run(folder / "run")
    assert part.settings["stopped"] == "interrupted"
    assert "contexts of 200 were asked" in error
    assert f"({part.settings['prefixes']} contexts ×" in " ".join(output.split())
    n_asked = len(asked(folder))
    (folder / "slow_box.py").write_text(source.replace("0.002", "0") + PREDICTING)
    run("extract", box, "-o", "run", *small)
    again = asked(folder)[n_asked:]
    assert len(set(again) & set(asked(folder)[:n_asked])) <= 8 + 16 * max(map(len, again))
    assert open_run(folder / "run").settings["stopped"] == ""


def test_a_model_s_budget_that_is_too_small_says_what_is_enough(folder, fails):
    error = fails(1, "extract", "demo", "-o", "run", "--budget", "30")
    assert "Stopped before there was enough for an automaton: the budget of 30" in error
    assert " are enough" in error


# Check --------------------------------------------------------------------------------------------


def test_check_shows_what_it_found(folder, run):
    text = " ".join(run("check", "machine.json").split())
    for part in ("batch = single", "padded = unpadded", "Σp = 1", "words per second", "✓"):
        assert part in text


def test_check_fails_where_a_box_does(folder, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    noisy = seqray.black_box(lambda words: rng.random(len(words)), "ab")
    monkeypatch.setattr(seqray, "open_black_box", lambda spec: noisy)
    with pytest.raises(SystemExit) as stopped:
        seqray.cli.main(["check", "machine.json", "--json"])
    assert stopped.value.code == 1
    findings = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert findings["deterministic"]["ok"] is False
    assert findings["empty word"]["ok"] is True


# Boxes that end the program -----------------------------------------------------------------------

LEAVING = """
import sys
import seqray

def leave(words):
    sys.exit(0)

box = seqray.black_box(leave, "ab", name="mine")

def factory():
    sys.exit(0)

"""


@pytest.mark.parametrize("name", ["box", "factory"])
@pytest.mark.parametrize("command", ["extract", "check", "evaluate", "explore", "explain"])
def test_a_box_that_ends_the_program_is_no_success(folder, capsys, monkeypatch, command, name):
    monkeypatch.delitem(sys.modules, "leaving", raising=False)
    (folder / "leaving.py").write_text(LEAVING)
    seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]).save("ab.json")
    spec = f"python:leaving:{name}"
    arguments = {
        "extract": [spec, "-o", "run", *SMALL],
        "check": [spec],
        "evaluate": ["ab.json", "--against", spec],
        "explore": ["ab.json", "-o", "page.html", "--against", spec],
        "explain": ["ab.json", "ab", "--against", spec],
    }
    with pytest.raises(SystemExit) as stopped:
        seqray.cli.main([command, *arguments[command]])
    printed = capsys.readouterr()
    assert stopped.value.code == 1
    assert "SystemExit: 0" in " ".join((printed.out + printed.err).split())


def test_whatever_ends_the_program_is_no_success(folder, fails, monkeypatch):
    monkeypatch.setattr("seqray.cli.extract.open_box", lambda *_: sys.exit(0))
    assert "called sys.exit(0)" in fails(1, "extract", "demo", "-o", "run")
