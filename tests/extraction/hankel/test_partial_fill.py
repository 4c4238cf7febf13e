import threading

import numpy as np
import pytest

from automata import FIGURE_1 as MACHINE
from seqray import black_box, fill, uniform_basis
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.hankel.partial_fill import fill_within
from seqray.extraction.hankel.plan import Plan
from seqray.util.errors import Stopped, StopReason

BASIS = uniform_basis(MACHINE.alphabet, 40, 30, seed=0)


def oracle(limits=None, answer=MACHINE.weights):
    box = black_box(answer, MACHINE.alphabet, batch_size=64)
    return open_oracle(box, Meter(limits or Limits()))


@pytest.mark.parametrize("limits", [Limits(), Limits(time_limit=100), Limits(budget=10**6)])
def test_limits_that_are_not_reached_make_no_difference(limits):
    whole, stopped = fill_within(oracle(limits), BASIS)
    assert stopped is None
    assert np.array_equal(whole.values, fill(oracle().box, BASIS).values)


def test_a_budget_is_enough_for_a_part_of_the_basis():
    n_queries = Plan.of(BASIS).n_queries
    limited = oracle(Limits(budget=n_queries // 3))
    part, stopped = fill_within(limited, BASIS)
    assert stopped.reason is StopReason.BUDGET
    assert n_queries / 6 < part.n_questions <= limited.meter.n_queries <= n_queries // 3


def test_a_budget_that_is_too_small_for_any_block_is_an_error():
    with pytest.raises(Stopped, match="too small to fill any block"):
        fill_within(oracle(Limits(budget=1)), BASIS)


def test_the_largest_part_that_was_filled_stays_after_an_interruption():
    stop, n_queries = threading.Event(), 0

    def answer(words):
        nonlocal n_queries
        n_queries += len(words)
        if n_queries > 500:
            stop.set()
        return MACHINE.weights(words)

    part, stopped = fill_within(oracle(Limits(stop=stop), answer), BASIS)
    assert stopped.reason is StopReason.INTERRUPTED
    assert 100 < part.n_questions <= n_queries < Plan.of(BASIS).n_queries
