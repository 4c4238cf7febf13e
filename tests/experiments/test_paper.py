"""The paper's tables, and what they come to."""

import pytest

from seqray.experiments.paper import BASES, paper_problems, paper_summary, published


def test_47_problems_are_in_both_tables_and_39_is_not():
    assert len(paper_problems()) == 47
    assert "39" not in paper_problems()
    assert set(published("test")) == set(published("rnn")) == set(paper_problems())


@pytest.mark.parametrize("which", ["test", "rnn"])
def test_every_value_is_one_that_a_table_may_hold(which):
    for row in published(which).values():
        assert {row.ratio_basis, row.ndcg_basis} <= set(BASES)
        assert 1 <= min(row.ratio_rank, row.ndcg_rank) <= max(row.ratio_rank, row.ndcg_rank) <= 100
        assert 0 <= row.zeros <= 1
        assert 0 < row.ndcg5 <= 1


@pytest.mark.parametrize(
    ("which", "mean", "least", "above_90", "above_99", "within", "zeros"),
    [("test", 0.864, 0.444, 28, 11, 37, 0.135), ("rnn", 0.860, 0.441, 27, 10, 29, 0.159)],
)
def test_the_tables_come_to_what_they_are_known_for(
    which, mean, least, above_90, above_99, within, zeros
):
    found = paper_summary(which)
    assert found.ndcg5_mean == pytest.approx(mean, abs=5e-4)
    assert found.ndcg5_least == pytest.approx(least, abs=5e-4)
    assert (found.above_90, found.above_99) == (above_90, above_99)
    assert found.within_1_percent == within
    assert found.zeros_mean == pytest.approx(zeros, abs=5e-4)
