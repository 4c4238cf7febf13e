import io
import json
import zipfile

import numpy as np
import pytest

from memory import peak_bytes
from seqray import WeightedAutomaton
from seqray.blackbox.native.taysir import load_taysir
from seqray.util.errors import FileError
from seqray.util.files import MAX_NUMBERS
from seqray.util.npz import NpzArrays, npz_bytes


def npy_header(shape, descr="<f8"):
    """Return the beginning of an npy file that promises a shape."""
    header = str({"descr": descr, "fortran_order": False, "shape": shape})
    return npy_file(header)


def npy_file(header):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def npz_of(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, content in members.items():
            packed.writestr(f"{name}.npy", content)
    return file.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4)),
        np.array("text é"),
        np.zeros((0, 3), np.float32),
        np.array([True, False]),
    ],
)
def test_arrays_come_back_as_they_were(array):
    found = NpzArrays(npz_bytes({"array": array, "other": np.ones(3)}))["array"]
    np.testing.assert_array_equal(found, array, strict=True)


def test_an_array_that_is_missing_is_a_key_error():
    with pytest.raises(KeyError, match="final"):
        NpzArrays(npz_bytes({"initial": np.ones(1)}))["final"]


def test_what_nobody_asks_for_is_not_read():
    arrays = NpzArrays(
        npz_of({"bomb": npy_header((2**20,)) + bytes(2**23), "end": npy_header((1,)) + bytes(8)})
    )
    assert peak_bytes(lambda: arrays["end"]) < 2**21


@pytest.mark.parametrize("shape", [(MAX_NUMBERS + 1,), (2**30, 2**30, 2**30)])
def test_a_shape_beyond_the_limit_is_refused_before_its_numbers_are_read(shape):
    with pytest.raises(FileError, match=r"transitions would need [\d,]+ numbers, more than the"):
        NpzArrays(npz_of({"transitions": npy_header(shape) + bytes(99)}))["transitions"]


def test_all_arrays_together_keep_the_limit():
    half = npy_header((MAX_NUMBERS // 2 + 1,))
    arrays = NpzArrays(npz_of({"one": half, "two": half}))
    with pytest.raises(ValueError, match="one is not as long as"):
        arrays["one"]
    with pytest.raises(FileError, match="more than the limit of 67,108,864"):
        arrays["two"]


def test_a_file_that_is_really_large_may_hold_more(monkeypatch):
    monkeypatch.setattr("seqray.util.npz.MAX_NUMBERS", 8)
    rng = np.random.default_rng(0)
    content = npz_bytes({"dense": rng.random(10_000), "zeros": np.zeros(10**6)})
    assert len(NpzArrays(content)["dense"]) == 10_000
    with pytest.raises(FileError, match="would need 1,000,000 numbers"):
        NpzArrays(content)["zeros"]


@pytest.mark.parametrize(
    "member",
    [
        npy_header((9,)) + bytes(8),
        npy_header((1,)) + bytes(16),
        npy_header((-1,)) + bytes(8),
        npy_header((1,), "|O") + bytes(8),
        npy_header((1,), "<c16") + bytes(16),
        npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,"),  # TokenError
        npy_file("("),
        npy_file("(" * 9000 + ")" * 9000),  # MemoryError of Python's parser
        npy_file("1 +"),
        npy_file("\0"),
        b"\x93NUMPY\x09\x00",
        b"",
    ],
)
def test_odd_members_are_clear_errors(member, tmp_path):
    machine = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    machine.save(tmp_path / "wa.npz")
    with zipfile.ZipFile(tmp_path / "wa.npz") as packed:
        members = {name[:-4]: packed.read(name) for name in packed.namelist()}
    for name in members:
        (tmp_path / "bad.npz").write_bytes(npz_of({**members, name: member}))
        with pytest.raises(FileError, match=r"bad\.npz: "):
            WeightedAutomaton.load(tmp_path / "bad.npz")


def test_other_packings_are_refused(tmp_path):
    (tmp_path / "wa.npz").write_bytes(npz_of({"header": b"x" * 99}, zipfile.ZIP_LZMA))
    with pytest.raises(FileError, match="header is packed by method 14: expected deflate"):
        WeightedAutomaton.load(tmp_path / "wa.npz")


def test_members_that_an_automaton_does_not_need_cost_nothing(tmp_path):
    machine = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    machine.save(tmp_path / "wa.npz")
    with zipfile.ZipFile(tmp_path / "wa.npz", "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("bomb.npy", npy_header((2**22,)) + bytes(2**25))
    assert peak_bytes(lambda: WeightedAutomaton.load(tmp_path / "wa.npz")) < 2**22


def test_members_that_a_network_does_not_need_cost_nothing(tmp_path):
    config = {"cell": "RNN", "n_layers": 1, "alphabet": 3, "start": 1, "end": 2}
    config |= {"dense": ["Linear", "Sigmoid", "Softmax"], "bidirectional": False}
    (tmp_path / "config.json").write_text(json.dumps(config))
    shapes = {"weight_ih": (4, 3), "weight_hh": (4, 4), "bias_ih": 4, "bias_hh": 4}
    arrays = {f"mach[0].{name}_l0": np.zeros(shape) for name, shape in shapes.items()}
    arrays |= {"dense.0.weight": np.zeros((3, 4)), "dense.0.bias": np.zeros(3)}
    np.savez_compressed(tmp_path / "weights.npz", bomb=np.zeros(2**22), **arrays)
    assert peak_bytes(lambda: load_taysir(tmp_path)) < 2**22
