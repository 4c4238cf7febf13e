from dataclasses import replace

import pytest

import seqray
from automata import FIGURE_1
from copied import copied
from seqray.extraction import request
from seqray.extraction.settings import STRUCTURED
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.util.errors import StopReason


def with_ranks(fidelities, **settings):
    """Return an extraction without copies, of ranks that have some fidelity."""
    known = replace(copied(), copies=(), fidelity=FidelityTable((1, 2), tuple(fidelities)))
    return replace(known, settings=replace(known.settings, rounds=(), **settings))


def bits(*lost):
    known = {"ndcg5": 0.9, "entropy_per_symbol": 2.0}
    return [Fidelity({"kl_per_symbol": each, **known}, 20, 90) for each in lost]


def agreement(*scores):
    return [Fidelity({"weight_agreement": each}, 20, 90) for each in scores]


def copies_of(bits_lost, **settings):
    """Return an extraction whose last copy loses so much, and what its settings are to be."""
    known = copied()
    last = replace(known.copies[-1], fidelity=bits(bits_lost)[0])
    last_round = replace(known.settings.rounds[-1], score=last.fidelity.score)
    settings = {"max_cost": last.cost, "rounds": (last_round,), **settings}
    settings = replace(known.settings, **settings)
    return replace(known, copies=(known.copies[0], last), settings=settings)


def test_it_says_what_the_automaton_for_reading_and_a_smaller_copy_lose():
    extraction = replace(copied(), fidelity=FidelityTable((1, 2), tuple(bits(0.5, 0.41))))
    reading, smaller = extraction.remarks
    assert reading == (
        "The automaton for reading, of 2 states, loses 0.4 bits per symbol more than the copy of "
        "7 states."
    )
    assert smaller == (
        "The copy of 6 states loses 0.01 bits per symbol more, with 36 instead of 49 "
        "multiplications."
    )


def test_a_rank_that_is_nearly_as_good_is_named():
    extraction = with_ranks(bits(0.005, 0.0001))
    assert extraction.remarks[0] == "1 state loses 0.0049 bits per symbol more than the 2 chosen."
    extraction = with_ranks(agreement(0.9994, 0.99999), objective=None)
    assert extraction.remarks[0] == "1 state reaches a score of 0.9994; the 2 chosen 0.99999."


def test_a_rank_that_loses_much_is_not_named():
    assert with_ranks(bits(0.5, 0.0), max_rank=2).remarks == ()


@pytest.mark.parametrize(
    ("limits", "option"),
    [
        ({}, "max_rank"),
        ({"max_states": 2}, "max_states"),
        ({"max_cost": 5}, "max_cost"),
        ({"max_cost": 9, "max_states": 3}, "max_rank"),
    ],
)
def test_it_says_at_which_limit_the_best_rank_lies(limits, option):
    (sentence,) = with_ranks(bits(0.5, 0.4), max_rank=2, **limits).remarks
    assert sentence == (
        f"The best rank is the largest allowed, 2: a larger {option} may be nearer to the box."
    )


@pytest.mark.parametrize(
    ("lost", "settings"),
    [
        ((0.5, 0.0), {"max_rank": 2}),  # it is exact
        ((0.5, 0.4), {"max_rank": 3}),  # the block has no larger rank
        ((0.4, 0.4), {"max_rank": 2}),  # it does not rise any more
        ((0.5, 0.4), {"max_rank": 2, "stop_reason": StopReason.TIME}),
    ],
)
def test_a_best_rank_that_no_limit_holds_back_gets_no_advice(lost, settings):
    assert with_ranks(bits(*lost), **settings).remarks == ()


@pytest.mark.parametrize(
    ("lost", "settings", "is_said"),
    [
        ((0.5, 0.4), {"stop_reason": StopReason.INTERRUPTED, "fitted_ranks": ()}, True),
        ((0.5, 0.4), {"stop_reason": StopReason.TIME, "fitted_ranks": ()}, True),
        ((0.5, 0.4), {"stop_reason": StopReason.TIME, "fitted_ranks": (2,)}, False),
        ((0.5, 0.0), {"stop_reason": StopReason.TIME, "fitted_ranks": ()}, False),
        ((0.5, 0.4), {"stop_reason": StopReason.BUDGET, "fitted_ranks": ()}, False),
        ((0.5, 0.4), {"fitted_ranks": ()}, False),
    ],
)
def test_ranks_that_were_not_fitted_before_the_end_are_named(lost, settings, is_said):
    remarks = with_ranks(bits(*lost), **{"max_rank": 3, "stop_reason": None, **settings}).remarks
    assert (
        any(each.startswith("Not fitted before the end: 2 states.") for each in remarks) == is_said
    )


def test_a_last_copy_that_gains_at_the_limit_gets_advice():
    assert copies_of(0.01).remarks[2:] == (
        "The last copy loses 50 % less than the automaton before it: a larger max_cost, above "
        "49, may be nearer still.",
    )


@pytest.mark.parametrize(
    ("bits_lost", "settings"),
    [
        (0.0199, {}),  # it hardly gains
        (1.9 * STRUCTURED.small_share, {}),  # of two bits
        (0.01, {"max_cost": None}),  # much more is allowed than it costs
        (0.01, {"rounds": ()}),  # another one was fitted after it
        (0.01, {"stop_reason": StopReason.TIME}),
    ],
)
def test_a_last_copy_that_no_limit_holds_back_gets_no_advice(bits_lost, settings):
    assert len(copies_of(bits_lost, **settings).remarks) == 2


def test_remarks_of_a_saved_run_are_the_same(tmp_path):
    seqray.save_run(copied(), tmp_path / "run")
    assert seqray.open_run(tmp_path / "run").remarks == copied().remarks


def test_an_objective_that_is_not_the_default_is_said():
    sizes = {"n_prefixes": 30, "n_suffixes": 30}
    extraction = seqray.extract(FIGURE_1, objective="weights", **sizes)
    what = "the mean squared error of the weights of words"
    assert extraction.remarks[0] == f"Ranks are chosen by {what} (objective weights)."
    usual = seqray.extract(FIGURE_1, **sizes)
    assert not any("objective" in each for each in usual.remarks)


def test_a_copy_that_a_limit_left_out_is_named():
    extraction = copies_of(0.01, max_cost=None, max_states=9)
    larger = replace(extraction.settings.rounds[-1], score=0.9987)
    settings = replace(extraction.settings, rounds=(larger,))
    assert replace(extraction, settings=settings).remarks[-1] == (
        "A larger copy, with a score of 0.9987 instead of 0.993092, was left out: max_states 9 "
        "does not allow it."
    )
    unlimited = replace(settings, max_states=None)
    assert "left out" not in " ".join(replace(extraction, settings=unlimited).remarks)


def test_a_rank_that_memory_holds_back_gets_no_advice_to_raise_it(monkeypatch):
    monkeypatch.setattr(request, "MAX_MATRIX_NUMBERS", 4 * len(copied().automata.largest.alphabet))
    (*_, remark) = with_ranks(bits(0.5, 0.1), max_rank=2).remarks
    assert "fit into memory" in remark
    assert "max_rank" not in remark
