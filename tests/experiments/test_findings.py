"""Folders of results, read."""

import shutil

import numpy as np
import pytest

import made_results
from made_results import SOME, cells
from seqray.experiments.findings import SUITES, Findings, read_findings, title_of
from seqray.experiments.tables import boxes_table
from seqray.util.errors import FileError, MissingFileError


def test_a_folder_is_read_whole(findings):
    assert {row.problem for row in findings.rows} == {
        name for names in SOME.values() for name in names
    }
    assert set(findings.boxes) == {row.problem for row in findings.rows}
    assert list(findings.about) == list(SOME)
    assert findings.distilled


def test_each_method_has_its_own_rows(findings):
    assert {row.method for row in findings.rows} == {"paper"}
    assert {row.method for row in findings.own} == {"auto"}
    assert {row.problem for row in findings.own} == {row.problem for row in findings.rows}
    assert set(findings.rounds) == {row.problem for row in findings.rows}
    first, *_ = findings.rounds["3"]
    assert first.questions == made_results.rounds("3")[0]["questions"]


def test_a_fidelity_that_is_no_number_is_none_in_the_rounds():
    about = {"pautomac": {"rounds": {"3": [{"questions": 5, "ndcg5": None}]}}}
    assert np.isnan(Findings([], about=about).rounds["3"][0].ndcg5)


def test_how_networks_were_trained_is_read_beside_them(results, tmp_path):
    header = "problem,hidden,epoch,validation,perplexity_target,perplexity,ratio"
    (tmp_path / "trained.csv").write_text(f"{header}\n3,50,13,1.1473,,,\n")
    findings = read_findings(results, boxes=tmp_path)
    assert findings.trained["3"].hidden == 50
    assert cells(boxes_table(findings))[2][:4] == ["3", "50", "13", "1.1473"]


def test_every_problem_has_a_title():
    titles = [title_of(problem) for suite in SUITES.values() for problem in suite]
    assert len(set(titles)) == len(titles) == 52
    assert title_of("spice0") == "SPiCe 0 (synthetic)"
    assert title_of("hdfs") == "HDFS (log keys)"


def test_an_empty_folder_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(MissingFileError, match=r"there is no table of results .*`seqray bench`"):
        read_findings(tmp_path)


def test_a_damaged_description_is_refused(results, tmp_path):
    shutil.copy(results / "spice.csv.gz", tmp_path)
    (tmp_path / "spice.json").write_text('{"format": "something"}')
    with pytest.raises(FileError, match=r"spice\.json: expected a file in format 'seqray.results'"):
        read_findings(tmp_path)
