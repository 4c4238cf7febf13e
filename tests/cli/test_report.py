import pytest

import made_results
from seqray.experiments import report

pytest.importorskip("matplotlib")


def test_a_report_is_made_from_results(run, folder, monkeypatch):
    monkeypatch.setattr(report, "DRAWINGS", report.DRAWINGS[:1])
    monkeypatch.setattr(report, "OWN_DRAWINGS", ())
    (folder / "results").mkdir()
    made_results.write(folder / "results", {"pautomac": ("3", "24")})
    shown = run("report", "results", "-o", "page.md", "--figures", "images")
    assert "page.md: with 1 figure in images" in shown
    assert (folder / "page.md").read_text("utf-8").startswith("# The paper's experiments")
    assert (folder / "images" / "experiments-overview.png").is_file()


def test_a_folder_without_results_is_refused(fails, folder):
    assert "there is no table of results" in fails(2, "report", ".", "-o", "page.md")
    assert "does not exist" in fails(2, "report", "none", "-o", "page.md")
