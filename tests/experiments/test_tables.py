"""Tables in Markdown: ours beside the paper's."""

import numpy as np
import pytest

from made_results import cells
from seqray.experiments import paper
from seqray.experiments.table import best, held_out
from seqray.experiments.tables import best_table, summaries
from seqray.util.formatting import decimals


def test_figures_are_compared_over_the_problems_that_both_have(findings):
    ours = summaries(findings, "test")
    assert {one.n_problems for one in ours.values()} == {5}  # 39 is not in the paper
    gains = [row.ndcg5 for p, row in best(findings.pautomac("test")).items() if p != "39"]
    assert ours["best"].ndcg5_mean == pytest.approx(np.mean(gains))
    fair = [row.ndcg5 for p, row in held_out(findings.pautomac("test")).items() if p != "39"]
    assert ours["held-out"].ndcg5_least == pytest.approx(min(fair))
    assert ours["paper"].ndcg5_mean == pytest.approx(
        np.mean([paper.published("test")[p].ndcg5 for p in ("3", "9", "22", "24", "37")])
    )


def test_the_best_parameters_stand_beside_the_papers(findings):
    header, _, *lines = cells(best_table(findings, "rnn"))
    assert len({len(line) for line in (header, *lines)}) == 1
    nine = next(line for line in lines if line[0] == "9")
    top = best(findings.pautomac("rnn"), "perplexity_ratio")["9"]
    assert nine[1:6] == [
        "DPFA 71 × 4", str(top.rank), str(top.prefixes), decimals(top.perplexity_ratio, 5),
        "0.31197",
    ]  # fmt: skip
    assert nine[11] == "0.79165"
    missing = next(line for line in lines if line[0] == "39")
    assert missing[5] == missing[7] == missing[11] == "–"


def test_the_redrawn_problem_is_marked(findings):
    assert "| 22* |" in best_table(findings, "test")
