import os
import subprocess
import sys

import pytest

import seqray
from seqray import cli


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


@pytest.mark.parametrize(
    ("misspelt", "hint"), [("extrct", "Did you mean extract?"), ("lern", "Did you mean learn?")]
)
def test_a_misspelt_command_is_answered_with_similar_ones(fails, misspelt, hint):
    assert f"No such command '{misspelt}'. {hint}" in fails(2, misspelt)


def test_nothing_is_suggested_for_a_command_that_is_like_none(fails):
    message = fails(2, "xyzzy")
    assert "No such command 'xyzzy'." in message
    assert "Did you mean" not in message
