"""The adapter that newcomers copy: examples/adapter.py."""

import json
from pathlib import Path

import pytest

import seqray
from seqray import open_black_box
from seqray.blackbox import registry
from seqray.util.errors import ArgumentError, FileError, MissingFileError

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = {"alphabet": ["a", "b"], "next": {"": [0.5, 0.5, 0], "a": [0.1, 0.5, 0.4], "b": [0, 0, 1]}}


@pytest.fixture
def path(monkeypatch, tmp_path):
    """A model, and the registry with the example's adapter."""
    monkeypatch.syspath_prepend(EXAMPLES)
    entry = registry.Adapter("adapter:open_bigram", "PATH", "a bigram model in JSON")
    monkeypatch.setitem(registry.ADAPTERS, "bigram", entry)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(MODEL))
    return path


def test_the_example_opens_a_box_that_predicts(path):
    box = open_black_box(f"bigram:{path}", batch_size=2)
    assert box.next_symbol(["", "ba"]).tolist() == [[0.5, 0.5, 0], [0.1, 0.5, 0.4]]
    assert box.weights(["b", "ab"]).tolist() == [0.5, 0.25]


def test_its_box_can_be_extracted_and_cached(path, tmp_path):
    box = open_black_box(f"bigram:{path}")
    extraction = seqray.extract(box, seed=0, store=tmp_path / "answers.sqlite")
    assert extraction.automaton(3).weights(["ab"]) == pytest.approx(0.25)
    assert (tmp_path / "answers.sqlite").exists()


def test_its_fingerprint_is_that_of_the_file(path):
    first = open_black_box(f"bigram:{path}").backend.fingerprint
    path.write_text(json.dumps({**MODEL, "next": {**MODEL["next"], "b": [0.5, 0, 0.5]}}))
    assert open_black_box(f"bigram:{path}").backend.fingerprint != first


def test_what_it_cannot_use_is_refused_as_of_every_adapter(path):
    with pytest.raises(MissingFileError, match="nowhere"):
        open_black_box("bigram:nowhere.json")
    with pytest.raises(ArgumentError, match=r"no option 'threads': expected one of batch_size"):
        open_black_box(f"bigram:{path}", threads=1)
    path.write_text("{}")
    with pytest.raises(FileError, match=r"model\.json: damaged: it has no .alphabet."):
        open_black_box(f"bigram:{path}")
