import json

import pytest

from seqray import ArgumentError, FileError
from seqray.formats.run_files import check_run_target, has_file, is_run, read_run, write_run

CONTENTS = {"basis.json": b"{}", "automaton.npz": b"\x00\x01"}


@pytest.fixture
def folder(tmp_path):
    write_run(tmp_path / "run", {"rank": 3}, CONTENTS)
    return tmp_path / "run"


def test_a_run_comes_back_as_it_was(folder):
    run = read_run(folder)
    assert run.config["rank"] == 3
    assert run.contents == CONTENTS
    assert has_file(folder, "basis.json")
    assert not has_file(folder, "fitted.npz")


def test_a_run_replaces_a_run_and_leaves_other_files(folder):
    (folder / "notes.txt").write_text("mine")
    write_run(folder, {"rank": 4}, {"basis.json": b"[]"})
    assert read_run(folder).config["rank"] == 4
    assert read_run(folder).contents == {"basis.json": b"[]"}
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["basis.json", "config.json"])
def test_a_changed_file_is_noticed(folder, name):
    content = (folder / name).read_text()
    (folder / name).write_text(content.replace("3", "4") if "3" in content else content + " ")
    with pytest.raises(FileError):
        read_run(folder)


def test_only_a_run_is_a_run(folder, tmp_path):
    assert is_run(folder)
    (tmp_path / "config.json").write_text(json.dumps({"format": "other"}))
    assert not is_run(tmp_path)
    assert not is_run(tmp_path / "none")


def test_a_folder_with_something_else_is_not_written_to(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ArgumentError, match="no run folder"):
        check_run_target(tmp_path)
    with pytest.raises(ArgumentError, match="there is no folder"):
        check_run_target(tmp_path / "none" / "run")
