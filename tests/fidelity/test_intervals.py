import numpy as np
import pytest
from scipy.stats import binom

import seqray
from automata import FIGURE_1, near
from seqray.fidelity.intervals import (
    MAX_GAMMA_SHAPE,
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
    for seed in range(20):
        words = box.sample(1000, seed=np.random.default_rng(seed)).words
        found = seqray.compare(box, automaton, words)
        for name in held:
            low, high = found.intervals[name]
            assert low <= found[name] <= high
            held[name] += low <= truth[name] <= high
    assert min(held.values()) >= 16  # 19 of 20 expected


def test_where_no_word_loses_anything_there_is_no_interval_of_losses():
    found = seqray.compare(FIGURE_1, FIGURE_1, ["", "a", "ab", "b"] * 25)
    assert set(found.intervals) == {"wer", "zeros"}


def test_a_loss_that_few_words_make_up_has_no_interval():
    losses = np.zeros(1000)
    for n_losing, has_interval in ((1, False), (3, False), (35, False), (50, True)):
        losses[:n_losing] = 4.0
        mean = Estimate((losses.copy(), np.ones(1000)), np.divide)
        found = confidence_intervals({"loss": mean}, {"loss": IntervalKind.LOSS}, 1000)
        assert ("loss" in found) == has_interval


def test_a_loss_whose_error_few_words_make_up_has_no_interval():
    losses = np.full(1000, 1.0)
    losses[:50] = 1.5
    for largest, has_interval in ((1.5, True), (9.0, False)):
        losses[0] = largest
        mean = Estimate((losses.copy(), np.ones(1000)), np.divide)
        found = confidence_intervals({"loss": mean}, {"loss": IntervalKind.LOSS}, 1000)
        assert ("loss" in found) == has_interval


def test_a_loss_that_all_words_have_alike_has_no_interval():
    mean = Estimate((np.full(100, 0.3), np.ones(100)), np.divide)
    assert confidence_intervals({"loss": mean}, {"loss": IntervalKind.LOSS}, 100) == {}


def test_a_share_near_1_has_the_mirrored_interval_of_one_near_0():
    rare = np.zeros(400)
    rare[:60] = 0.3
    ones = np.ones(400)
    both = {"low": Estimate((rare, ones), np.divide), "high": Estimate((1 - rare, ones), np.divide)}
    found = confidence_intervals(both, dict.fromkeys(both, IntervalKind.SHARE), 400)
    assert found["high"] == pytest.approx((1 - found["low"][1], 1 - found["low"][0]))


@pytest.mark.parametrize(("n_hits", "n_words"), [(0, 500), (1, 500), (9, 500), (10, 500), (4, 50)])
def test_a_share_that_few_words_lack_has_the_mirrored_interval_of_one_that_few_show(
    n_hits, n_words
):
    low, high = exact_share(n_hits, n_words)
    assert exact_share(n_words - n_hits, n_words) == pytest.approx((1 - high, 1 - low))
    assert low <= n_hits / n_words < high


def test_the_interval_of_a_loss_is_continuous_where_the_normal_distribution_takes_over():
    loss = 0.1
    variances = [loss**2 / (MAX_GAMMA_SHAPE * factor) for factor in (0.99, 1.01)]
    (gamma_low, gamma_high), (low, high) = (loss_interval(loss, each, 0.0) for each in variances)
    error = 1.96 * variances[0] ** 0.5
    assert low == pytest.approx(gamma_low, abs=0.02 * error)
    assert high == pytest.approx(gamma_high, abs=0.02 * error)
    assert loss - low == pytest.approx(error, rel=0.02)
    assert high - loss == pytest.approx(error, rel=0.02)


def test_the_error_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(3, 1, 10_000)
    spread = Estimate((values, np.ones(10_000)), np.divide).spread()
    assert spread.variance == pytest.approx(values.var(ddof=1) / 10_000)
    low, high = loss_interval(spread.value, spread.variance, 0.0)
    assert (low, high) == pytest.approx((spread.value - 0.0196, spread.value + 0.0196), abs=4e-4)
    assert signed_interval(spread.value, spread.variance, 0, 0) == pytest.approx((low, high), 1e-4)


def test_few_words_give_no_intervals():
    assert not seqray.compare(FIGURE_1, near(FIGURE_1), ["ab"] * 19).intervals
    assert "zeros" in seqray.compare(FIGURE_1, near(FIGURE_1), ["ab"] * 20).intervals


def test_a_box_without_next_symbols_has_no_interval():
    box = seqray.black_box(lambda words: [len(word) - 2.0 for word in words], "ab")
    assert not seqray.compare(box, FIGURE_1, ["", "a", "abb"] * 30).intervals


def test_what_is_no_number_without_some_word_has_no_interval():
    one = np.eye(1, 30)[0]
    only = {"odd": Estimate((np.ones(30), one), np.divide)}
    assert confidence_intervals(only, {"odd": IntervalKind.LOSS}, 30) == {}


@pytest.mark.parametrize("size", [1e160, 1e100, 1e-170])
def test_weights_of_any_size_are_compared(size):
    far = seqray.WeightedAutomaton("ab", [size], [[[0.3]], [[0.2]]], [1.0])
    found = seqray.compare(FIGURE_1, far, ["", "a", "abb"] * 30)
    assert found["relative_error"] >= 0.99


def test_ranks_are_compared_without_intervals_which_would_take_long():
    reference = Reference.query(FIGURE_1, ["", "a"])
    assert not reference.compare(FIGURE_1).intervals


def test_a_share_that_is_0_in_the_sample_may_be_larger():
    found = seqray.compare(FIGURE_1, near(FIGURE_1), ["b", "ab"] * 250)
    assert found["zeros"] == 0
    assert found.intervals["zeros"] == (0, pytest.approx(0.00597, abs=1e-4))


@pytest.mark.parametrize("n_expected", [3.05, 4.8, 9, 12, 30, 250])
def test_a_share_that_three_words_or_more_show_is_held_as_often_as_its_interval_says(n_expected):
    """Of 500 words; Clopper and Pearson's interval held rare shares in up to 99 % of samples."""
    share, hits = n_expected / 500, np.arange(501)
    ends = np.array([exact_share(n, 500) for n in hits.tolist()])
    holds = (ends[:, 0] <= share) & (share <= ends[:, 1])
    assert 0.92 < binom.pmf(hits, 500, share)[holds].sum() < 0.98


@pytest.mark.parametrize("n_expected", [0.1, 1, 2.9])
def test_a_rarer_share_is_always_held(n_expected):
    assert exact_share(0, 500)[1] > n_expected / 500
    assert exact_share(3, 500)[0] == 0


def test_a_share_of_no_words_may_be_anything():
    assert exact_share(0, 0) == (0, 1)
    assert exact_share(0, 9)[0] == 0
    assert exact_share(9, 9)[1] == 1


def test_what_a_negative_weight_may_make_infinite_has_no_interval(pair):
    box, automaton, _ = pair
    words = box.sample(1000, seed=np.random.default_rng(2)).words
    fine = seqray.compare(box, automaton, words).intervals
    turned = np.array(automaton.transitions)
    turned[0, 0, 0] = -1e-3
    may_be_negative = seqray.WeightedAutomaton(box.alphabet, box.initial, turned, box.final)
    none = seqray.compare(box, may_be_negative, words).intervals
    bits = {"kl_per_symbol", "kl_per_word", "ratio_per_symbol"}
    assert set(fine) - set(none) == bits
