import made_results
from seqray.experiments.findings import Findings, read_findings
from seqray.experiments.report_runs import runs_text


def test_without_results_there_is_an_empty_table():
    assert runs_text(Findings([])).startswith("## What was run\n\n| table |")


def test_every_method_of_a_suite_has_a_row(tmp_path):
    findings = read_findings(made_results.write(tmp_path, {"pautomac": ("3", "24")}))
    rows = [line for line in runs_text(findings).splitlines() if line.startswith("| pautomac")]
    assert len(rows) == 2
    assert all("2 of 48" in row for row in rows)
