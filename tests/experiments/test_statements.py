"""Statements of the paper beside our results."""

import pytest

from seqray.experiments.findings import Findings
from seqray.experiments.statements import far_from_paper, statements
from seqray.experiments.table import Result


def test_what_is_not_in_the_results_is_not_compared():
    findings = Findings([Result("3", "paper", 300, 300, 5, "rnn", "all", zeros=0.1)])
    verdicts = [one.agrees for one in statements(findings)]
    assert set(verdicts) == {None}
    assert all(one.ours.startswith("not measured: ") for one in statements(findings))


def test_every_statement_is_compared_where_all_was_measured(whole):
    made = statements(whole)
    assert len(made) == 9
    assert None not in {one.agrees for one in made}


@pytest.mark.parametrize(("share", "agrees"), [(0.1, True), (0.0, False), (0.5, False)])
def test_zeros_on_problem_3_agree_around_a_tenth(whole, share, agrees):
    rows = [row._replace(zeros=share) for row in whole.rows]
    (statement,) = [
        one for one in statements(Findings(rows)) if "PAutomaC 3 the share" in one.paper
    ]
    assert statement.agrees is agrees
    assert f"{100 * share:.1f} %" in statement.ours


def test_many_poor_ratios_contradict_the_paper(whole):
    rows = [row._replace(perplexity_ratio=0.5) for row in whole.rows]
    assert statements(Findings(rows, whole.boxes))[0].agrees is False
    assert statements(whole)[0].agrees is True


def test_problems_far_from_the_paper_are_named():
    rows = [
        Result(problem, "paper", 300, 300, 5, "test", "all", ndcg5=0.7)
        for problem in ("1", "10", "35")
    ]
    assert far_from_paper(Findings(rows), "test") == (["35"], ["1"])
