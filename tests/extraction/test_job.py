from conditional_boxes import demo, model
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.job import MIN_WORDS, draw_within
from told import rng


def test_an_eighth_of_the_budget_is_for_words_to_compare_on():
    for budget in (400, 4000, 80_000):
        meter = Meter(Limits(budget))
        known = draw_within(open_oracle(demo(), meter).predictor, 1000, 50, rng(), meter)
        assert meter.n_answers <= max(150, budget / 7)
        assert len(known.weights) >= MIN_WORDS
    assert len(known.weights) == 1000


def test_an_eighth_of_the_time_is_for_words_to_compare_on():
    meter = Meter(Limits(time_limit=2))
    box = open_oracle(model(pause=1e-3), meter).predictor
    known = draw_within(box, 1000, 20, rng(), meter)
    assert MIN_WORDS <= len(known.weights) < 1000
    assert meter.elapsed < 1


def test_limits_that_are_far_away_make_no_difference_to_the_words():
    whole = draw_within(demo(), 200, 50, rng(), Meter())
    assert len(whole.weights) == 200
    for meter in (Meter(Limits(budget=10**9)), Meter(Limits(time_limit=1000))):
        words = draw_within(open_oracle(demo(), meter).predictor, 200, 50, rng(), meter).words
        assert words == whole.words
