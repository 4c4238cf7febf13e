import threading
from dataclasses import replace

import pytest

from seqray.blackbox.queries.limits import Limits, Meter
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.pacer import Pacer, max_block_queries, sufficient_budget
from seqray.extraction.conditional.parts import Counterexamples, LearntPart, PartSizes
from seqray.extraction.settings import CONDITIONAL
from seqray.util.errors import Stopped, StopReason

WHOLE = PartSizes(20_000, 1500, 250)


def pacer(meter, **options):
    return Pacer(meter, WHOLE, 3, 10.0, **options)


@pytest.fixture
def part(predicted):
    """A sixteenth of all, for which blocks took as many queries as the words."""
    reference, blocks = predicted
    svd = decompose_conditional(blocks, max_rank=1)
    n_queries = len(reference.tree)
    return LearntPart(1 / 16, reference, blocks, svd, n_queries, Counterexamples())


def test_the_whole_follows_a_small_part_where_nothing_can_end_it(part):
    assert pacer(Meter()).first_share == 1 / 64
    assert pacer(Meter()).next_share(replace(part, share=1 / 64), 1.0) == 1
    assert not pacer(Meter()).scores_each_part


def test_an_interruption_loses_at_most_three_quarters(part):
    stoppable = pacer(Meter(Limits(stop=threading.Event())))
    assert stoppable.next_share(replace(part, share=1 / 64), 1.0) == 1 / 4
    assert stoppable.next_share(replace(part, share=1 / 4), 1.0) == 1


def test_a_target_or_a_limit_begins_with_a_small_part():
    for meter, options in (
        (Meter(), {"has_target": True}),
        (Meter(Limits(time_limit=9)), {}),
        (Meter(Limits(budget=10**9)), {"caches": True}),
    ):
        assert pacer(meter, **options).first_share == 1 / 64
        assert pacer(meter, **options).scores_each_part


def test_the_first_part_takes_at_most_a_quarter_of_a_small_budget():
    cost = WHOLE.words * 10 + max_block_queries(3, WHOLE)
    for budget in (1000, cost // 100):
        share = pacer(Meter(Limits(budget=budget))).first_share
        assert share == pytest.approx(budget / cost / 4)
        assert pacer(Meter(Limits(budget=budget)), share_of_limits=0.5).first_share < share


def test_the_next_part_is_four_times_as_large_where_the_budget_allows_it(part):
    meter = Meter(Limits(budget=10**9))
    assert pacer(meter, caches=True).next_share(part, 1.0) == 1 / 4
    assert pacer(meter, caches=True).next_share(replace(part, share=0.5), 1.0) == 1


def test_a_part_that_was_cached_leaves_more_for_the_next(part):
    n_queries = len(part.reference.tree) + part.n_block_queries
    meter = Meter(Limits(budget=2 * n_queries))
    cached, stepped = (pacer(meter, caches=caches, has_target=True) for caches in (True, False))
    assert cached.next_share(part, 1.0) == pytest.approx(2.8 / 16)
    assert stepped.next_share(part, 1.0) == pytest.approx(2.3 / 16)


def test_no_part_follows_that_is_hardly_larger(part):
    n_queries = len(part.reference.tree) + part.n_block_queries
    with pytest.raises(Stopped, match=r"budget of .* allows no more") as stopped:
        pacer(Meter(Limits(budget=n_queries // 2)), caches=True).next_share(part, 1.0)
    assert stopped.value.reason is StopReason.BUDGET
    with pytest.raises(Stopped, match="the time of 100 s allows no more") as stopped:
        pacer(Meter(Limits(time_limit=100))).next_share(part, 50.0)
    assert stopped.value.reason is StopReason.TIME


def test_a_sufficient_budget_grows_with_the_alphabet_and_the_length_of_words():
    least = sufficient_budget(3, 10, CONDITIONAL)
    assert sufficient_budget(4, 10, CONDITIONAL) > least
    assert sufficient_budget(3, 20, CONDITIONAL) == least + 300


LIMITED = {"max_block_share": 1 / 4, "block_share_of_budget": 1 / 2}


def test_blocks_grow_up_to_their_own_limit(part):
    limited = pacer(Meter(), **LIMITED)
    assert limited.limits_blocks
    assert limited.next_share(part, 1.0) == 1 / 4
    assert not limited.without_block_limits.limits_blocks
    assert limited.without_block_limits.next_share(part, 1.0) == 1


def test_blocks_leave_the_rest_of_a_budget_to_words(part):
    n_queries = len(part.reference.tree) + part.n_block_queries
    meter = Meter(Limits(budget=4 * n_queries), n_answers=2 * n_queries)
    limited = pacer(meter, has_target=True, **LIMITED)
    assert not limited.allows_blocks(part, 1.0)
    assert limited.without_block_limits.allows_blocks(part, 1.0)
    assert pacer(Meter(Limits(budget=40 * n_queries)), **LIMITED).allows_blocks(part, 1.0)


def test_time_that_is_over_ends_blocks_and_words(part):
    late = pacer(Meter(Limits(time_limit=100)), **LIMITED)
    for next_part in (late.allows_blocks, late.next_words):
        with pytest.raises(Stopped, match="the time of 100 s allows no more"):
            next_part(part, 50.0)


def test_words_grow_to_the_whole_or_as_far_as_time_and_target_allow(part):
    n_words = len(part.reference.weights)
    assert pacer(Meter(), **LIMITED).next_words(part, 1.0) == min(64 * n_words, WHOLE.words)
    assert pacer(Meter(), has_target=True, **LIMITED).next_words(part, 1.0) == 4 * n_words
    in_time = pacer(Meter(Limits(time_limit=100)), **LIMITED).next_words(part, 35.0)
    assert in_time == pytest.approx(2 * n_words, rel=0.02)
