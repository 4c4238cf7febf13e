import json

import pytest


@pytest.fixture
def filled(folder, run):
    """A folder with a store of answers of one box."""
    (folder / "stored_box.py").write_text(
        "import seqray\n"
        "box = seqray.black_box(lambda words: [len(w) for w in words], 'ab', name='mine')\n"
    )
    run("extract", "python:stored_box:box", "-o", "out", "--prefixes", "20", "--suffixes", "20")
    return folder


def test_boxes_are_shown_exported_and_forgotten(filled, run):
    assert "mine" in run("store", "info")
    rows = [json.loads(line) for line in run("store", "export").splitlines()]
    assert all(row["answer"] == len(row["word"]) for row in rows)
    assert run("store", "prune", "--box", "other").startswith("Forgot 0 answers")
    assert f"Forgot {len(rows):,} answers" in run("store", "prune", "--all")
    assert run("store", "export") == ""


def test_what_to_forget_has_to_be_said(filled, fails):
    assert "--older-than" in fails(2, "store", "prune")


def test_a_store_that_is_not_there_is_an_error(folder, fails):
    assert "x.sqlite: there is no store yet" in fails(2, "store", "info", "--store", "x.sqlite")
