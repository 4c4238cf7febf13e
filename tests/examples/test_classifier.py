"""The example of a classifier: examples/classifier.py."""

import runpy
import sys

from pages import ROOT


def test_the_example_extracts_explains_and_writes_a_page(monkeypatch, tmp_path, capsys):
    page = tmp_path / "page.html"
    monkeypatch.setattr(sys, "argv", ["classifier.py", str(page)])
    runpy.run_path(str(ROOT / "examples" / "classifier.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "ClassifierAutomaton(3 states, 4 symbols, 3 classes)" in out
    assert "The fewest edits that change the decision" in out
    assert "rests, decided by three states" in page.read_text("utf-8")
