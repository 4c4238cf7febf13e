import numpy as np
import pytest

import seqray
from automata import FIGURE_1, near
from seqray.fidelity.bootstrap import (
    N_SAMPLES,
    IntervalKind,
    bootstrap,
    confidence_intervals,
    wilson,
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


def test_a_perfect_copy_is_surely_perfect():
    found = seqray.compare(FIGURE_1, FIGURE_1, ["", "a", "ab", "b"] * 5)
    assert found.intervals["ndcg5"] == (1, 1)
    assert found.intervals["perplexity_ratio"] == pytest.approx((1, 1))
    assert found.intervals["kl_per_symbol"] == pytest.approx((0, 0), abs=1e-12)
    assert found.intervals["ratio_per_symbol"] == pytest.approx((1, 1))


def test_few_words_give_no_intervals():
    assert not seqray.compare(FIGURE_1, near(FIGURE_1), ["ab"] * 19).intervals
    assert "ndcg5" in seqray.compare(FIGURE_1, near(FIGURE_1), ["ab"] * 20).intervals


def test_a_box_without_next_symbols_has_intervals_of_words_alone():
    box = seqray.black_box(lambda words: [len(word) - 2.0 for word in words], "ab")
    found = seqray.compare(box, FIGURE_1, ["", "a", "abb"] * 9)
    assert list(found.intervals) == ["relative_error"]


def test_what_is_no_number_in_some_sample_has_no_interval():
    drawn = bootstrap({"odd": lambda drawn: drawn[:, 0] * np.nan}, 3)
    assert drawn == {}


def test_infinite_ends_are_allowed():
    found = bootstrap({"huge": lambda drawn: np.full(len(drawn), np.inf)}, 3)
    assert found == {"huge": (np.inf, np.inf)}


def test_memory_is_bounded_and_the_number_of_samples_is_not(monkeypatch):
    sizes = []
    estimate = lambda drawn: (sizes.append(len(drawn)), drawn.sum(axis=1))[1]  # noqa: E731
    monkeypatch.setattr("seqray.fidelity.bootstrap.MAX_NUMBERS_DRAWN", 1000)
    assert bootstrap({"n": estimate}, 100)["n"] == (100, 100)
    assert max(sizes) <= 10
    assert sum(sizes) == N_SAMPLES


def test_ranks_are_compared_without_intervals_which_would_take_long():
    reference = Reference.query(FIGURE_1, ["", "a"])
    assert not reference.compare(FIGURE_1).intervals


def test_a_share_that_is_0_in_the_sample_may_be_larger():
    found = seqray.compare(FIGURE_1, near(FIGURE_1), ["b", "ab"] * 250)
    assert found["zeros"] == 0
    assert found.intervals["zeros"] == (0, pytest.approx(0.0076, abs=1e-4))


@pytest.mark.parametrize("share", [0.0007, 0.01, 0.3])
def test_intervals_of_rare_events_hold_their_share(share):
    hits = np.random.default_rng(0).binomial(500, share, 2000)
    ends = [wilson(int(n), 500) for n in hits]
    assert 0.93 < np.mean([low <= share <= high for low, high in ends]) < 0.98


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
    kinds = {"ndcg5": IntervalKind.SKEWED_BELOW_1}
    for seed in range(40):
        random = np.random.default_rng(seed)
        loss = 0.1 * (random.random(250) < 0.02) * random.exponential(size=250)
        estimate = {"ndcg5": lambda drawn, loss=loss: 1 - drawn @ loss / 250}
        ends = confidence_intervals(estimate, kinds, 250).get("ndcg5")
        held += ends is None or ends[0] <= 0.998 <= ends[1]
    assert held >= 36
