"""Every metric of next symbols against a plain loop, written from its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.tree import PrefixTree
from seqray.fidelity import next_symbol_metrics as metrics
from seqray.util.errors import ArgumentError

WORDS = ["", "a", "ab", "abc", "ab", "ca", "ccca", "a", "bb"]


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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_ndcg_equals_the_loop_over_every_prefix_of_every_word(seed, n):
    tree, reference, probabilities, references, predictions = both(seed)
    ratios = []
    for true, predicted in zip(references, predictions, strict=True):
        ideal = gain(true, order(true)[:n])
        ratios.append(gain(true, order(predicted)[:n]) / ideal if ideal else 1)
    visits = tree.counts().sum(axis=1)
    values = metrics.ndcg(reference, probabilities, visits, n)
    assert values == pytest.approx(sum(ratios) / len(ratios))


@pytest.mark.parametrize("seed", range(4))
def test_wer_and_disagreement_equal_the_loop_over_every_prefix(seed):
    tree, reference, probabilities, references, predictions = both(seed)
    symbols = ["a", "b", "c", ""]
    seen = [follows for _, follows in prefixes(WORDS)]
    first = [order(row)[0] for row in predictions]
    wrong = [symbols[code] != follows for code, follows in zip(first, seen, strict=True)]
    differ = [order(row)[0] != code for row, code in zip(references, first, strict=True)]
    counts = tree.counts()
    values = metrics.word_error_rate(probabilities, counts)
    assert values == pytest.approx(sum(wrong) / len(wrong))
    values = metrics.disagreement(reference, probabilities, counts.sum(axis=1))
    assert values == pytest.approx(sum(differ) / len(differ))


@pytest.mark.parametrize("seed", range(4))
def test_kl_per_symbol_equals_the_loop_over_every_prefix(seed):
    tree, reference, probabilities, references, predictions = both(seed)
    total = 0.0
    for true, predicted in zip(references, predictions, strict=True):
        scale = max(1.0, sum(q for q in predicted if q > 0))
        for p, q in zip(true, predicted, strict=True):
            total += p * math.log2(p * scale / max(q, 1e-30)) if p > 1e-30 else 0
    counts = tree.counts()
    values = metrics.kl_per_symbol(reference, probabilities, counts.sum(axis=1))
    assert values == pytest.approx(total / len(references))
    values = metrics.kl_per_word(reference, probabilities, counts)
    assert values == pytest.approx(total / len(WORDS))


@given(st.integers(0, 1000))
def test_no_divergence_is_negative_whatever_an_automaton_predicts(seed):
    rng = np.random.default_rng(seed)
    reference = rng.dirichlet(np.full(4, 0.5), 20)
    predicted = reference + rng.normal(0, 0.3, (20, 4))
    predicted /= predicted.sum(axis=1, keepdims=True)  # as an automaton's, with negative entries
    assert metrics.divergences(reference, predicted).min() > -1e-12


def test_a_probability_that_is_not_positive_costs_many_bits():
    reference = np.array([[0.5, 0.25, 0.25]])
    clipped, near = np.array([[0.6, 0.5, -0.1]]), np.array([[0.6, 0.399, 0.001]])
    assert metrics.divergences(reference, near)[0] < 2
    assert metrics.divergences(reference, clipped)[0] > 0.25 * 90


@pytest.mark.parametrize("seed", range(4))
def test_the_prepared_reference_gives_what_the_plain_functions_give(seed):
    tree, reference, probabilities, _, _ = both(seed)
    if seed == 3:
        reference[2] = 0  # no gain is possible there
    counts = tree.counts()
    visits = counts.sum(axis=1)
    values = metrics.NextSymbolReference.of(reference.T.copy(), counts.T.copy()).measure(
        probabilities.T.copy()
    )
    expected = {
        "ndcg1": metrics.ndcg(reference, probabilities, visits, 1),
        "ndcg5": metrics.ndcg(reference, probabilities, visits, 5),
        "wer": metrics.word_error_rate(probabilities, counts),
        "wer_box": metrics.word_error_rate(reference, counts),
        "disagreement": metrics.disagreement(reference, probabilities, visits),
        "kl_per_symbol": metrics.kl_per_symbol(reference, probabilities, visits),
        "kl_per_word": metrics.kl_per_word(reference, probabilities, counts),
        "ratio_per_symbol": 2 ** -metrics.kl_per_symbol(reference, probabilities, visits),
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected)


def test_elsewhere_is_the_mean_difference_of_the_leaks_and_only_of_boxes_that_leak():
    predicted, visits = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([3.0, 1.0])
    whole, leaking = np.array([[0.5, 0.5], [1, 0]]), np.array([[0.5, 0.5], [0, 0]])
    assert metrics.elsewhere(whole, predicted, visits) is None
    assert metrics.elsewhere(leaking, predicted, visits) == pytest.approx(0.25)


def test_ndcg_is_not_rounded_above_one():
    for seed in range(50):  # the plain sums of some of these are above 1
        rng = np.random.default_rng(seed)
        probabilities = rng.dirichlet(np.ones(4), 300).T.copy()
        follows = rng.integers(1, 9, probabilities.shape).astype(float)
        reference = metrics.NextSymbolReference.of(probabilities, follows)
        values = reference.measure(probabilities)
        for name in ("ndcg1", "ndcg5"):
            assert values[name] <= 1
            assert values[name] == pytest.approx(1)


@given(st.integers(1, 50), st.integers(0, 9))
def test_places_are_a_stable_order_for_small_and_large_alphabets(n_next, seed):
    probabilities = np.random.default_rng(seed).integers(0, 4, (5, n_next)).astype(float)
    for row, place in zip(
        probabilities.tolist(), metrics.places(probabilities).tolist(), strict=True
    ):
        assert [place.index(k) for k in range(n_next)] == order(row)


@given(st.integers(1, 50), st.integers(0, 9))
def test_best_symbols_are_the_first_places(n_next, seed):
    probabilities = np.random.default_rng(seed).integers(0, 4, (5, n_next)).astype(float)
    best = metrics.best_symbols(probabilities.T, 5)
    assert best.T.tolist() == [order(row)[:5] for row in probabilities.tolist()]
    reference = np.random.default_rng(seed + 1).random((5, n_next))
    gains = [gain(row, order(own)[:5]) for row, own in zip(reference, probabilities, strict=True)]
    assert metrics.gain_of_best(reference.T, best) == pytest.approx(gains)


def test_best_symbols_of_many_nodes_are_those_of_each_node():
    probabilities = np.random.default_rng(0).integers(0, 9, (600, 40)).astype(float)
    best = metrics.best_symbols(probabilities.T, 5)
    assert best.T.tolist() == [order(row)[:5] for row in probabilities.tolist()]


@given(st.integers(2, 80), st.integers(0, 9))
def test_metrics_of_many_symbols_are_those_of_few(n_next, seed):
    rng = np.random.default_rng(seed)
    box, predicted = (rng.dirichlet(np.ones(n_next), 6) for _ in range(2))
    follows = rng.integers(1, 5, (6, n_next)).astype(float)
    values = metrics.NextSymbolReference.of(box.T, follows.T).measure(predicted.T)
    counts = follows.sum(axis=1)
    assert values["ndcg5"] == pytest.approx(metrics.ndcg(box, predicted, counts, 5))
    assert values["wer"] == pytest.approx(metrics.word_error_rate(predicted, follows))


@pytest.mark.parametrize(
    "metric",
    [
        lambda p, q: metrics.discounted_gain(p, q.astype(int), 1),
        lambda p, q: metrics.ndcg(p, q, np.ones(len(p)), 1),
        metrics.word_error_rate,
        lambda p, q: metrics.disagreement(p, q, np.ones(len(p))),
        lambda p, q: metrics.kl_per_symbol(p, q, np.ones(len(p))),
        metrics.divergences,
        lambda p, q: metrics.average(p[0], q[0]),
    ],
)
def test_every_metric_refuses_arrays_of_two_shapes(metric):
    for p, q in (np.ones((1, 2)), np.ones((1, 1))), (np.ones((1, 1)), np.ones((1, 2))):
        with pytest.raises(ArgumentError, match="one shape and not empty"):
            metric(p, q)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("kept", [1.0, 0.8])  # of a box that leaks
def test_nodes_are_measured_in_chunks_of_any_size(monkeypatch, size, kept):
    tree, reference, probabilities, _, _ = both(1)
    prepared = metrics.NextSymbolReference.of(kept * reference.T, tree.counts().T.copy())
    expected = prepared.measure(probabilities.T.copy())
    monkeypatch.setattr(metrics, "NODES_PER_CHUNK", size)
    assert prepared.measure(probabilities.T.copy()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("n_symbols", "sizes"), [(2**22, [2, 1]), (2**23, [1] * 3), (9**9, [1] * 3)]
)
def test_nodes_with_millions_of_symbols_are_measured_one_or_two_at_a_time(n_symbols, sizes):
    assert [here.stop - here.start for here in metrics.chunks(3, n_symbols)] == sizes


@pytest.mark.parametrize("kept", [1.0, 0.8])
def test_a_leaking_box_is_measured_with_elsewhere_as_one_more_outcome(kept):
    rng = np.random.default_rng(0)
    reference, predicted = (kept * rng.dirichlet(np.ones(4), 30) for _ in range(2))
    follows = rng.integers(1, 9, reference.shape).astype(float)
    counts = follows.sum(axis=1) / follows.sum()
    entropy = divergence = 0.0
    for p, q, count in zip(reference.tolist(), predicted.tolist(), counts, strict=True):
        outcomes = [(*p, 1 - kept), (*q, 1 - kept)] if kept < 1 else [p, q]
        for x, y in zip(*outcomes, strict=True):
            entropy -= count * x * math.log2(x)
            divergence += count * x * math.log2(x / y)
    prepared = metrics.NextSymbolReference.of(reference.T.copy(), follows.T.copy())
    assert prepared.leaks == (kept < 1)
    values = prepared.measure(predicted.T.copy())
    assert values["entropy_per_symbol"] == pytest.approx(entropy)
    assert values["kl_per_symbol"] == pytest.approx(divergence)
    assert values["ratio_per_symbol"] == pytest.approx(2**-divergence)
    per_word = divergence * follows.sum() / follows[:, -1].sum()
    assert values["kl_per_word"] == pytest.approx(per_word)
    plain = metrics.kl_per_symbol(reference, predicted, follows.sum(axis=1))
    assert plain == pytest.approx(divergence)


@pytest.mark.parametrize("seed", range(5))
def test_what_only_rounding_changes_is_no_loss_and_what_hardly_differs_is_one(seed):
    rng = np.random.default_rng(seed)
    reference = rng.dirichlet(np.ones(5), 3000)
    rounded = reference * (1 + rng.choice([-1, 1], reference.shape) * 2.0**-52)
    nearly = reference + 1e-5 * rng.choice([-1, 1], (3000, 1)) * [1, -1, 0, 0, 0]
    follows = rng.integers(1, 9, reference.shape).astype(float)
    prepared = metrics.NextSymbolReference.of(reference.T.copy(), follows.T.copy())
    values = prepared.measure(rounded.T.copy())
    assert values["kl_per_symbol"] == values["kl_per_word"] == 0
    assert values["ratio_per_symbol"] == 1
    assert metrics.kl_per_symbol(reference, rounded, follows.sum(axis=1)) == 0
    assert 1e-12 < prepared.measure(nearly.T.copy())["kl_per_symbol"] < 1e-6


def test_a_certain_box_has_no_entropy_and_its_copy_no_divergence():
    certain = np.array([[1.0, 0.0], [0.0, 1.0]])
    values = metrics.NextSymbolReference.of(certain, np.ones((2, 2))).measure(certain)
    assert (values["entropy_per_symbol"], values["kl_per_symbol"]) == (0, 0)
    assert values["ratio_per_symbol"] == values["ndcg1"] == values["ndcg5"] == 1


@pytest.mark.parametrize("n", [1, 5])
def test_of_many_next_symbols_only_the_first_count(n):
    rng = np.random.default_rng(0)
    reference, predicted = rng.dirichlet(np.ones(9), (2, 20))
    follows = rng.integers(1, 9, reference.shape).astype(float)
    ratios = []
    for true, other in zip(reference.tolist(), predicted.tolist(), strict=True):
        ratios.append(gain(true, order(other)[:n]) / gain(true, order(true)[:n]))
    expected = np.average(ratios, weights=follows.sum(axis=1))
    prepared = metrics.NextSymbolReference.of(reference.T.copy(), follows.T.copy())
    assert prepared.measure(predicted.T.copy())[f"ndcg{n}"] == pytest.approx(expected)
