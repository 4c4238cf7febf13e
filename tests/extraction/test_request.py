import dataclasses

import pytest

import seqray
from automata import FIGURE_1
from functions import Count
from seqray import Basis, black_box
from seqray.extraction.request import METHODS, Method, Request, named_method
from seqray.fidelity.objective import Objective
from seqray.util.errors import ArgumentError

WORDS = seqray.Alphabet("ab").words(["", "a"])
VALUES = seqray.black_box(lambda words: [len(word) for word in words], "ab")
BASIS = Basis(WORDS, WORDS)


def test_every_method_is_described():
    assert list(METHODS) == [method.value for method in Method]
    assert all(named_method(name) is Method(name) for name in METHODS)
    with pytest.raises(ArgumentError, match=r"expected one of auto, paper, .*, got 'best'"):
        named_method("best")


@pytest.mark.parametrize(
    ("box", "basis", "method"),
    [
        (FIGURE_1, None, Method.CONDITIONAL),
        (FIGURE_1, "sampled", Method.CONDITIONAL),
        (FIGURE_1, ["ab"], Method.CONDITIONAL),
        (FIGURE_1, "uniform", Method.WEIGHTED),
        (FIGURE_1, "grown", Method.WEIGHTED),
        (FIGURE_1, BASIS, Method.WEIGHTED),
        (VALUES, None, Method.WEIGHTED),
    ],
)
def test_the_method_is_chosen_by_box_and_basis(box, basis, method):
    assert Request(basis=basis).for_box(box).method is method


def test_a_method_that_was_asked_for_is_kept():
    for method in (Method.PAPER, Method.WEIGHTED):
        assert Request(method=method).for_box(FIGURE_1).method is method


@pytest.mark.parametrize(
    ("box", "options", "message"),
    [
        (VALUES, {"method": Method.CONDITIONAL}, "needs a box that predicts next symbols: use 'w"),
        (FIGURE_1, {"method": Method.CONDITIONAL, "basis": BASIS}, "needs basis 'sampled' or wor"),
        (FIGURE_1, {"method": Method.PAPER, "target": 0.9}, "target: only the method conditional"),
        (VALUES, {"counterexamples": 1}, "counterexamples: expected a box that predicts"),
    ],
)
def test_a_request_that_a_box_cannot_meet_is_refused(box, options, message):
    request = Request(**options)
    with pytest.raises(ArgumentError, match=message):
        request.for_box(box)


def test_only_a_box_that_cannot_be_sampled_has_its_basis_grown_unasked():
    weighted = Request(method=Method.WEIGHTED)
    assert weighted.grows_basis(box_predicts=False)
    assert not weighted.grows_basis(box_predicts=True)
    assert not dataclasses.replace(weighted, basis=WORDS).grows_basis(box_predicts=False)
    assert dataclasses.replace(weighted, basis="grown").grows_basis(box_predicts=True)
    assert not Request(method=Method.PAPER).grows_basis(box_predicts=False)


@pytest.mark.parametrize(
    "options",
    [{"max_rank": 0}, {"n_prefixes": 1.5}, {"repeat": 0}, {"counterexamples": -1}, {"seed": "1"}],
)
def test_numbers_are_checked_whatever_the_box(options):
    [name] = options
    with pytest.raises(ArgumentError, match=f"^{name}: expected a whole number from"):
        Request(**options)


@pytest.mark.parametrize("name", ["max_cost", "max_states"])
def test_a_limit_is_a_whole_number(name):
    with pytest.raises(ArgumentError, match=f"^{name}: expected a whole number from 1, got 0"):
        Request(**{name: 0})


@pytest.mark.parametrize(
    ("limits", "max_rank"),
    [({}, 30), ({"max_cost": 120}, 10), ({"max_states": 7}, 7), ({"max_cost": 10_000}, 30)],
)
def test_no_rank_is_above_the_limits(limits, max_rank):
    assert Request(max_rank=30, **limits).max_rank == max_rank


def test_the_objective_follows_from_the_box_unless_it_is_named():
    numbers = black_box(Count(), "ab")
    assert Request().for_box(numbers).objective is Objective.LOG
    assert Request().for_box(FIGURE_1).objective is Objective.NEXT
    assert Request(objective=Objective.WEIGHTS).for_box(numbers).objective is Objective.WEIGHTS
    with pytest.raises(ArgumentError, match="objective: expected weights or log, got next"):
        Request(objective=Objective.NEXT).for_box(numbers)


def test_squared_errors_are_least_with_blocks_that_are_grown():
    request = Request(objective=Objective.WEIGHTS).for_box(FIGURE_1)
    assert request.method is Method.WEIGHTED
    assert request.grows_basis(box_predicts=True)
    words = Request(objective=Objective.WEIGHTS, basis=["a", "ab"]).for_box(FIGURE_1)
    assert words.method is Method.CONDITIONAL
    assert Request(objective=Objective.LOG).for_box(FIGURE_1).method is Method.CONDITIONAL
