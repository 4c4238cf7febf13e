import json
import os
import subprocess
import sys

import numpy as np
import pytest

import seqray
from listing import names
from seqray import WeightedAutomaton, cli, open_run
from seqray.cli import common


def test_the_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "seqray", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""
    for command, text in cli.COMMANDS.items():
        assert command in done.stdout
        assert text.split()[0] in done.stdout


def test_help_lists_the_commands_in_the_order_of_their_use(run):
    text = run("--help")
    places = [text.index(f"\n  {command} ") for command in cli.COMMANDS]
    assert places == sorted(places)
    assert cli.cli.list_commands(None) == list(cli.COMMANDS)


def test_the_version_is_printed(run):
    assert run("--version").strip() == f"seqray, version {seqray.__version__}"


@pytest.mark.parametrize("command", [name for name in cli.COMMANDS if name != "demo"])
def test_every_command_has_help_with_examples(run, command):
    text = run(command, "-h")
    assert "Examples:" in text
    assert f"seqray {command}" in text


def test_an_unknown_command_is_misuse(fails):
    assert "No such command 'extrct'" in fails(2, "extrct")


# What commands share ------------------------------------------------------------------------------


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


def test_evaluate_says_when_the_alphabets_differ(tmp_path, fails):
    other, words = tmp_path / "other.json", tmp_path / "words.txt"
    seqray.WeightedAutomaton("xy", [1], [[[0.25]], [[0.25]]], [0.5]).save(other)
    words.write_text("ab\n")
    error = fails(2, "evaluate", other, "--against", "demo", "--words", words)
    assert "expected the same symbols" in error


@pytest.mark.parametrize("arguments", [("--help",), ("data",)])
def test_a_full_disk_behind_standard_output_is_a_clear_error(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "seqray", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "Error: cannot write the output: No space left on device\n"


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("draw", LONG, "-o", "a.svg"),
        ("draw", "machine.json", "-o", f"{LONG}.svg"),
        ("convert", LONG, "a.json"),
        ("explain", LONG, "ab"),
        ("explore", LONG, "-o", "a.html"),
        ("evaluate", LONG, "--against", "demo"),
        ("check", f"torch:{LONG}"),
        ("check", f"onnx:{LONG}"),
        ("extract", "demo", "-o", LONG),
        ("extract", "demo", "-o", "run", "--basis", LONG),
        ("data", "check", "--data", LONG),
        ("data", "generate", "-o", LONG),
        ("store", "info", "--store", LONG),
    ],
    ids=lambda arguments: " ".join(each[:20] for each in arguments),
)
def test_a_path_that_is_too_long_is_a_clear_error(folder, fails, arguments):
    assert "File name too long" in fails(1, *arguments)


def test_a_name_that_is_no_text_can_be_printed(folder):
    name = os.fsdecode(b"r\xff.json")
    done = subprocess.run(
        [sys.executable, "-m", "seqray", "convert", "machine.json", name],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"r\\udcff.json: 4 states, 3 symbols\n"
    assert (folder / name).is_file()
