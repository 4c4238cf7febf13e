import pytest

from seqray.fidelity.objective import OBJECTIVES, Objective, named_objective
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.util.errors import ArgumentError


def test_every_objective_has_a_name_and_says_what_it_measures():
    names = ("next", "weights", "log", "decisions", None)
    assert [named_objective(name) for name in names] == [
        *Objective,
        None,
    ]
    assert list(OBJECTIVES) == list(Objective)
    assert Objective.WEIGHTS.measured == "the mean squared error of the weights of words"
    with pytest.raises(ArgumentError, match="objective: expected one of next, weights, log, dec"):
        named_objective("mse")


@pytest.mark.parametrize(
    ("objective", "rank"),
    [(Objective.NEXT, 1), (Objective.WEIGHTS, 2), (Objective.LOG, 3), (None, 1)],
)
def test_each_objective_chooses_by_its_own_number(objective, rank):
    rows = [
        {"kl_per_symbol": 0.01, "relative_error": 0.5, "weight_agreement": 0.5},
        {"kl_per_symbol": 0.20, "relative_error": 0.1, "weight_agreement": 0.6},
        {"kl_per_symbol": 0.30, "relative_error": 0.4, "weight_agreement": 0.9},
    ]
    fidelities = tuple(Fidelity(row, 10, 20, objective=objective) for row in rows)
    table = FidelityTable((1, 2, 3), fidelities)
    assert table.best_rank() == rank
    assert table.best is fidelities[rank - 1]
    assert fidelities[rank - 1].is_nearer_than(fidelities[rank % 3])


def test_without_next_symbols_ratios_count():
    assert Fidelity({"weight_agreement": 0.5}, 1, 1).chosen_by is Objective.LOG
    assert Fidelity({"ndcg5": 0.5}, 1, 1).chosen_by is Objective.NEXT


def test_by_squared_errors_a_smaller_rank_may_lose_a_share_of_what_the_best_does():
    errors = (0.0106, 0.0104, 0.01)
    rows = [Fidelity({"relative_error": e}, 1, 1, objective=Objective.WEIGHTS) for e in errors]
    assert FidelityTable((1, 2, 3), tuple(rows)).best_rank() == 2
