"""The adapter to copy: examples/adapter.py. A copy of the first part tests a copy of it."""

import pytest

from pages import ROOT
from seqray import extract
from seqray.blackbox import registry
from seqray.blackbox.registry import open_black_box
from seqray.util.errors import ArgumentError, FileError, MissingFileError

FILE = '{"alphabet": ["a", "b"], "next": {"": [0.5, 0.5, 0], "a": [0.1, 0.5, 0.4], "b": [0, 0, 1]}}'


def test_a_model_predicts_what_is_in_its_file(tmp_path):
    (tmp_path / "model.json").write_text(FILE)
    box = open_black_box(f"bigram:{tmp_path / 'model.json'}", batch_size=2)
    assert box.next_symbol(["", "ba"]).tolist() == [[0.5, 0.5, 0], [0.1, 0.5, 0.4]]


def test_a_file_that_holds_no_model_is_refused(tmp_path):
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(FileError, match=r"model\.json: damaged: it has no .alphabet."):
        open_black_box(f"bigram:{tmp_path / 'model.json'}")


# What follows need not be copied ------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """The registry with the example's adapter."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    entry = registry.Adapter("adapter:open_bigram", "PATH", "a bigram model in JSON")
    monkeypatch.setitem(registry.ADAPTERS, "bigram", entry)


@pytest.fixture
def model_path(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(FILE)
    return path


def test_its_box_can_be_extracted_and_cached(model_path, tmp_path):
    box = open_black_box(f"bigram:{model_path}")
    extraction = extract(box, seed=0, store=tmp_path / "answers.sqlite")
    assert box.weights(["b", "ab"]).tolist() == [0.5, 0.25]
    assert extraction.automaton(3).weights(["ab"]) == pytest.approx(0.25)
    assert (tmp_path / "answers.sqlite").exists()


def test_its_fingerprint_is_that_of_the_file(model_path):
    first = open_black_box(f"bigram:{model_path}").backend.fingerprint
    model_path.write_text(FILE.replace("[0, 0, 1]", "[0.5, 0, 0.5]"))
    assert open_black_box(f"bigram:{model_path}").backend.fingerprint != first


def test_a_missing_file_and_unknown_options_are_refused_as_by_every_adapter(model_path):
    with pytest.raises(MissingFileError, match="nowhere"):
        open_black_box("bigram:nowhere.json")
    with pytest.raises(ArgumentError, match=r"no option 'threads': expected one of batch_size"):
        open_black_box(f"bigram:{model_path}", threads=1)
