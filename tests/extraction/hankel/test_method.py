import pytest

from automata import FIGURE_1 as MACHINE
from seqray import black_box, extract, uniform_basis
from seqray.util.errors import ArgumentError, Stopped, StopReason


def box(**options):
    return black_box(MACHINE.weights, MACHINE.alphabet, **options)


def test_rounds_have_a_score_each():
    extraction = extract(box(), prefixes=120, suffixes=120, max_rank=6, target=0.999)
    rounds = extraction.settings["rounds"]
    assert len(rounds) >= 2
    assert all(set(each) == {"questions", "prefixes", "suffixes", "score"} for each in rounds)
    assert rounds[-1]["score"] >= 0.999
    assert extraction.stop_reason is None


def test_a_budget_that_ends_growth_is_the_reason_to_stop():
    extraction = extract(box(), budget=3000, max_rank=6)
    assert extraction.stop_reason is StopReason.BUDGET
    assert extraction.settings["questions"] <= 3000


def test_a_budget_for_nothing_names_one_that_is_enough():
    with pytest.raises(Stopped, match=r"about \d+ are enough") as stopped:
        extract(box(), budget=2)
    assert stopped.value.reason is StopReason.BUDGET


def test_a_basis_of_words_that_the_box_cannot_read_is_refused():
    basis = uniform_basis(MACHINE.alphabet, 20, 20, seed=0)
    with pytest.raises(ArgumentError, match="the box reads words of at most 3"):
        extract(box(max_length=3), basis=basis)


def test_a_box_without_predictions_cannot_be_sampled():
    with pytest.raises(ArgumentError, match="this box cannot be sampled"):
        extract(box(), basis="sampled")
