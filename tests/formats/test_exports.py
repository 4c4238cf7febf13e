"""Automata are written in the format that the file's ending names."""

import pytest

from automata import FIGURE_1
from seqray import StructuredAutomaton
from seqray.automata import structured
from seqray.automata.generators import random_structured
from seqray.formats.automaton_file import open_wa
from seqray.formats.exports import EXPORTS
from seqray.util.errors import FileError


@pytest.fixture(params=EXPORTS)
def suffix(request):
    if request.param == ".onnx":
        pytest.importorskip("onnx")
    return request.param


def test_every_format_writes_a_file_and_says_what_it_is(tmp_path, suffix):
    path = tmp_path / f"wa{suffix}"
    EXPORTS[suffix].write(FIGURE_1, path)
    assert path.stat().st_size
    assert EXPORTS[suffix].meaning


def test_no_format_leaves_anything_where_it_cannot_write(tmp_path, suffix):
    path = tmp_path / f"wa{suffix}"
    path.mkdir()
    with pytest.raises(FileError, match=f"wa{suffix}: cannot "):
        EXPORTS[suffix].write(FIGURE_1, path)
    assert [*tmp_path.rglob("*")] == [path]


@pytest.mark.parametrize("suffix", [".json", ".npz", ".pautomac"])
def test_formats_that_can_be_read_come_back(tmp_path, suffix):
    path = tmp_path / f"wa{suffix}"
    EXPORTS[suffix].write(FIGURE_1, path)
    assert open_wa(path).transitions == pytest.approx(FIGURE_1.transitions)


def test_no_format_needs_dense_matrices(tmp_path, monkeypatch, suffix):
    wa = random_structured(range(2), 4, seed=0)
    monkeypatch.setattr(structured, "MAX_DENSE_NUMBERS", 0)
    path = tmp_path / f"wa{suffix}"
    EXPORTS[suffix].write(wa, path)
    assert path.stat().st_size


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_structured_automaton_keeps_its_structure(tmp_path, suffix):
    wa = random_structured("ab", 4, seed=0)
    path = tmp_path / f"wa{suffix}"
    EXPORTS[suffix].write(wa, path)
    again = open_wa(path)
    assert isinstance(again, StructuredAutomaton)
    assert again.allclose(wa, rtol=0, atol=0)
