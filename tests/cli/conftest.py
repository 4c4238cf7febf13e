"""What the tests of every command share."""

import numpy as np
import pytest

import seqray
from seqray import cli
from seqray.data.generate import random_machine

RUN = ["automaton.npz", "basis.json", "config.json", "fidelity.csv", "singular_values.csv"]
SMALL = ("--prefixes", "60", "--suffixes", "60")


@pytest.fixture(scope="module")
def machine():
    return random_machine("pfa", 4, 3, rng=np.random.default_rng(1))


@pytest.fixture
def folder(machine, tmp_path, monkeypatch):
    """A folder to work in, with a machine and a file of words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    machine.save("machine.json")
    seqray.write_words(machine.sample(50, rng=np.random.default_rng(2)), "words.txt")
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run a command that succeeds; returns what it printed."""

    def call(*arguments):
        cli.main(list(map(str, arguments)))
        return capsys.readouterr().out

    return call


@pytest.fixture
def fails(capsys):
    """Run a command that fails; returns what it printed as an error."""

    def call(code, *arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main(list(map(str, arguments)))
        error = capsys.readouterr().err
        assert stopped.value.code == code, error
        assert "Traceback" not in error
        return " ".join(error.split())

    return call


@pytest.fixture
def extracted(folder, run):
    run("extract", "wa:machine.json", "-o", "run", *SMALL)
    return folder
