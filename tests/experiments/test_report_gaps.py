"""What the results lack, and why."""

import json

import made_results
from seqray.experiments import paper
from seqray.experiments.findings import Findings, read_findings
from seqray.experiments.report_gaps import gaps_text


def test_a_whole_table_has_no_holes(whole):
    assert gaps_text(whole, {}) == "Nothing: every problem, basis, rank and set is there."


def test_holes_are_named_with_their_reasons(tmp_path):
    suites = {"pautomac": ("3", "9", "24")}
    folder = made_results.write(
        tmp_path, suites, holes={"5": "no network"}, sizes=paper.BASES, ranks=paper.RANKS
    )
    about = json.loads((folder / "pautomac.json").read_text("utf-8"))
    about["notes"] = {
        "3-300": ["the block has no more than rank 40"],
        "3-auto": ["the block has no more than rank 61", "the box is odd"],
        "9-auto": ["the target of 1 was not reached: 0.998"],
        "9-800": ["7 words were cut"],
    }
    about["failed"] = {"24-400": "out of memory"}
    (folder / "pautomac.json").write_text(json.dumps(about), "utf-8")
    findings = read_findings(folder)
    rows_there = [
        row
        for row in findings.rows
        if not (row.problem == "3" and row.prefixes == 300 and row.rank > 40)
        and not (row.problem == "24" and row.prefixes == 400)
        and not (row.problem == "9" and row.prefixes == 1000 and row.rank == 7)
    ]
    own = [row for row in findings.own if row.problem == "3"]
    page = gaps_text(Findings(rows_there, about=findings.about, own=own), {})
    text = " ".join(page.split())
    assert "- The table `spice.csv.gz` is not in the results." in text
    assert "PAutomaC 5: no network." in text
    assert "pautomac 24-400 failed: out of memory." in text
    assert "no rows of 1, 2, 4, 6," in text
    assert "at a basis of 300 the block itself has a rank below 100" in text
    assert "and no further ranks exist, on 3 (40)." in text
    assert "no basis of 400 on 24." in text
    assert "at a basis of 1000 ranks are missing, unexplained, on 9 (100)" in text
    assert "pautomac 9-800: 7 words were cut." in text
    assert "pautomac: no rows of seqray's own method of 9, 24." in text
    assert "pautomac 3-auto: the box is odd." in text
    assert "rank 61" not in text
    assert "target of 1" not in text


def test_a_problem_without_the_papers_method_is_named_once(tmp_path):
    made_results.write(tmp_path, {"logs": ("hdfs",)}, methods=("auto",))
    text = gaps_text(read_findings(tmp_path), {})
    assert [line for line in text.splitlines() if "hdfs" in line] == [
        "- logs: no rows of the paper's method of hdfs."
    ]
