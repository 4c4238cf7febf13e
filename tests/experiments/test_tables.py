from seqray.experiments.findings import Findings
from seqray.experiments.table import Result
from seqray.experiments.tables import best_table, markdown, marked


def test_a_table_has_its_first_column_to_the_left():
    assert markdown(["a", "b", "c"], [["1", "2", "3"]]).splitlines() == [
        "| a | b | c |",
        "| --- | ---: | ---: |",
        "| 1 | 2 | 3 |",
    ]


def test_data_that_are_not_official_have_a_star():
    assert (marked("3"), marked("22")) == ("3", "22*")


def test_the_best_rank_and_basis_of_a_problem_are_shown():
    rows = [
        Result("35", "paper", size, size, rank, "test", "all", ndcg5=gain)
        for size, rank, gain in [(300, 7, 0.5), (800, 12, 0.9), (800, 20, 0.8)]
    ]
    (line,) = [line for line in best_table(Findings(rows), "test").splitlines() if "35" in line]
    assert "12" in line
    assert "0.9" in line
