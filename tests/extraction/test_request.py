from conditional_boxes import demo, model
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.oracle import attended
from seqray.extraction.request import FEWEST, draw_within
from told import rng


def test_an_eighth_of_the_budget_is_for_words_to_compare_on():
    for budget in (400, 4000, 80_000):
        meter = Meter(budget)
        known = draw_within(attended(demo(), meter), 1000, 50, rng(), meter)
        assert meter.n_asked <= max(150, budget / 7)
        assert len(known.weights) >= FEWEST
    assert len(known.weights) == 1000


def test_an_eighth_of_the_time_is_for_words_to_compare_on():
    meter = Meter(seconds=2)
    box = attended(model(pause=1e-3), meter)
    known = draw_within(box, 1000, 20, rng(), meter)
    assert FEWEST <= len(known.weights) < 1000
    assert meter.elapsed < 1


def test_limits_that_are_far_away_make_no_difference_to_the_words():
    whole = draw_within(demo(), 200, 50, rng(), Meter())
    assert len(whole.weights) == 200
    for meter in (Meter(budget=10**9), Meter(seconds=1000)):
        words = draw_within(attended(demo(), meter), 200, 50, rng(), meter).words
        assert words == whole.words
