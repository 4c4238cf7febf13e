import pytest

import made_results
from seqray import MissingFileError
from seqray.experiments.findings import read_findings, title_of


def test_a_folder_of_results_is_read(tmp_path):
    folder = made_results.write(tmp_path, {"pautomac": ("3", "24"), "trucks": ("trucks",)})
    findings = read_findings(folder)
    assert {row.problem for row in findings.rows} == {"3", "24", "trucks"}
    assert set(findings.boxes) >= {"3", "24"}
    assert {row.problem for row in findings.own} <= {"3", "24", "trucks"}


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(MissingFileError):
        read_findings(tmp_path / "none")


def test_problems_have_titles():
    assert "24" in title_of("24")
    assert title_of("trucks") != title_of("24")
