import gzip
import zipfile
from contextlib import nullcontext

import pytest

from seqray.util.errors import FileError, MissingFileError
from seqray.util.streams import FREE_BYTES, check_growth, check_zip, open_stream, read_stream


@pytest.mark.parametrize("content", [b"", b"a", b"abc\n" * 100_000])
def test_compressed_or_not_the_content_is_the_same(tmp_path, content):
    path = tmp_path / "file"
    for written in (content, gzip.compress(content)):
        path.write_bytes(written)
        assert read_stream(path) == content
        with open_stream(path) as stream:
            assert stream.peek(1)[:1] == content[:1]
            assert b"".join(stream) == content


def test_content_that_grows_far_too_much_is_refused(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\0" * (FREE_BYTES + 2**20)))
    with pytest.raises(FileError, match=r"bomb.gz: .* compressed bytes grow to .* decompress it"):
        read_stream(path)


@pytest.mark.parametrize("size", [2**20, 2**27])
def test_an_archive_that_grows_far_too_much_is_refused(tmp_path, size):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", bytes(size))
    with pytest.raises(FileError, match="grow to") if size > 2**26 else nullcontext():
        check_zip(path)
    path.write_bytes(b"no archive")
    check_zip(path)


def test_a_small_file_may_grow_a_lot():
    check_growth(FREE_BYTES, 10)
    check_growth(300 * FREE_BYTES, FREE_BYTES)
    with pytest.raises(FileError, match="over 300 times as many"):
        check_growth(300 * FREE_BYTES + 1, FREE_BYTES)


def test_damaged_and_missing_files_are_named(tmp_path):
    path = tmp_path / "file.gz"
    with pytest.raises(MissingFileError, match=r"file.gz: there is no such file"):
        read_stream(path)
    path.write_bytes(gzip.compress(b"abc")[:-9] + b"\0" * 9)
    with pytest.raises(FileError, match=r"file.gz: not a table, or damaged: .*: get the file"):
        read_stream(path, "a table")
    with pytest.raises(FileError, match="a folder: expected a table; give the path of a file"):
        read_stream(tmp_path, "a table")


def test_text_that_is_not_utf8_is_an_error_of_the_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\xff")
    wanted = "file: expected UTF-8 text, byte 0 is not"
    with pytest.raises(FileError, match=wanted), open_stream(path) as stream:
        stream.read().decode()
