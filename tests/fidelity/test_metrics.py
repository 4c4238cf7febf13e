"""The registry of metrics: one entry is enough for a metric to be measured and shown."""

import numpy as np
import pytest

import seqray
from automata import FIGURE_1
from seqray.fidelity import metrics, word_metrics
from seqray.fidelity.estimates import ratio
from seqray.fidelity.intervals import IntervalKind
from seqray.fidelity.metrics import METRICS, Metric

WORDS = ["", "a", "ab", "b"] * 20


def bias(both):
    return float((both.automaton.weights - both.box.weights).mean())


def bias_estimate(both):
    difference = both.automaton.weights - both.box.weights
    return ratio(difference, np.ones(len(difference)))


@pytest.fixture
def near():
    transitions = FIGURE_1.transitions * 0.9
    return seqray.WeightedAutomaton("ab", FIGURE_1.initial, transitions, FIGURE_1.final)


def register(monkeypatch, metric):
    monkeypatch.setattr(metrics, "METRICS", (*METRICS, metric))
    monkeypatch.setitem(metrics.MEANINGS, metric.name, metric.meaning)


def test_a_metric_is_added_by_one_entry(monkeypatch, near):
    register(monkeypatch, Metric("bias", "mean difference of the two weights", bias))
    fidelity = seqray.compare(FIGURE_1, near, WORDS)
    expected = np.mean(near.weights(WORDS) - FIGURE_1.weights(WORDS))
    assert fidelity["bias"] == pytest.approx(expected)
    assert [*fidelity][-1] == "bias"
    assert "bias" not in fidelity.intervals
    assert "mean difference of the two weights" in repr(fidelity)


def test_a_metric_with_an_estimate_has_an_interval(monkeypatch, near):
    kind = IntervalKind.LOSS
    register(monkeypatch, Metric("bias", "mean difference", bias, kind, bias_estimate))
    fidelity = seqray.compare(near, FIGURE_1, WORDS)
    low, high = fidelity.intervals["bias"]
    assert low < fidelity["bias"] < high


def test_a_metric_that_makes_no_sense_is_left_out(monkeypatch, near):
    register(monkeypatch, Metric("never", "makes no sense", lambda both: None))
    assert "never" not in seqray.compare(FIGURE_1, near, WORDS)


def test_what_follows_from_another_metric_has_the_interval_that_follows(near):
    fidelity = seqray.compare(FIGURE_1, near, WORDS)
    low, high = fidelity.intervals["kl_per_symbol"]
    assert fidelity.intervals["ratio_per_symbol"] == pytest.approx((2**-high, 2**-low))


def test_divergence_comes_first_and_what_the_paper_measured_last(near):
    names = [*seqray.compare(FIGURE_1, near, WORDS)]
    assert names[:3] == ["kl_per_symbol", "kl_per_word", "ratio_per_symbol"]
    assert names[-4:] == ["perplexity", "perplexity_box", "perplexity_ratio", "kl"]
    assert "normalised over these words" in metrics.MEANINGS["kl"]


@pytest.fixture(scope="module")
def many_words(pair):
    return pair[0].sample(1000, seed=np.random.default_rng(2)).words


def test_names_are_unique_and_every_interval_has_an_estimate(pair, many_words):
    names = [metric.name for metric in METRICS]
    assert len({*names}) == len(names)
    fidelity = seqray.compare(*pair[:2], many_words)
    with_interval = {each.name for each in METRICS if each.interval is not None}
    assert set(fidelity.intervals) == with_interval & set(fidelity)


def test_negative_weights_leave_the_logarithms_without_an_interval(pair, many_words):
    box, near, _ = pair
    always = {"ndcg1", "ndcg5", "disagreement", "wer", "zeros"}
    logarithms = {"kl_per_symbol", "kl_per_word", "ratio_per_symbol"}
    assert always | logarithms <= set(seqray.compare(box, near, many_words).intervals)
    transitions = near.transitions - 1e-6
    negative = seqray.WeightedAutomaton(box.alphabet, near.initial, transitions, near.final)
    names = set(seqray.compare(box, negative, many_words).intervals)
    assert always <= names
    assert not logarithms & names


def test_the_perplexities_are_those_of_the_weights(near):
    fidelity = seqray.compare(FIGURE_1, near, WORDS)
    box, copy = FIGURE_1.weights(WORDS), near.weights(WORDS)
    own, theirs = word_metrics.perplexity(box, box), word_metrics.perplexity(box, copy)
    assert own < theirs
    assert fidelity["perplexity_box"] == pytest.approx(own)
    assert fidelity["perplexity"] == pytest.approx(theirs)
    assert fidelity["perplexity_ratio"] == pytest.approx(own / theirs)


def test_the_leak_of_a_box_is_compared_where_it_has_one(near):
    def one_state(leak):
        parts = [1], [[[0.5 * (1 - leak)]], [[0.2 * (1 - leak)]]], [0.3 * (1 - leak)]
        return seqray.WeightedAutomaton("ab", *parts, elsewhere=[leak])

    fidelity = seqray.compare(one_state(0.25), one_state(0.125), WORDS)
    assert fidelity["elsewhere"] == pytest.approx(0.125)
    assert "elsewhere" not in seqray.compare(FIGURE_1, near, WORDS)


def test_metrics_of_next_symbols_are_left_out_where_the_box_does_not_predict(near):
    growing = seqray.WeightedAutomaton("ab", [1], [[[3]], [[0]]], [-2])
    by_weights = seqray.compare(growing, near, WORDS)
    assert not {"kl_per_symbol", "ndcg1", "elsewhere"} & set(by_weights)
    assert {"relative_error", "correlation"} <= set(by_weights)
    assert "kl_per_symbol" in seqray.compare(FIGURE_1, near, WORDS)
