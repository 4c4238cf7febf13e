import json
import subprocess

import numpy as np
import pytest

from seqray.util.checksums import check_beside, of_arrays, opened_json, path_beside, sealed_json
from seqray.util.errors import FileError
from seqray.util.files import writing


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_comes_back_and_any_other_byte_is_refused(indent):
    content = sealed_json({"name": "λ", "values": [0.5, None]}, indent)
    assert opened_json(content) == {"name": "λ", "values": [0.5, None]}
    assert opened_json(content.replace(b"\n", b"\r\n")) == opened_json(content)
    with pytest.raises(FileError, match=r"damaged: it is not what was saved .* expected '\w{8}'"):
        opened_json(content.replace(b"0.5", b"0.7"))


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_may_be_indented_anew_but_not_changed(indent):
    content = sealed_json({"name": "λ", "values": [0.5, 1e-7, None], "n": 1.0}, indent)
    for other in (None, 0, 4, "\t"):
        anew = json.dumps(json.loads(content), indent=other)
        assert opened_json(anew.encode()) == opened_json(content)
        with pytest.raises(FileError, match="damaged: it is not what was saved"):
            opened_json(anew.replace("0.5", "0.6").encode())


def test_documents_without_a_checksum_open():
    assert opened_json(b'{"a": 1}') == {"a": 1}
    assert opened_json(b"[1]") == [1]


def test_the_last_checksum_of_a_document_counts():
    document = {"a": {"checksum": ""}, "b": ""}
    assert opened_json(sealed_json(document)) == document


def test_arrays_differ_by_name_type_shape_and_number():
    first = {"a": np.zeros(2)}
    others = (
        {"b": np.zeros(2)},
        {"a": np.zeros(2, int)},
        {"a": np.zeros((1, 2))},
        {"a": np.ones(2)},
    )
    assert of_arrays(first, "") == of_arrays({"a": np.zeros(4)[::2]}, "")
    assert len({of_arrays(each, "") for each in (first, *others)} | {of_arrays(first, "x")}) == 6


def test_a_file_with_a_checksum_beside_it_is_checked(tmp_path):
    path = tmp_path / "words.txt"
    with writing(path, with_checksum=True) as fresh:
        fresh.write_text("ab\n")
    check_beside(path)
    path.write_text("ba\n")
    with pytest.raises(FileError, match=r"words.txt: damaged.*, remove words\.txt\.sha256"):
        check_beside(path)
    with writing(path, with_checksum=True) as fresh:
        fresh.write_text("b\n")
    check_beside(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["words.txt", "words.txt.sha256"]


def test_sha256sum_checks_it_too(tmp_path):
    with writing(tmp_path / "words.txt", with_checksum=True) as fresh:
        fresh.write_text("ab\n")
    subprocess.run(["sha256sum", "--check", "words.txt.sha256"], cwd=tmp_path, check=True)


def test_without_a_checksum_or_a_file_nothing_is_checked(tmp_path):
    (tmp_path / "words.txt").write_text("ab\n")
    check_beside(tmp_path / "words.txt")
    path_beside(tmp_path / "gone.txt").write_text("0  gone.txt\n")
    check_beside(tmp_path / "gone.txt")


def test_a_write_that_is_cut_short_leaves_no_checksum_of_another_file(tmp_path, monkeypatch):
    path = tmp_path / "words.txt"
    with writing(path, with_checksum=True) as fresh:
        fresh.write_text("ab\n")

    def die(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("seqray.util.files.line_beside", die)
    with pytest.raises(KeyboardInterrupt), writing(path, with_checksum=True) as fresh:
        fresh.write_text("ba\n")
    assert path.read_text() == "ba\n"
    check_beside(path)
