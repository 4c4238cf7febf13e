import struct

import numpy as np
import pytest

from seqray.util.errors import FileError
from seqray.util.hdf5 import Hdf5File

h5py = pytest.importorskip("h5py")


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file, and returns it as seqray reads it."""

    def write(make):
        with h5py.File(tmp_path / "file.h5", "w") as file:
            make(file)
        return Hdf5File((tmp_path / "file.h5").read_bytes())

    return write


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", ">f8"])
def test_arrays_come_back(written, dtype):
    array = np.random.default_rng(0).normal(size=(3, 5, 2)).astype(dtype)
    file = written(lambda h5: h5.create_dataset("x", data=array))
    assert (file.array(file.members(file.root)["x"], "x") == array).all()


def test_a_group_may_have_many_members(written):
    def make(h5):
        for i in range(500):
            h5[f"group/{i}"] = np.full(2, float(i))

    file = written(make)
    group = file.members(file.root)["group"]
    assert file.is_group(group)
    members = file.members(group)
    assert sorted(map(int, members)) == list(range(500))
    assert file.array(members["321"], "321").tolist() == [321, 321]


@pytest.mark.parametrize(
    "text", ["", "short", "λ" * 9, "x" * 1_000_000, np.bytes_(b"of fixed length")]
)
def test_texts_come_back(written, text):
    def make(h5):
        for i in range(12):  # so many that the header goes on elsewhere
            h5.attrs[f"other{i}"] = "y" * 100
        h5.attrs["text"] = text

    expected = text.decode() if isinstance(text, bytes) else text
    assert written(make).text("text") == expected


def test_a_text_that_is_missing_is_none(written):
    assert written(lambda h5: None).text("text") is None


@pytest.mark.parametrize("value", [3, 0.5, ["a", "b"], np.array([b"a", b"b"])])
def test_other_attributes_are_no_texts(written, value):
    file = written(lambda h5: h5.attrs.create("text", value))
    with pytest.raises(FileError, match="text: expected one text"):
        file.text("text")


def test_newer_forms_are_refused(tmp_path):
    with h5py.File(tmp_path / "file.h5", "w", libver="latest") as h5:
        h5["x"] = [1.0]
    with pytest.raises(FileError, match=r"newer form of HDF5 \(version [23]\): expected version 0"):
        Hdf5File((tmp_path / "file.h5").read_bytes())


def test_arrays_of_other_types_are_refused(written):
    file = written(lambda h5: h5.create_dataset("x", data=[1, 2]))
    with pytest.raises(FileError, match="x: expected floating-point numbers"):
        file.array(file.members(file.root)["x"], "x")


def test_an_array_that_was_never_written_is_refused(written):
    file = written(lambda h5: h5.create_dataset("x", (3, 4), "f4"))
    with pytest.raises(FileError, match="x: its numbers are not in the file"):
        file.array(file.members(file.root)["x"], "x")


def test_every_place_may_be_damaged(written, tmp_path):
    """No damaged byte does more than raise an error, or change what is read."""

    def make(h5):
        h5["group/x"] = np.ones(3)
        h5.attrs["text"] = "text"

    written(make)
    whole = (tmp_path / "file.h5").read_bytes()
    messages = set()
    for at in range(0, len(whole), 7):
        for value in (0, 1, 255):
            damaged = whole[:at] + bytes([value]) + whole[at + 1 :]
            try:
                file = Hdf5File(damaged)
                file.text("text")
                group = file.members(file.root).get("group", file.root)
                for name, address in file.members(group).items():
                    file.array(address, name)
            except FileError as error:
                messages.add(str(error).partition(":")[0])
    assert "damaged" in messages


def test_a_shape_that_no_array_can_have_is_refused(written, tmp_path):
    written(lambda h5: h5.create_dataset("x", data=np.zeros((3, 77))))
    content = (tmp_path / "file.h5").read_bytes()
    shape, other = struct.pack("<QQ", 3, 77), struct.pack("<QQ", 0, 2**63)
    assert shape in content
    file = Hdf5File(content.replace(shape, other))
    with pytest.raises(FileError, match="more than is in the file"):
        file.array(file.members(file.root)["x"], "x")
