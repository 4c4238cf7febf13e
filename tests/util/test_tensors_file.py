import numpy as np
import pytest
from safetensors.numpy import save

from seqray.util.errors import FileError
from seqray.util.tensors_file import opened_tensors, write_tensors


def test_arrays_and_their_header_come_back(tmp_path):
    path = tmp_path / "net.safetensors"
    write_tensors(path, {"a": np.arange(3.0)}, {"format": "x", "sizes": [1, 2]})
    with opened_tensors(path) as (header, file):
        assert header == {"format": "x", "sizes": [1, 2]}
        assert file.get_tensor("a").tolist() == [0, 1, 2]


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_tensors(tmp_path / name, {"a": np.ones(3), "b": np.ones(2)}, {"format": "x"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("at", [-1, -9, -17])
def test_a_changed_number_is_refused(tmp_path, at):
    path = tmp_path / "net.safetensors"
    write_tensors(path, {"a": np.arange(3.0)}, {"format": "x"})
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match="damaged: it is not what was saved"), opened_tensors(path):
        pass


def test_files_without_a_checksum_or_a_header_open(tmp_path):
    (tmp_path / "old").write_bytes(save({"a": np.ones(1)}, {"seqray": '{"format": "x"}'}))
    with opened_tensors(tmp_path / "old") as (header, _):
        assert header == {"format": "x"}
    (tmp_path / "plain").write_bytes(save({"a": np.ones(1)}))
    with opened_tensors(tmp_path / "plain") as (header, _):
        assert header is None


def test_other_files_are_no_safetensors(tmp_path):
    (tmp_path / "other").write_bytes(b"words")
    with pytest.raises(ValueError, match="no safetensors file"), opened_tensors(tmp_path / "other"):
        pass
