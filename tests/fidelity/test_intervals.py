import numpy as np
import pytest

import seqray
from automata import FIGURE_1, near
from seqray.fidelity.intervals import (
    Estimate,
    IntervalKind,
    confidence_intervals,
    exact_share,
    loss_interval,
    signed_interval,
)
from seqray.fidelity.reference import Reference


def test_intervals_hold_the_value_of_new_words_about_as_often_as_they_say(pair):
    box, automaton, _ = pair
    truth = seqray.compare(box, automaton, box.sample(10_000, seed=np.random.default_rng(99)).words)
    held = dict.fromkeys(["ndcg5", "kl_per_symbol", "kl_per_word", "ratio_per_symbol", "wer"], 0)
    for seed in range(40):
        words = box.sample(60, seed=np.random.default_rng(seed)).words
        found = seqray.compare(box, automaton, words)
        for name in held:
            low, high = found.intervals[name]
            assert low <= found[name] <= high
            held[name] += low <= truth[name] <= high
    assert min(held.values()) >= 33  # 38 of 40 expected


def test_a_copy_that_loses_nothing_on_these_words_may_lose_on_others():
    found = seqray.compare(FIGURE_1, FIGURE_1, ["", "a", "ab", "b"] * 25)
    assert found.intervals["ndcg5"] == (pytest.approx(1 - 0.0369, abs=2e-4), 1)
    assert found.intervals["disagreement"] == (0, pytest.approx(0.0369, abs=2e-4))
    assert not {"kl_per_symbol", "ratio_per_symbol", "kl", "relative_error"} & set(found.intervals)


def test_a_loss_that_one_word_makes_up_has_no_interval():
    losses = np.zeros(1000)
    for n_losing, has_interval in ((1, False), (3, False), (12, True)):
        losses[:n_losing] = 4.0
        mean = Estimate((losses.copy(), np.ones(1000)), np.divide)
        found = confidence_intervals({"loss": mean}, {"loss": IntervalKind.LOSS}, 1000)
        assert ("loss" in found) == has_interval


def test_a_share_near_1_has_the_mirrored_interval_of_one_near_0():
    rare = np.zeros(400)
    rare[:9] = 0.3
    ones = np.ones(400)
    both = {"low": Estimate((rare, ones), np.divide), "high": Estimate((1 - rare, ones), np.divide)}
    found = confidence_intervals(both, dict.fromkeys(both, IntervalKind.SHARE), 400)
    assert found["high"] == pytest.approx((1 - found["low"][1], 1 - found["low"][0]))


def test_the_error_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(3, 1, 10_000)
    spread = Estimate((values, np.ones(10_000)), np.divide).spread()
    assert spread.variance == pytest.approx(values.var(ddof=1) / 10_000)
    low, high = loss_interval(spread.value, spread.variance, 0.0)
    assert (low, high) == pytest.approx((spread.value - 0.0196, spread.value + 0.0196), abs=4e-4)
    assert signed_interval(spread.value, spread.variance, 0, 0) == pytest.approx((low, high), 1e-4)


def test_few_words_give_no_intervals():
    assert not seqray.compare(FIGURE_1, near(FIGURE_1), ["ab"] * 19).intervals
    assert "ndcg5" in seqray.compare(FIGURE_1, near(FIGURE_1), ["ab"] * 20).intervals


def test_a_box_without_next_symbols_has_intervals_of_words_alone():
    box = seqray.black_box(lambda words: [len(word) - 2.0 for word in words], "ab")
    found = seqray.compare(box, FIGURE_1, ["", "a", "abb"] * 9)
    assert list(found.intervals) == ["relative_error"]


def test_what_is_no_number_without_some_word_has_no_interval():
    one = np.eye(1, 30)[0]
    only = {"odd": Estimate((np.ones(30), one), np.divide)}
    assert confidence_intervals(only, {"odd": IntervalKind.SIGNED}, 30) == {}


@pytest.mark.parametrize("size", [1e160, 1e100, 1e-170])
def test_weights_of_any_size_are_compared(size):
    far = seqray.WeightedAutomaton("ab", [size], [[[0.3]], [[0.2]]], [1.0])
    found = seqray.compare(FIGURE_1, far, ["", "a", "abb"] * 9)
    assert found["relative_error"] >= 0.99
    assert ("relative_error" in found.intervals) == (size < 1)


def test_ranks_are_compared_without_intervals_which_would_take_long():
    reference = Reference.query(FIGURE_1, ["", "a"])
    assert not reference.compare(FIGURE_1).intervals


def test_a_share_that_is_0_in_the_sample_may_be_larger():
    found = seqray.compare(FIGURE_1, near(FIGURE_1), ["b", "ab"] * 250)
    assert found["zeros"] == 0
    assert found.intervals["zeros"] == (0, pytest.approx(0.00735, abs=1e-4))


@pytest.mark.parametrize("share", [0.0003, 0.0007, 0.006, 0.01, 0.3])
def test_intervals_of_rare_events_hold_their_share(share):
    """Wilson's interval held a share of 0.0003 in 86 % of samples of 500 words."""
    hits = np.random.default_rng(0).binomial(500, share, 2000)
    ends = [exact_share(int(n), 500) for n in hits]
    assert np.mean([low <= share <= high for low, high in ends]) > 0.94


def test_a_share_of_no_words_may_be_anything():
    assert exact_share(0, 0) == (0, 1)
    assert exact_share(0, 9)[0] == 0
    assert exact_share(9, 9)[1] == 1


def test_what_a_negative_weight_may_make_infinite_has_no_interval(pair):
    box, automaton, words = pair
    fine = seqray.compare(box, automaton, words).intervals
    turned = np.array(automaton.transitions)
    turned[0, 0, 0] = -1e-3
    may_be_negative = seqray.WeightedAutomaton(box.alphabet, box.initial, turned, box.final)
    none = seqray.compare(box, may_be_negative, words).intervals
    bits = {"kl_per_symbol", "kl_per_word", "ratio_per_symbol"}
    assert set(fine) - set(none) == {"kl", "perplexity_ratio", *bits}


def test_what_ndcg_loses_on_few_words_is_held_by_its_interval():
    held = 0
    kinds = {"ndcg5": IntervalKind.SHARE}
    for seed in range(40):
        random = np.random.default_rng(seed)
        loss = 0.1 * (random.random(250) < 0.02) * random.exponential(size=250)
        estimate = {"ndcg5": Estimate((1 - loss, np.ones(250)), np.divide)}
        low, high = confidence_intervals(estimate, kinds, 250)["ndcg5"]
        held += low <= 0.998 <= high
    assert held >= 36
