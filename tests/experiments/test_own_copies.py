from seqray.experiments.findings import Findings
from seqray.experiments.own_copies import copies_table
from seqray.experiments.table import SETS, Result


def rows(method, size, **metrics):
    return [Result("3", method, 1500, 50, size, which, "held-out", **metrics) for which in SETS]


def test_a_problem_has_its_rank_and_its_largest_copy():
    sizes = [{"states": 90, "cost": 16, "bytes": 100}, {"states": 900, "cost": 144, "bytes": 2e6}]
    findings = Findings(
        [],
        own=rows("auto", 7, ndcg5=0.9, kl_per_symbol=0.2),
        copies=rows("copy", 900, ndcg5=0.95, kl_per_symbol=0.125),
        about={"pautomac": {"copies": {"3": sizes}}},
    )
    cells = "3 | 7 | 0.9000 | 0.9000 | 0.2000 | 900 | 144 | 2.0 | 0.9500 | 0.9500 | 0.1250"
    assert copies_table(findings).splitlines()[2] == f"| {cells} |"


def test_a_problem_without_a_copy_has_dashes():
    findings = Findings(
        [], own=rows("auto", 7, ndcg5=0.9), about={"pautomac": {"copies": {"3": []}}}
    )
    assert copies_table(findings).splitlines()[2].endswith("| – | – | – | – | – | – |")


def test_what_was_chosen_is_the_copy_where_there_is_one():
    own, copies = rows("auto", 7), rows("copy", 900)
    for which in SETS:
        assert Findings([], own=own, copies=copies).own_choices(which)["3"].rank == 900
        assert Findings([], own=own).own_choices(which)["3"].rank == 7
        assert Findings([], own=own, copies=copies).dense_choices(which)["3"].rank == 7
