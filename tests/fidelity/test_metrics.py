"""Every metric against a plain loop, written from its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.tree import PrefixTree
from seqray.fidelity import metrics
from seqray.util.errors import ArgumentError

WORDS = ["", "a", "ab", "abc", "ab", "ca", "ccca", "a", "bb"]
weights = st.lists(st.floats(-1, 1), min_size=2, max_size=8)


def automaton(seed: int) -> WeightedAutomaton:
    """Return a random automaton that is nearly stochastic, with some negative weights."""
    rng = np.random.default_rng(seed)
    transitions = rng.normal(0.08, 0.1, (3, 3, 3))
    return WeightedAutomaton("abc", rng.random(3), transitions, rng.random(3))


def prefixes(words: list[str]) -> list[tuple[str, str]]:
    """Return every prefix of every word with what follows it, "" for the end."""
    return [(word[:i], word[i : i + 1]) for word in words for i in range(len(word) + 1)]


def order(row: list[float]) -> list[int]:
    return sorted(range(len(row)), key=lambda code: (-row[code], code))


def gain(reference: list[float], chosen: list[int]) -> float:
    return sum(reference[code] / math.log2(k + 1) for k, code in enumerate(chosen, start=1))


def both(seed: int) -> tuple[PrefixTree, np.ndarray, np.ndarray, list, list]:
    """Return next symbols of two automata, by node and (as lists) by prefix of each word."""
    box, wa = automaton(seed), automaton(seed + 100)
    tree = PrefixTree.of(box.alphabet.words(WORDS))
    plain = [prefix for prefix, _ in prefixes(WORDS)]
    by_node = [m.next_symbol(tree.words()) for m in (box, wa)]
    by_prefix = [m.next_symbol(plain).tolist() for m in (box, wa)]
    return tree, *by_node, *by_prefix


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
    nothing = 1e-12 * max(map(abs, values))
    signs = [
        abs(y) <= nothing if x == 0 else x * math.copysign(1, y) > 0 and y != 0
        for x, y in zip(values, others, strict=True)
    ]
    assert metrics.sign_agreement(f, g) == pytest.approx(sum(signs) / len(signs))
    assert metrics.zeros(f) == pytest.approx(sum(x <= 0 for x in values) / len(values))


@pytest.mark.parametrize(
    ("reference", "weights", "share"),
    [
        ([4.0, 0.0], [4.0, 4e-12], 1),  # rounding noise of the largest
        ([4.0, 0.0], [4.0, -4e-12], 1),
        ([4.0, 0.0], [4.0, 5e-12], 0.5),  # too much for that
        ([4.0, 0.0], [4.0, -5e-12], 0.5),
        ([4.0, 1e-15], [4.0, -1e-15], 0.5),  # only where the reference is exactly 0
        ([4.0, 1e-15], [4.0, 0.0], 0.5),
        ([0.0, 0.0], [0.0, 1e-300], 0.5),  # with nothing to compare, all is something
    ],
)
def test_rounding_noise_has_no_sign_where_the_reference_is_zero(reference, weights, share):
    assert metrics.sign_agreement(np.array(reference), np.array(weights)) == share


def test_relative_error_of_a_zero_box_is_zero_or_infinite():
    zero = np.zeros(2)
    assert metrics.relative_error(zero, zero) == 0
    assert metrics.relative_error(zero, np.ones(2)) == math.inf


def test_correlation_equals_numpys_and_is_nan_for_a_constant():
    rng = np.random.default_rng(0)
    f, g = rng.normal(size=9), rng.normal(size=9)
    assert metrics.correlation(f, g) == pytest.approx(np.corrcoef(f, g)[0, 1])
    assert math.isnan(metrics.correlation(f, np.ones(9)))
    assert math.isnan(metrics.correlation(np.ones(9), f))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_ndcg_equals_the_loop_over_every_prefix_of_every_word(seed, n):
    tree, reference, probabilities, references, predictions = both(seed)
    ratios = []
    for true, predicted in zip(references, predictions, strict=True):
        ideal = gain(true, order(true)[:n])
        ratios.append(gain(true, order(predicted)[:n]) / ideal if ideal else 1)
    visits = tree.counts().sum(axis=1)
    found = metrics.ndcg(reference, probabilities, visits, n)
    assert found == pytest.approx(sum(ratios) / len(ratios))


@pytest.mark.parametrize("seed", range(4))
def test_wer_and_disagreement_equal_the_loop_over_every_prefix(seed):
    tree, reference, probabilities, references, predictions = both(seed)
    symbols = ["a", "b", "c", ""]
    seen = [follows for _, follows in prefixes(WORDS)]
    first = [order(row)[0] for row in predictions]
    wrong = [symbols[code] != follows for code, follows in zip(first, seen, strict=True)]
    differ = [order(row)[0] != code for row, code in zip(references, first, strict=True)]
    counts = tree.counts()
    found = metrics.word_error_rate(probabilities, counts)
    assert found == pytest.approx(sum(wrong) / len(wrong))
    found = metrics.disagreement(reference, probabilities, counts.sum(axis=1))
    assert found == pytest.approx(sum(differ) / len(differ))


@pytest.mark.parametrize("seed", range(4))
def test_kl_per_symbol_equals_the_loop_over_every_prefix(seed):
    tree, reference, probabilities, references, predictions = both(seed)
    total = 0.0
    for true, predicted in zip(references, predictions, strict=True):
        for p, q in zip(true, predicted, strict=True):
            total += p * math.log2(p / max(q, 1e-30)) if p > 1e-30 else 0
    found = metrics.kl_per_symbol(reference, probabilities, tree.counts().sum(axis=1))
    assert found == pytest.approx(total / len(references))


@pytest.mark.parametrize("seed", range(4))
def test_the_prepared_reference_gives_what_the_plain_functions_give(seed):
    tree, reference, probabilities, _, _ = both(seed)
    if seed == 3:
        reference[2] = 0  # no gain is possible there
    counts = tree.counts()
    visits = counts.sum(axis=1)
    found = metrics.NextReference.of(reference.T.copy(), counts.T.copy()).measure(
        probabilities.T.copy()
    )
    lost = (visits[2] / visits.sum()) if seed == 3 else None  # all of its probability
    assert found.pop("elsewhere", None) == (None if lost is None else pytest.approx(lost))
    assert found == pytest.approx(
        {
            "ndcg1": metrics.ndcg(reference, probabilities, visits, 1),
            "ndcg5": metrics.ndcg(reference, probabilities, visits, 5),
            "wer": metrics.word_error_rate(probabilities, counts),
            "wer_box": metrics.word_error_rate(reference, counts),
            "disagreement": metrics.disagreement(reference, probabilities, visits),
            "kl_per_symbol": metrics.kl_per_symbol(reference, probabilities, visits),
        }
    )


def test_ndcg_is_not_rounded_above_one():
    above = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        probabilities = rng.dirichlet(np.ones(4), 300).T.copy()
        follows = rng.integers(1, 9, probabilities.shape).astype(float)
        reference = metrics.NextReference.of(probabilities, follows)
        raw = reference._sums(probabilities, slice(None))
        above += int(raw[0] > 1) + int(raw[1] > 1)
        found = reference.measure(probabilities)
        for name in ("ndcg1", "ndcg5"):
            assert found[name] <= 1
            assert found[name] == pytest.approx(1)
    assert above  # or there was nothing to see


@given(st.integers(1, 50), st.integers(0, 9))
def test_places_are_a_stable_order_for_small_and_large_alphabets(n_next, seed):
    probabilities = np.random.default_rng(seed).integers(0, 4, (5, n_next)).astype(float)
    for row, place in zip(
        probabilities.tolist(), metrics.places(probabilities).tolist(), strict=True
    ):
        assert [place.index(k) for k in range(n_next)] == order(row)


def test_arrays_of_two_shapes_are_refused():
    with pytest.raises(ArgumentError, match=r"one shape and not empty, got \(2,\) and \(3,\)"):
        metrics.perplexity(np.ones(2), np.ones(3))
    with pytest.raises(ArgumentError, match="not empty"):
        metrics.max_error(np.ones(0), np.ones(0))
