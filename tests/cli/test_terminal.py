"""What is printed: symbols as they are, on every terminal, apart from what a box prints."""

import io
import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

import seqray
from seqray import WeightedAutomaton, cli
from seqray.cli.common import json_line
from seqray.cli.console import console
from seqray.parallel.executor import Here

ODD = ["[/x]", "[bold]", ":smile:", "漢", "é"]
PRINTING = """
import os
import seqray

print("imported")

def answer(words):
    print("asked", len(words), flush=True)
    os.write(1, b"from below\\n")
    return [0.25 ** len(word) for word in words]

box = seqray.black_box(answer, "ab", name="mine")
"""


@pytest.fixture
def odd(folder):
    """A folder with an automaton whose symbols, and whose file's name, look like markup."""
    wa = WeightedAutomaton(ODD, [1, 0], [[[0.1, 0.05], [0, 0.1]]] * 5, [0.25, 0.5])
    wa.save("w[bold].json")
    (folder / "words.jsonl").write_text(json.dumps(ODD[:2]) + "\n" + json.dumps(ODD) + "\n")
    return folder


@pytest.fixture
def printing(folder, monkeypatch):
    """A box that prints, and an automaton to compare it with."""
    monkeypatch.delitem(sys.modules, "printing", raising=False)
    (folder / "printing.py").write_text(PRINTING)
    WeightedAutomaton("ab", [1], [[[0.25]], [[0.25]]], [1]).save("ab.json")
    return "python:printing:box"


def test_symbols_and_paths_are_shown_as_they_are(odd, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = run("evaluate", "w[bold].json", "--against", "w[bold].json", "--worst", "2")
    assert "w[bold].json (2 states) against w[bold].json" in text
    run("extract", "w[bold].json", "-o", "run", "--prefixes", "40", "--max-rank", "2")
    text = run("explain", "run", *ODD[:3])
    for symbol in ODD[:3]:
        assert symbol in text
    assert "w[bold].json" in run("check", "w[bold].json")
    assert ":smile:" in run("evaluate", "run", "--against", "w[bold].json", "--worst", "9")


def test_tables_read_no_markup(capsys):
    console().print("[/x] [bold] :smile:")
    assert capsys.readouterr().out == "[/x] [bold] :smile:\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_lacks_a_sign_is_no_trouble(odd, monkeypatch, encoding):
    def printed(*arguments):
        terminal = io.TextIOWrapper(io.BytesIO(), encoding)
        monkeypatch.setattr(sys, "stdout", terminal)
        cli.main(arguments)
        terminal.flush()
        return terminal.buffer.getvalue()

    text = printed("explain", "w[bold].json", *ODD).decode(encoding)
    assert "\\u6f22" in text
    assert "+  empty word" in printed("check", "w[bold].json").decode(encoding)
    document = printed("explain", "w[bold].json", *ODD, "--json").decode("ascii")
    assert json.loads(document)["word"] == ODD


def test_json_escapes_what_standard_output_lacks(monkeypatch):
    assert json_line({"word": ["漢"]}) == '{"word": ["漢"]}'
    monkeypatch.setattr("seqray.cli.common.can_show", lambda text: text.isascii())
    assert json_line({"word": ["漢"]}) == '{"word": ["\\u6f22"]}'


def test_what_a_box_prints_goes_to_standard_error(printing):
    command = [sys.executable, "-m", "seqray", "check", printing, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)
    for text in ("imported", "asked", "from below"):
        assert text in done.stderr


@pytest.mark.parametrize(
    "command",
    [["evaluate", "ab.json"], ["explain", "ab.json", "ab"]],
    ids=lambda command: command[0],
)
def test_json_is_whole_where_a_box_prints(printing, run_both, command):
    told = run_both(*command, "--against", printing, "--json")
    assert json.loads(told.out)
    assert "asked" in told.err


def test_json_is_whole_where_workers_print_that_start_with_their_executor(
    printing, monkeypatch, capfd
):
    @contextmanager
    def noisy(given):
        subprocess.run([sys.executable, "-c", "print('from a worker')"], check=True)
        yield Here()

    monkeypatch.setattr("seqray.cli.evaluate.opened_executor", noisy)
    cli.main(["evaluate", "ab.json", "--against", printing, "--json", "--executor", "dask"])
    told = capfd.readouterr()
    assert json.loads(told.out)
    assert "from a worker" in told.err


def test_the_output_of_extract_is_whole_where_a_box_prints(printing, run_both):
    told = run_both("extract", printing, "-o", "run", "--prefixes", "9", "--suffixes", "9")
    assert told.out.startswith("Queried ")
    assert "asked 16" in told.err
    assert seqray.open_run("run").max_rank == 1


def test_a_closed_pipe_ends_a_command_quietly(odd):
    command = [sys.executable, "-m", "seqray", "explain", "w[bold].json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
