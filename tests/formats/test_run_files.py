import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from seqray.formats.run_files import (
    CONFIG,
    check_run_target,
    has_file,
    is_finished_run,
    is_run,
    opened_run,
    read_run,
    write_run,
)
from seqray.util.errors import ArgumentError, FileError, MissingFileError

CONTENTS = {"basis.json": b"{}", "fidelity.csv": b"rank\n1\n"}


@pytest.fixture
def run(tmp_path):
    write_run(tmp_path / "run", {"rank": 1}, CONTENTS)
    return tmp_path / "run"


def test_files_come_back_as_they_were_written(run):
    config, contents = read_run(run)
    assert config["rank"] == 1
    assert contents == CONTENTS
    with opened_run(run) as opened:
        assert opened == read_run(run)


def test_a_run_is_replaced_and_other_files_stay(run):
    (run / "notes.txt").write_text("mine")
    write_run(run, {"rank": 2}, {"basis.json": b"[]"})
    assert read_run(run).config["rank"] == 2
    assert read_run(run).contents == {"basis.json": b"[]"}
    assert not has_file(run, "fidelity.csv")
    assert (run / "notes.txt").read_text() == "mine"


def test_several_may_save_at_once(run):
    def save(rank):
        for _ in range(15):
            write_run(run, {"rank": rank}, CONTENTS)

    with ThreadPoolExecutor(4) as threads:
        for each in [threads.submit(save, rank) for rank in range(4)]:
            each.result()
    assert read_run(run).config["rank"] in range(4)
    assert sorted(each.name for each in run.iterdir()) == sorted([*CONTENTS, CONFIG])


@pytest.mark.parametrize("change", [lambda t: t[:90], lambda t: t.replace(b"rank", b"r\xffnk")])
def test_a_damaged_description_is_named(run, change):
    (run / CONFIG).write_bytes(change((run / CONFIG).read_bytes()))
    with pytest.raises(FileError, match=r"run: config\.json: "), opened_run(run):
        pass


def test_a_folder_is_a_run_by_its_format(run, tmp_path):
    assert is_run(run)
    assert not is_run(tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps({"format": "another"}))
    assert not is_run(tmp_path)
    with pytest.raises(ArgumentError, match="is no run folder: choose another name"):
        check_run_target(tmp_path)


def test_a_run_is_finished_unless_it_was_interrupted(run, tmp_path):
    assert is_finished_run(run)
    assert not is_finished_run(tmp_path)
    write_run(run, {"stop_reason": "budget"}, CONTENTS)
    assert is_finished_run(run)
    write_run(run, {"stop_reason": "interrupted"}, CONTENTS)
    assert is_run(run)
    assert not is_finished_run(run)


def test_a_damaged_file_is_named_with_its_folder(run):
    (run / "basis.json").write_bytes(b"{ }")
    with (
        pytest.raises(FileError, match=r"run: damaged: basis\.json is not what was saved"),
        opened_run(run),
    ):
        pass


def test_what_is_wrong_while_a_run_is_open_names_the_folder(run):
    with (
        pytest.raises(FileError, match="run: damaged: it has no 'words'"),
        opened_run(run) as opened,
    ):
        opened.config["words"]


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(MissingFileError, match="none: there is no such folder"):
        opened_run(tmp_path / "none").__enter__()
    with pytest.raises(FileError, match=r"expected a run folder .*, and it has no config\.json"):
        opened_run(tmp_path).__enter__()
