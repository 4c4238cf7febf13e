import made_results
from seqray.experiments.findings import SUITES, Findings, read_findings
from seqray.experiments.report_gaps import gaps_text


def test_without_results_every_table_and_figure_is_missing():
    text = gaps_text(Findings([]), {"basis": "no results"})
    assert all(f"`{suite}.csv.gz`" in text for suite in SUITES)
    assert "- Figure basis: no results." in text.splitlines()


def test_problems_without_rows_are_named(tmp_path):
    findings = read_findings(made_results.write(tmp_path, {"pautomac": ("3", "24")}))
    text = gaps_text(findings, {})
    assert "no rows of" in text
    assert "`pautomac.csv.gz`" not in text
