import errno
import os
from pathlib import Path

import pytest

from seqray.util.errors import ArgumentError, FileError, MissingFileError
from seqray.util.files import check_header, check_writable, read_bytes, read_text, writing


def write_folder(path, **files):
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text)


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_file_appears_only_when_the_block_has_ended(tmp_path):
    target = tmp_path / "note.txt"
    with writing(target) as fresh:
        fresh.write_text("new")
        assert fresh.name == target.name
        assert not target.exists()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["note.txt"]


def test_an_existing_file_is_replaced(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")
    with writing(str(target)) as fresh:
        fresh.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_an_exception_leaves_the_target_as_it_was_and_nothing_beside_it(tmp_path):
    target = tmp_path / "note"
    target.write_text("old")

    def fail():
        with writing(target) as fresh:
            fresh.write_text("new")
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        fail()
    assert content(tmp_path) == {"note": "old"}


def test_a_full_disk_becomes_a_file_error_that_names_the_file(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")

    def fill_the_disk():
        with writing(target) as fresh:
            fresh.write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FileError, match=r"note\.txt: cannot be written: No space left on device"):
        fill_the_disk()
    assert content(tmp_path) == {"note.txt": "old"}


def enter(path):
    with writing(path) as fresh:
        fresh.write_text("new")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"file/note: cannot write here: Not a directory"):
        enter(tmp_path / "file" / "note")
    with pytest.raises(FileError, match=r"missing/note: cannot write here: No such file"):
        enter(tmp_path / "missing" / "note")


def test_a_file_does_not_replace_a_folder(tmp_path):
    write_folder(tmp_path / "run", a="old")
    with pytest.raises(FileError, match="run: cannot be written: Is a directory"):
        enter(tmp_path / "run")
    assert content(tmp_path / "run") == {"a": "old"}


@pytest.mark.parametrize("exists", [False, True])
def test_a_file_is_written_through_a_link(tmp_path, exists):
    (tmp_path / "disk").mkdir()
    (tmp_path / "note").symlink_to("disk/note")
    if exists:
        (tmp_path / "disk" / "note").write_text("old")
    enter(tmp_path / "note")
    assert os.readlink(tmp_path / "note") == "disk/note"
    assert content(tmp_path / "disk") == {"note": "new"}


def test_permissions_are_kept(tmp_path):
    (tmp_path / "note").touch()
    os.chmod(tmp_path / "note", 0o600)
    enter(tmp_path / "note")
    assert (tmp_path / "note").stat().st_mode & 0o777 == 0o600


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    enter(tmp_path / ("x" * 255))
    assert content(tmp_path) == {"x" * 255: "new"}


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\ud800"])
def test_names_that_no_file_can_have_are_clear_errors(tmp_path, name):
    for use in (enter, check_writable, read_bytes, read_text):
        with pytest.raises(FileError, match=r"cannot write here|cannot be"):
            use(tmp_path / name)
    assert not os.listdir(tmp_path)


def test_a_device_is_written_to_and_stays(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(FileError, match="full: cannot be written: No space left on device"):
        enter(tmp_path / "full")
    (tmp_path / "null").symlink_to("/dev/null")
    check_writable(tmp_path / "null")
    enter(tmp_path / "null")
    assert not Path("/dev/null").is_file()
    assert not Path("/dev/full").is_file()


def test_a_place_can_be_checked_before_the_work(tmp_path):
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    check_writable(tmp_path / "new")
    assert content(tmp_path) == {"old": "old"}
    for place, message in ((tmp_path, "Is a directory"), (tmp_path / "old" / "new", "Not a dir")):
        with pytest.raises(FileError, match=f"cannot write here: {message}"):
            check_writable(place)


def test_text_that_utf_8_cannot_hold_is_a_clear_error(tmp_path):
    def write():
        with writing(tmp_path / "note") as fresh:
            fresh.write_text("\ud800", "utf-8")

    with pytest.raises(FileError, match=r"note: cannot be written: .* surrogates not allowed"):
        write()
    assert not os.listdir(tmp_path)


def test_a_block_that_writes_nothing_is_an_error(tmp_path):
    def nothing():
        with writing(tmp_path / "note"):
            pass

    with pytest.raises(FileError, match="note: cannot be written: No such file"):
        nothing()
    assert not os.listdir(tmp_path)


def test_reading_says_which_file_cannot_be_read(tmp_path):
    (tmp_path / "text").write_bytes("λ".encode())
    assert read_text(tmp_path / "text") == "λ"
    assert read_bytes(str(tmp_path / "text")) == b"\xce\xbb"
    for read in (read_bytes, read_text):
        with pytest.raises(MissingFileError, match=r"missing: there is no such file$"):
            read(tmp_path / "missing")
    with pytest.raises(FileError, match="a folder: expected a file; give the path"):
        read_text(tmp_path)
    (tmp_path / "latin").write_bytes(b"ab\xe9")
    with pytest.raises(FileError, match="latin: expected UTF-8 text, byte 2 is not"):
        read_text(tmp_path / "latin")


def test_a_missing_file_is_a_wrong_argument_too():
    assert issubclass(MissingFileError, FileError)
    assert issubclass(MissingFileError, ArgumentError)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([1], "expected a file in format 'thing', got 'list'"),
        ({}, "expected a file in format 'thing', got None"),
        ({"format": "other"}, "expected a file in format 'thing', got 'other'"),
        ({"format": "thing"}, "version None is not a version number"),
        ({"format": "thing", "version": "1"}, "version '1' is not a version number"),
        ({"format": "thing", "version": 0}, "version 0 is not a version number"),
        (
            {"format": "thing", "version": 3},
            r"newer seqray \(version 3 .* up to 2\): install a newer",
        ),
    ],
)
def test_a_header_of_another_format_or_newer_is_refused(document, message):
    with pytest.raises(FileError, match=message):
        check_header(document, "thing", 2)


def test_a_header_up_to_the_known_version_is_taken():
    check_header({"format": "thing", "version": 1}, "thing", 2)
    check_header({"format": "thing", "version": 2}, "thing", 2)
