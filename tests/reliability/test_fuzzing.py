"""Inputs that fail are kept, and read again."""

import importlib.util
import json
import subprocess
import sys

import pytest

from reliability.campaigns import _fuzzing
from reliability.campaigns._fuzzing import Watch, kept_folder, kept_inputs, mutated
from seqray.util.errors import FileError


@pytest.fixture
def kept(monkeypatch, tmp_path):
    monkeypatch.setattr(_fuzzing, "KEPT_INPUTS", tmp_path / "kept")


def refuse(content):
    if content == b"worse":
        raise ValueError(content)
    if content != b"good":
        raise FileError("no good") if content == b"bad" else KeyError(content)


@pytest.mark.usefixtures("kept")
def test_an_input_that_fails_is_kept_once_and_named():
    watch = Watch(refuse, kept_folder("words: text"))
    for number, content in enumerate((b"good", b"bad", b"odd", b"odder", b"worse")):
        watch(content, number)
    assert sorted(file.read_bytes() for file in kept_inputs("words: text")) == [b"odd", b"worse"]
    assert [file.parent.name for file in kept_inputs("words: text")] == ["words-text"] * 2
    row = watch.row("words: text", 0)
    assert (row["n"], row["figures"]["refused"], len(row["failures"])) == (5, 1, 2)
    for file in kept_inputs("words: text"):
        assert sum(f"(words-text/{file.name})" in failure for failure in row["failures"]) == 1


def test_an_input_that_fails_in_a_short_run_is_named_by_its_number_only():
    watch = Watch(refuse)
    watch(b"odd", 17)
    (failure,) = watch.row("words: text", 0)["failures"]
    assert failure.startswith("input 17: KeyError at test_fuzzing.py:")


@pytest.mark.usefixtures("kept")
def test_inputs_that_once_failed_are_read_first(tmp_path):
    for content in (b"{", b'{"version": 1}'):
        _fuzzing.keep(content, kept_folder("card"))
    report = tmp_path / "report"
    mutated(report, "0", 3, 60, ["card"])
    row = json.loads(report.read_text())
    assert (row["name"], row["n"], row["failures"]) == ("card", 5, [])


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs Atheris")
@pytest.mark.slow(reason="instruments all of seqray")
def test_atheris_makes_inputs_that_reach_more_lines(tmp_path):
    report = tmp_path / "report"
    arguments = ["guided", str(report), "0", "400", "60", "sizes of memory"]
    subprocess.run(
        [sys.executable, "-m", "reliability.campaigns._fuzzing", *arguments],
        check=True,
        capture_output=True,
    )
    row = json.loads(report.read_text())
    assert (row["name"], row["n"], row["failures"]) == ("guided: sizes of memory", 400, [])
    assert row["figures"]["reach more"] > 0
    assert 0 < row["figures"]["refused"] < 400
