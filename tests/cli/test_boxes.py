"""What commands that query a box share: its options, its answer cache, its limits, and Ctrl-C."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

import seqray
from children import child_command
from same_gru.server import LENGTHS, serving
from seqray import open_run
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.util.errors import StopReason

SMALL = ("--prefixes", "30", "--suffixes", "30")


def queried(folder):
    return (folder / "queried.txt").read_text().split("\n")[:-1]


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
    assert "the wa adapter has no option 'timeout': expected one of purpose" in error


def test_a_budget_is_kept_and_said(folder, run_both, module):
    _, error = run_both("extract", module(), "-o", "run", *SMALL, "--budget", "800")
    assert len(set(queried(folder))) <= 800
    assert "the budget of 800 queries allows no more" in error
    assert open_run("run").settings["stopped"]


def test_a_budget_that_is_too_small_is_an_error(folder, fails, module, run):
    error = fails(1, "extract", module(), "-o", "run", *SMALL, "--budget", "10")
    assert "Stopped before there was enough for an automaton: the budget of 10" in error
    assert "about 35 are enough; cached answers are safe, the same command sends only" in error
    error = fails(1, "extract", module(), "-o", "run", *SMALL, "--budget", "10", "--store", "none")
    assert "no answer is cached, the same command starts from the beginning." in error
    run("extract", module(), "-o", "run", *SMALL, "--budget", "35")


def test_time_is_kept_and_said(folder, run_both, module):
    box = module(pause=0.003)
    _, error = run_both("extract", box, "-o", "run", *SMALL, "--time-limit", "3")
    assert "the time of 3 s is over" in error


def interrupt_when_querying(folder, arguments, n_times, number=signal.SIGINT):
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
        while not (folder / "queried.txt").exists() or len(queried(folder)) < 1200 * n:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(number)
    output, error = process.communicate(timeout=60)
    return process.returncode, output, " ".join(error.split())


def test_sigterm_is_like_ctrl_c(folder, module):
    arguments = ["extract", module(pause=0.001), "-o", "run", *SMALL]
    code, _, error = interrupt_when_querying(folder, arguments, 1, signal.SIGTERM)
    assert (code, "Finishing this batch" in error) == (130, True)
    assert open_run(folder / "run").settings["stopped"] == "interrupted"
    assert list(folder.glob(".seqray.*")) == []


def test_ctrl_c_once_saves_what_there_is(folder, module, run):
    box = module(pause=0.001)
    code, _, error = interrupt_when_querying(folder, ["extract", box, "-o", "run", *SMALL], 1)
    assert code == 130
    assert "Finishing this batch" in error
    assert "the same command sends only the missing queries" in error
    part = open_run(folder / "run")
    assert part.settings["stopped"] == "interrupted"
    with AnswerStore(folder / ".answers.sqlite") as store:
        assert sum(kept.n_answers for kept in store.boxes()) == len(set(queried(folder)))
    n_asked = len(queried(folder))
    module(pause=0)
    run("extract", box, "-o", "run", *SMALL)
    again = queried(folder)[n_asked:]
    assert len(set(again) & set(queried(folder)[:n_asked])) <= 8
    assert open_run(folder / "run").settings["stopped"] == ""


def test_ctrl_c_leaves_a_finished_run_and_saves_what_there_is_beside_it(folder, module, run):
    run("extract", "machine.json", "-o", "run", *SMALL)
    before = {each.name: each.read_bytes() for each in (folder / "run").iterdir()}
    arguments = ["extract", module(pause=0.001), "-o", "run", *SMALL]
    for _ in range(2):  # the second interrupted run replaces the first
        code, output, error = interrupt_when_querying(folder, arguments, 1)
        assert code == 130, error
        assert "run still holds the earlier run; run.interrupted is new." in error
        assert "Run folder: run.interrupted " in output
        assert {each.name: each.read_bytes() for each in (folder / "run").iterdir()} == before
        assert open_run(folder / "run.interrupted").stop_reason is StopReason.INTERRUPTED
        (folder / "queried.txt").unlink()
        (folder / ".answers.sqlite").unlink()
    assert not (folder / "run.interrupted.interrupted").exists()


def test_ctrl_c_while_a_basis_grows_saves_what_there_is(folder, module):
    box = module(pause=0.001)
    sizes = ("--prefixes", "200", "--suffixes", "200", "--target", "0.99")
    code, output, error = interrupt_when_querying(folder, ["extract", box, "-o", "run", *sizes], 1)
    assert code == 130, error
    assert "Fidelity by rank" in output
    assert open_run(folder / "run").settings["stopped"] == "interrupted"


PREDICTING = """

def answer_next(prefixes):
    answer(prefixes)
    often = [(prefix.count("a") ** 2 % 7 + prefix.count("b") % 3) / 50 for prefix in prefixes]
    return [[0.3 + each, 0.2, 0.5 - each] for each in often]

box = seqray.language_model(answer_next, "ab", name="mine", batch_size=16)
"""


def test_ctrl_c_once_saves_the_contexts_there_are(folder, module, run):
    box, small = module(pause=0.002), ("--prefixes", "200", "--max-rank", "2")
    source = (folder / "slow_box.py").read_text()
    (folder / "slow_box.py").write_text(source + PREDICTING)
    code, output, error = interrupt_when_querying(folder, ["extract", box, "-o", "run", *small], 1)
    assert code == 130, error
    part = open_run(folder / "run")
    assert part.settings["stopped"] == "interrupted"
    assert "contexts of 200 were queried" in error
    assert f"({part.settings['prefixes']} contexts ×" in " ".join(output.split())
    n_asked = len(queried(folder))
    (folder / "slow_box.py").write_text(source.replace("0.002", "0") + PREDICTING)
    run("extract", box, "-o", "run", *small)
    again = queried(folder)[n_asked:]
    assert len(set(again) & set(queried(folder)[:n_asked])) <= 8 + 16 * max(map(len, again))
    assert open_run(folder / "run").settings["stopped"] == ""


def test_a_model_s_budget_that_is_too_small_says_what_is_enough(folder, fails):
    error = fails(1, "extract", "demo", "-o", "run", "--budget", "30")
    assert "Stopped before there was enough for an automaton: the budget of 30" in error
    assert " are enough" in error


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


LIMITED_MODULE = """
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
    (folder / "short_box.py").write_text(LIMITED_MODULE)
    seqray.WeightedAutomaton("ab", [1], [[[0.4]], [[0.4]]], [0.25]).save("ab.json")
    (folder / "long.txt").write_text("ab\nabab\nb\naba\n")
    return folder


def longest_query(folder):
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
    assert longest_query(short) == 3


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize(
    "arguments",
    [["evaluate", "ab.json", "--worst", "2", "--json"], ["explore", "ab.json", "-o", "page.html"]],
    ids=lambda arguments: arguments[0],
)
def test_no_word_is_longer_than_max_length(short, run, fails, box, arguments):
    run(*arguments, "--against", box, "--max-length", "2")
    assert longest_query(short) == 2
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


def test_evaluate_draws_longer_words_with_max_length(short, run_both):
    seqray.WeightedAutomaton("ab", [1], [[[0.4]], [[0.4]]], [0.5]).save("two.json")
    told = run_both("evaluate", "ab.json", "--against", "two.json", "--max-length", "20", "--json")
    assert "Compared on random words of up to 20 symbols" in told.err


def test_a_word_that_is_too_long_to_explain_is_named(short, fails):
    error = fails(1, "explain", "ab.json", "ababa", "--against", BOXES[1])
    assert "reads words of at most 3 symbols, and 'ababa' has 5" in error
    assert not (short / "longest.txt").exists()


KEY = "k3y-0f-mine"


TINY = ("--prefixes", "10", "--suffixes", "10", "--max-rank", "2")


@pytest.fixture(params=["address", "command"])
def box(request, tmp_path):
    """A box that is given a key."""
    if request.param == "command":
        yield f"cmd:{shlex.join(child_command(tmp_path))} --api-key {KEY}"
    else:
        with serving(LENGTHS) as server:
            yield f"{server.url}?key={KEY}"


def test_a_key_reaches_no_file_and_no_page(folder, run_both, box):
    said = run_both("extract", box, "-o", "run", *TINY)
    said += run_both("explore", "run", "-o", "page.html")
    said += run_both("evaluate", "run", "--against", box)
    said += run_both("store", "info")
    assert KEY not in "".join(said)
    assert '***"' in (folder / "run" / "config.json").read_text()
    made = [*folder.glob("run/*"), *folder.glob(".answers.sqlite*"), folder / "page.html"]
    assert not [path.name for path in made if KEY.encode() in path.read_bytes()]


# Guides -------------------------------------------------------------------------------------------

GUIDE = ".{1,6}"


def test_a_run_is_extracted_and_evaluated_with_one_guide(folder, run_both):
    text = run_both("extract", "machine.json", "-o", "run", *SMALL, "--guide", GUIDE).out
    assert f"The box was guided by '{GUIDE}'." in " ".join(text.split())
    guide = open_run("run").settings.guide
    drawn = ("evaluate", "run", "--against", "machine.json", "--json")
    out, err = run_both(*drawn)
    assert f"Note: the box is guided by '{GUIDE}', as run was." in err
    assert json.loads(out)["zeros"] == 0
    words = seqray.read_words("words.txt", alphabet=guide.alphabet)
    n_allowed = int(guide.allows(words).sum())
    assert 0 < n_allowed < 50
    out, err = run_both(*drawn, "--words", "words.txt")
    assert json.loads(out)["words"] == n_allowed
    assert f"{50 - n_allowed} of 50 words in words.txt are left out: the guide" in err
    out, err = run_both(*drawn, "--words", "words.txt", "--guide", ".*")
    assert json.loads(out)["words"] == 50
    assert "Note" not in err


def test_pages_use_the_guide_of_the_run(folder, run_both, fails):
    run_both("extract", "machine.json", "-o", "run", *SMALL, "--guide", GUIDE)
    err = run_both("explore", "run", "-o", "page.html", "--against", "machine.json").err
    assert f"guided by '{GUIDE}'" in err
    assert "--guide needs a box" in fails(2, "explore", "run", "-o", "b.html", "--guide", GUIDE)


def test_a_guide_may_be_a_file(folder, run):
    symbols = seqray.open_black_box("machine.json").alphabet.symbols
    seqray.regex_dfa(".{1,2}", symbols).save("rules.json")
    text = run("learn", "machine.json", "-o", "pdfa.json", "--guide", "rules.json")
    assert "Complete" in text
    learned = seqray.WeightedAutomaton.load("pdfa.json")
    words = [word for n in range(4) for word in itertools.product(symbols, repeat=n)]
    is_short = [len(word) in (1, 2) for word in words]
    assert ((learned.weights(words) > 0) <= is_short).all()
    assert learned.weights(words).sum() == pytest.approx(1)


def test_check_takes_a_guide(folder, run, fails):
    assert "✗" not in run("check", "machine.json", "--guide", GUIDE)
    error = fails(2, "check", "machine.json", "--guide", "0 (1")
    assert "at position 5, the end: a '(' is not closed: add a ')'" in error


def test_words_that_are_all_forbidden_are_refused(folder, fails):
    arguments = ("evaluate", "machine.json", "--against", "machine.json", "--words", "words.txt")
    assert "forbids all 50 words" in fails(2, *arguments, "--guide", "0{99}")
