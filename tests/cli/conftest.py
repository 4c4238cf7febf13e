"""What the tests of every command share."""

import contextlib
import shutil
import sys

import numpy as np
import pytest

import seqray
from seqray import cli
from seqray.automata.generators import random_machine

SMALL = ("--prefixes", "60", "--suffixes", "60", "--max-rank", "4")


@pytest.fixture(scope="session")
def machine():
    return random_machine("pfa", 4, 3, seed=np.random.default_rng(1))


@pytest.fixture
def folder(machine, tmp_path, monkeypatch, hasty):
    """A folder to work in, with a machine and a file of words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    machine.save("machine.json")
    seqray.write_words(machine.sample(50, seed=np.random.default_rng(2)).words, "words.txt")
    return tmp_path


@pytest.fixture
def prefix():
    """What every command begins with: a module about one command names it here, once."""
    return ()


@pytest.fixture
def run_both(capsys, prefix):
    """Run a command that succeeds; returns what it printed, and what on standard error."""

    def call(*arguments):
        cli.main([*prefix, *map(str, arguments)])
        return capsys.readouterr()

    return call


@pytest.fixture
def run(run_both):
    """Run a command that succeeds; returns what it printed."""
    return lambda *arguments: run_both(*arguments).out


@pytest.fixture
def fails(capsys, prefix):
    """Run a command that fails; returns what it printed as an error."""

    def call(code, *arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main([*prefix, *map(str, arguments)])
        error = capsys.readouterr().err
        assert stopped.value.code == code, error
        assert "Traceback" not in error
        return " ".join(error.split())

    return call


@pytest.fixture(scope="session")
def run_folder(machine, tmp_path_factory):
    """A run folder as `seqray extract` leaves it: made once, for `extracted` to copy."""
    folder = tmp_path_factory.mktemp("extracted")
    with contextlib.chdir(folder):
        machine.save("machine.json")
        cli.main(["extract", "wa:machine.json", "-o", "run", *SMALL])
    return folder / "run"


@pytest.fixture
def extracted(folder, run_folder):
    shutil.copytree(run_folder, folder / "run")
    return folder


MODULE = """
import time
import seqray

def answer(words):
    with open("queried.txt", "a") as file:
        file.writelines(word + "\\n" for word in words)
    time.sleep(PAUSE * len(words))
    return [0.25 ** len(word) * (1 + word.count("a")) for word in words]

box = seqray.black_box(answer, "ab", name="mine", batch_size=16)
"""


@pytest.fixture
def module(folder, monkeypatch):
    """A module with a box, that writes down its queries."""
    monkeypatch.delitem(sys.modules, "slow_box", raising=False)

    def write(pause=0.0):
        (folder / "slow_box.py").write_text(MODULE.replace("PAUSE", str(pause)))
        return "python:slow_box:box"

    yield write
    sys.modules.pop("slow_box", None)
