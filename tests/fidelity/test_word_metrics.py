"""Every metric of the weights of words against a plain loop, written from its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray.fidelity import word_metrics as metrics
from seqray.util.errors import ArgumentError

weights = st.lists(st.floats(-1, 1), min_size=2, max_size=8)


def plain_logs(values: list[float]) -> list[float]:
    raised = [value if value > 0 else 1e-30 for value in values]
    return [math.log2(value) - math.log2(sum(raised)) for value in raised]


@given(weights, st.randoms())
def test_perplexity_and_kl_equal_their_sums(values, random):
    others = random.sample(values, len(values))
    p, q = plain_logs(values), plain_logs(others)
    cross = -sum(2**x * y for x, y in zip(p, q, strict=True))
    entropy = -sum(2**x * x for x in p)
    a, b = np.array(values), np.array(others)
    assert metrics.perplexity(a, b) == pytest.approx(2**cross if cross < 1024 else math.inf)
    assert metrics.kl_divergence(a, b) == pytest.approx(cross - entropy, abs=1e-9)
    assert metrics.perplexity(a, a) == pytest.approx(2**entropy)


def test_weights_that_only_rounding_changes_lose_no_bits():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        weights = rng.random(1000)
        rounded = weights * (1 + rng.choice([-1, 1], 1000) * 2.0**-50)
        assert metrics.kl_divergence(weights, rounded) == metrics.log_error(weights, rounded) == 0
        nearly = weights * (1 + rng.choice([-1, 1], 1000) * 1e-5)
        assert min(metrics.kl_divergence(weights, nearly), metrics.log_error(weights, nearly)) > 0


def test_perplexity_is_unmoved_by_the_scale_of_either_side():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.8])
    assert metrics.perplexity(7 * p, 1e-9 * q) == pytest.approx(metrics.perplexity(p, q))


def test_huge_weights_have_a_perplexity():
    assert metrics.perplexity(np.ones(4), np.full(4, 1e308)) == pytest.approx(4)


@given(weights, st.randoms())
def test_errors_equal_their_sums(values, random):
    others = random.sample(values, len(values))
    f, g = np.array(values), np.array(others)
    squares = sum((x - y) ** 2 for x, y in zip(values, others, strict=True))
    size = math.sqrt(sum(x * x for x in values))
    if size > 1e-100:
        expected = math.sqrt(squares) / size
        assert metrics.relative_error(f, g) == pytest.approx(expected, abs=1e-12)
    differences = [abs(x - y) for x, y in zip(values, others, strict=True)]
    assert metrics.max_error(f, g) == max(differences)
    nothing = 1e-9 * max(map(abs, values))
    counted = [pair for pair in zip(values, others, strict=True) if max(map(abs, pair)) > nothing]
    signs = [np.sign(x) == np.sign(y) for x, y in counted]
    assert metrics.sign_agreement(f, g) == pytest.approx(sum(signs) / len(signs) if signs else 1)
    assert metrics.zeros(f) == pytest.approx(sum(x <= 0 for x in values) / len(values))


@pytest.mark.parametrize(
    ("reference", "weights", "share"),
    [
        ([4.0, -4.0, 0.0], [4.0, 4.0, 4e-9], 0.5),  # the last one does not count
        ([4.0, -4.0, 1e-15], [4.0, 4.0, -1e-15], 0.5),
        ([4.0, -4.0, 0.0], [4.0, 4.0, 0.0], 0.5),
        ([4.0, 0.0], [4.0, 5e-9], 0.5),  # too much for that
        ([4.0, 0.0], [4.0, -5e-9], 0.5),
        ([0.0, 0.0], [0.0, 1e-300], 0),  # with nothing to compare, all is something
        ([0.0, 0.0], [0.0, 0.0], 1),
    ],
)
def test_words_that_both_give_practically_0_have_no_sign(reference, weights, share):
    assert metrics.sign_agreement(np.array(reference), np.array(weights)) == share


def test_relative_error_of_a_zero_box_is_zero_or_infinite():
    zero = np.zeros(2)
    assert metrics.relative_error(zero, zero) == 0
    assert metrics.relative_error(zero, np.ones(2)) == math.inf


def test_the_correlation_of_huge_and_tiny_numbers_is_that_of_others():
    large, small = np.array([1e308, -1e308, 0]), np.array([1.0, -1, 0])
    for f, g in ((large, small), (small, large), (small * 1e-300, large), (large, small * 1e-300)):
        assert metrics.correlation(f, g) == pytest.approx(1)


def test_correlation_equals_numpys_and_is_nan_for_a_constant():
    rng = np.random.default_rng(0)
    f, g = rng.normal(size=9), rng.normal(size=9)
    assert metrics.correlation(f, g) == pytest.approx(np.corrcoef(f, g)[0, 1])
    assert math.isnan(metrics.correlation(f, np.ones(9)))
    assert math.isnan(metrics.correlation(np.ones(9), f))


def test_arrays_of_two_shapes_are_refused():
    with pytest.raises(ArgumentError, match=r"one shape and not empty, got \(2,\) and \(3,\)"):
        metrics.perplexity(np.ones(2), np.ones(3))
    with pytest.raises(ArgumentError, match="not empty"):
        metrics.max_error(np.ones(0), np.ones(0))


def test_a_word_that_one_side_gives_practically_zero_agrees_if_its_sign_does():
    reference, weights = np.array([1.0, 2e-9, 2e-9]), np.array([1.0, 1e-13, -1e-13])
    assert metrics.sign_agreement(reference, weights) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "metric",
    [
        *(metrics.perplexity, metrics.kl_divergence, metrics.relative_error, metrics.log_error),
        *(metrics.weight_agreement, metrics.max_error, metrics.correlation),
        *(metrics.sign_agreement, lambda f, g: metrics.sizes_by_length(f, g, np.arange(2))),
    ],
)
def test_every_metric_refuses_arrays_of_two_shapes_and_empty_ones(metric):
    for f, g in (np.ones(2), np.ones(3)), (np.ones(0), np.ones(0)):
        with pytest.raises(ArgumentError, match="one shape and not empty"):
            metric(f, g)


@given(weights, st.randoms())
def test_the_log_error_equals_its_sum(values, random):
    others = random.sample(values, len(values))
    bits = [
        min(3, abs(math.log2(f) - math.log2(g))) if g > 0 else 3
        for f, g in zip(values, others, strict=True)
        if f > 0
    ]
    value = metrics.log_error(np.array(values), np.array(others))
    assert value == pytest.approx(sum(bits) / len(bits) if bits else math.nan, nan_ok=True)


@given(weights, st.randoms(), st.sampled_from([0, 0.5]))
def test_weight_agreement_equals_its_product(values, random, negligible):
    others = random.sample(values, len(values))
    product = 1.0
    for f, g in zip(values, others, strict=True):
        largest = max(abs(f), abs(g), negligible)
        product *= max(1 / 8, 1 - abs(f / largest - g / largest)) if largest else 1
    f, g = np.array(values), np.array(others)
    expected = product ** (1 / len(values))
    assert metrics.weight_agreement(f, g, np.full(len(f), negligible)) == pytest.approx(expected)
    if not negligible:
        assert metrics.weight_agreement(f, g) == pytest.approx(expected)


@pytest.mark.parametrize(("share", "lighter"), [(None, 1), (0.01, 1), (0.02, 2), (0.5, 50)])
def test_of_the_words_of_a_length_a_share_is_lighter_than_its_size(share, lighter):
    sizes = np.random.default_rng(0).permutation(np.arange(1.0, 102.0))
    weights = np.concatenate([np.where(sizes % 2, sizes, -sizes), [8.0], np.zeros(200)])
    lengths = np.array([2] * 101 + [4] + [2] * 50 + [6] * 150)
    at = np.array([0, 2, 3, 4, 6, 7])
    given_share = {} if share is None else {"share": share}
    heavier = lighter + 1
    expected = [heavier, heavier, math.sqrt(8 * heavier), 8, 8, 8]
    values = metrics.sizes_by_length(weights, lengths, at, **given_share)
    np.testing.assert_allclose(values, expected)


def test_words_that_all_weigh_0_have_size_0():
    sizes = metrics.sizes_by_length(np.zeros(3), np.array([1, 1, 2]), np.array([0, 1]))
    assert sizes.tolist() == [0, 0]


def test_differences_of_the_largest_numbers_are_the_largest_number():
    f, g = np.array([1e308, 0.0]), np.array([-1e308, 0.0])
    assert metrics.max_error(f, g) == np.finfo(float).max
    assert metrics.relative_error(f, g) == pytest.approx(2)
    tiny = np.array([1e-300, 0.0])
    assert metrics.relative_error(tiny, f) == np.finfo(float).max
    assert metrics.relative_error(f, np.array([1e308, 1e308])) == pytest.approx(1)


def test_a_perplexity_beyond_all_numbers_is_infinite():
    one_word = np.array([1.0, 0.0])
    assert metrics.perplexity(one_word, np.array([1e-300, 1.0])) == pytest.approx(1e300)
    assert metrics.perplexity(one_word, np.array([5e-324, 1e308])) == math.inf
