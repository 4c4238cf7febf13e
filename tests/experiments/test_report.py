import re
from pathlib import Path

import pytest

import made_results
from seqray.blackbox.native.demo import open_demo
from seqray.experiments import paper, report
from seqray.experiments.findings import read_findings
from seqray.experiments.report import page_text, write_report
from seqray.experiments.tables import summaries
from seqray.util.errors import FileError
from seqray.util.formatting import decimals


@pytest.fixture
def quick(monkeypatch):
    """Do not write figures: that is tried elsewhere, and slow."""
    monkeypatch.setattr(report, "save_figure", lambda figure, folder, name: None)


def test_a_page_and_all_its_figures_are_written(results, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "DRAWINGS", report.DRAWINGS[2:5])
    made = write_report(results, tmp_path / "page.md", tmp_path / "images")
    text = made.page.read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == len(made.figures) == 5
    assert made.figures[:2] == ("own", "questions")
    assert all((tmp_path / link).is_file() for link in links)
    assert all((tmp_path / link).with_suffix(".png").is_file() for link in links)
    assert made.missing == {"automaton": "the folder of networks was not named"}
    assert "- Figure automaton: the folder of networks was not named." in text


def test_figures_that_cannot_be_made_are_said(tmp_path, quick):
    folder = made_results.write(tmp_path, {"pautomac": ("3", "24")}, methods=("paper",))
    made = write_report(folder, tmp_path / "page.md", tmp_path / "images")
    assert set(made.missing) == {"own", "questions", "ranks", "basis", "zeros", "automaton"}
    text = " ".join(made.page.read_text("utf-8").split())
    assert "- Figure own: no results of PAutomaC by both methods in the table." in text
    assert "experiments-own.svg" not in text


def test_the_automaton_of_problem_24_is_extracted_and_drawn(results, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(paper, "DRAWN", paper.Drawn(basis=40))
    open_demo().save(tmp_path / "24.safetensors")
    made = write_report(results, tmp_path / "page.md", tmp_path, boxes=tmp_path)
    assert not made.missing
    drawn = (tmp_path / "experiments-automaton.svg").read_text("utf-8")
    assert drawn.count('class="state"') == 5


def test_links_lead_from_the_page_to_the_figures_wherever_both_are(results, tmp_path, quick):
    (tmp_path / "docs").mkdir()
    made = write_report(results, tmp_path / "docs" / "page.md", tmp_path / "some" / "images")
    assert "](../some/images/experiments-overview.svg)" in made.page.read_text("utf-8")


def test_a_folder_that_is_not_there_is_said_before_anything_is_drawn(results, tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        write_report(results, tmp_path / "none" / "page.md", tmp_path / "images")
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="cannot be made"):
        write_report(results, tmp_path / "page.md", tmp_path / "taken" / "images")


def test_every_number_of_the_summary_is_computed(findings, whole):
    one, two = (page_text(which, "images", {}) for which in (findings, whole))
    mean = summaries(findings, "test")["best"].ndcg5_mean
    assert decimals(mean) in one
    assert one != two
    assert "| pautomac | 6 of 48 | 300, 800, 1400 | default | 8 from 1 to 100 |" in one
    assert "| pautomac | 48 of 48 | 300, 400, 800, 1000, 1400 | default | 1–100 | 48,000 |" in two
    own = "| pautomac, seqray's own method | 48 of 48 | 1,490 contexts | – | 1–100 | 9,600 |"
    assert own in two


def test_paragraphs_are_broken_and_tables_are_not(findings):
    lines = page_text(findings, "images", {}).splitlines()
    plain = [line for line in lines if not line.startswith(("|", "!"))]
    assert max(map(len, plain)) <= 110
    assert max(map(len, lines)) > 110


def test_problems_that_only_seqrays_own_method_was_run_on_are_shown(tmp_path):
    made_results.write(tmp_path, {"spice": ("spice4",)})
    made_results.write(tmp_path, {"logs": ("hdfs",)}, methods=("auto",))
    text = page_text(read_findings(tmp_path), "images", {})
    each, after = text.split("### Each problem")[1].split("### Data without a target")
    assert "| HDFS (log keys) | – | – | – | – | 70 |" in each
    assert "| SPiCe 4 (English verbs) | – | – | 0." in each
    assert "HDFS" not in after.split("## ")[0]
    assert "| logs, seqray's own method | 1 of 1 |" in text
    assert "logs: no rows of the paper's method of hdfs." in text


def test_the_published_page_is_what_the_published_results_say():
    root = Path(__file__).resolve().parents[2]
    findings = read_findings(root / "benchmarks" / "results", boxes=root / "benchmarks/blackboxes")
    published = (root / "docs" / "experiments.md").read_text("utf-8")
    assert page_text(findings, "images", {}) == published
