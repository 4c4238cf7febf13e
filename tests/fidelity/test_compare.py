"""Comparing a box with automata: every method gives the same numbers, and what is left out when."""

import numpy as np
import pytest

import seqray
from automata import markov_chain
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.tree import PrefixTree
from seqray.blackbox.native.function import black_box, language_model
from seqray.fidelity import next_symbol_metrics, word_metrics
from seqray.fidelity.compare import compare, compare_ranks
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.reference import Reference
from seqray.util.errors import ArgumentError, BlackBoxError

WORD_METRICS = {
    *("relative_error", "max_error", "correlation", "sign_agreement", "weight_agreement"),
}
PERPLEXITIES = {"perplexity", "perplexity_box", "perplexity_ratio", "kl", "zeros"}
DISTRIBUTIONS = PERPLEXITIES | {"log_error"}
NEXT_METRICS = {
    *("ndcg1", "ndcg5", "wer", "wer_box", "disagreement", "kl_per_symbol", "kl_per_word"),
    *("ratio_per_symbol", "entropy_per_symbol"),
}
MEASURED = WORD_METRICS | DISTRIBUTIONS | NEXT_METRICS
"""A new metric need not be listed: it has a test of its own."""


class OnlyWeights:
    """A box that hides everything but the weights of words, and counts the queries."""

    def __init__(self, inner):
        self.inner, self.alphabet, self.n_queried = inner, inner.alphabet, 0

    def weights(self, words):
        self.n_queried += len(words)
        return self.inner.weights(words)


class OnlySteps(OnlyWeights):
    """A stepper that does not predict."""

    def start(self):
        return self.inner.start()

    def step(self, states, parents, symbols):
        return self.inner.step(states, parents, symbols)

    def state_weights(self, states):
        return self.inner.state_weights(states)


def test_a_box_compared_with_itself_is_a_perfect_copy(box, words):
    fidelity = compare(box, box, words)
    assert set(fidelity) >= MEASURED
    assert list(fidelity) == [name for name in MEANINGS if name in fidelity]
    ratios = ("perplexity_ratio", "ratio_per_symbol")
    for name in (*ratios, "ndcg1", "ndcg5", "correlation", "sign_agreement"):
        assert fidelity[name] == pytest.approx(1)
    bits = ("kl", "kl_per_symbol", "kl_per_word")
    for name in (*bits, "zeros", "relative_error", "max_error", "disagreement"):
        assert 0 <= fidelity[name] < 1e-12
    assert fidelity["perplexity"] == pytest.approx(fidelity["perplexity_box"])
    assert fidelity["wer"] == fidelity["wer_box"]


def test_every_metric_is_that_of_the_plain_functions(box, words, stochastic):
    wa = stochastic(3, seed=5)
    fidelity = compare(box, wa, words)
    f, g = box.weights(words), wa.weights(words)
    tree = PrefixTree.of(words)
    counts = tree.counts()
    visits = counts.sum(axis=1)
    p, q = box.next_symbol(tree.words()), wa.next_symbol(tree.words())
    expected = {
        "perplexity": word_metrics.perplexity(f, g),
        "perplexity_box": word_metrics.perplexity(f, f),
        "perplexity_ratio": word_metrics.perplexity(f, f) / word_metrics.perplexity(f, g),
        "kl": word_metrics.kl_divergence(f, g),
        "zeros": word_metrics.zeros(g),
        "log_error": word_metrics.log_error(f, g),
        "relative_error": word_metrics.relative_error(f, g),
        "max_error": word_metrics.max_error(f, g),
        "correlation": word_metrics.correlation(f, g),
        "sign_agreement": word_metrics.sign_agreement(f, g),
        "weight_agreement": word_metrics.weight_agreement(
            f, g, word_metrics.sizes_by_length(f, words.lengths, words.lengths)
        ),
        "ndcg1": next_symbol_metrics.ndcg(p, q, visits, 1),
        "ndcg5": next_symbol_metrics.ndcg(p, q, visits, 5),
        "wer": next_symbol_metrics.word_error_rate(q, counts),
        "wer_box": next_symbol_metrics.word_error_rate(p, counts),
        "disagreement": next_symbol_metrics.disagreement(p, q, visits),
        "kl_per_symbol": next_symbol_metrics.kl_per_symbol(p, q, visits),
        "kl_per_word": next_symbol_metrics.kl_per_word(p, q, counts),
        "ratio_per_symbol": 2 ** -next_symbol_metrics.kl_per_symbol(p, q, visits),
        "entropy_per_symbol": -(p * np.log2(p)).sum(axis=1) @ visits / visits.sum(),
    }
    assert {name: fidelity[name] for name in expected} == pytest.approx(expected)
    assert fidelity.n_words == len(words)
    assert fidelity.n_prefixes == visits.sum()


def exact_divergence(chain, single):
    """Return bits per word and per symbol: a chain's states are visited, each with one row."""
    moves = chain.transitions.sum(axis=0)
    visits = np.linalg.solve((np.eye(len(moves)) - moves).T, chain.initial)
    p = np.column_stack([chain.transitions.sum(axis=2).T, chain.final])
    q = np.append(single.transitions[:, 0, 0], single.final)
    bits = visits @ (p * np.log2(p / q)).sum(axis=1)
    return bits, bits / visits.sum()


def test_on_words_of_the_box_the_divergences_are_the_exact_ones_and_the_papers_is_not():
    chain = markov_chain([0.04, 0.05, 0.06, 0.05])
    single = WeightedAutomaton("abc", [1], [[[0.45]], [[0.3]], [[0.2]]], [0.05])
    per_word, per_symbol = exact_divergence(chain, single)
    words = chain.sample(2000, seed=np.random.default_rng(3), max_length=1000).words
    fidelity = compare(chain, single, words)
    for name, exact in (("kl_per_word", per_word), ("kl_per_symbol", per_symbol)):
        low, high = fidelity.intervals[name]
        assert low < exact < high
        assert fidelity[name] == pytest.approx(exact, rel=0.05)
    assert fidelity["ratio_per_symbol"] == pytest.approx(2 ** -fidelity["kl_per_symbol"])
    direct = np.log2(chain.weights(words)) - np.log2(single.weights(words))
    assert np.isfinite(direct).all()
    assert fidelity["kl_per_word"] == pytest.approx(direct.mean(), rel=0.1)
    assert fidelity["kl"] < per_word / 4  # a few short words carry it


def test_with_a_target_perplexities_are_against_it_and_the_rest_against_the_box(
    box, words, stochastic
):
    target, wa = stochastic(5, seed=8), stochastic(3, seed=5)
    plain, aimed = compare(box, wa, words), compare(box, wa, words, target=target)
    t, f, g = (m.weights(words) for m in (target, box, wa))
    assert aimed["perplexity"] == pytest.approx(word_metrics.perplexity(t, g))
    assert aimed["perplexity_box"] == pytest.approx(word_metrics.perplexity(t, f))
    assert aimed["kl"] == pytest.approx(word_metrics.kl_divergence(t, g))
    assert {n: aimed[n] for n in MEASURED if n not in PERPLEXITIES} == pytest.approx(
        {n: plain[n] for n in MEASURED if n not in PERPLEXITIES}
    )


def test_all_ranks_together_equal_each_truncation_by_itself(box, words, stochastic):
    wa = stochastic(40, seed=3)
    reference = Reference.query(box, words)
    ranks = [40, 1, 7, 2, 30, 7]
    table = compare_ranks(reference, wa, ranks)
    assert table.ranks == tuple(ranks)
    for rank, row in zip(ranks, table.rows(), strict=True):
        alone = reference.compare(wa.truncate(rank)).as_dict()
        assert row == pytest.approx({"rank": rank, **alone})
        assert table.at(rank).as_dict() == pytest.approx(alone)
        hidden = reference.compare(Steps(wa.truncate(rank)))
        assert hidden.as_dict() == pytest.approx(alone)
    assert table["ndcg5"].shape == (6,)
    assert len(table) == 6
    assert repr(table) == f"FidelityTable(ranks 40 … 7, {len(alone)} metrics)"


class Steps(OnlySteps):
    """A predicting stepper that is no WeightedAutomaton."""

    def state_next_symbol(self, states):
        return self.inner.state_next_symbol(states)


@pytest.mark.parametrize("hide", [OnlyWeights, OnlySteps])
def test_a_side_that_does_not_predict_leaves_out_the_next_symbols(box, words, hide):
    expected = WORD_METRICS | DISTRIBUTIONS
    assert set(compare(hide(box), box, words)) & MEASURED == expected
    fidelity = compare(box, hide(box), words)
    assert set(fidelity) & MEASURED == expected
    assert fidelity["max_error"] == pytest.approx(0, abs=1e-15)


def test_a_box_that_is_no_distribution_leaves_out_the_next_symbols(box, words):
    doubled = WeightedAutomaton("abc", 2 * box.initial, box.transitions, box.final)
    fidelity = compare(doubled, box, words)
    assert set(fidelity) & MEASURED == WORD_METRICS | DISTRIBUTIONS
    assert fidelity["relative_error"] == pytest.approx(0.5)
    assert fidelity["perplexity_ratio"] == pytest.approx(1)
    assert Reference.query(doubled, words).next_symbol is None
    with pytest.raises(ArgumentError, match="no metric 'ndcg5'"):
        fidelity["ndcg5"]


def test_an_automaton_that_is_no_distribution_is_still_compared_by_its_next_symbols(box, words):
    doubled = WeightedAutomaton("abc", 2 * box.initial, box.transitions, box.final)
    fidelity = compare(box, doubled, words)
    assert set(fidelity) >= MEASURED
    assert fidelity["kl_per_symbol"] == pytest.approx(0, abs=1e-12)
    assert fidelity["relative_error"] == pytest.approx(1)


def test_a_box_whose_answers_sum_to_more_than_1_has_no_perplexity():
    box = seqray.black_box(lambda words: [float("a" in w) for w in words], "ab")
    fidelity = compare(box, box, ["a", "b", "ab", "ba"])
    assert not {*PERPLEXITIES, "log_error"} & set(fidelity)


def test_words_that_occur_twice_count_once_for_that_sum():
    box = seqray.black_box(lambda words: [0.5 * (len(w) == 1) for w in words], "ab")
    assert "perplexity" in compare(box, box, ["a", "b", "a", "a"])


def test_no_target_is_for_classifiers():
    box = seqray.classifier(lambda words: [0.5] * len(words), "ab")
    with pytest.raises(ArgumentError, match="target: expected none for classifiers"):
        compare(box, box, ["a"], target=box)


def test_a_box_with_negative_answers_has_no_perplexity(words):
    box = black_box(lambda batch: [len(word) - 2.5 for word in batch], "abc")
    wa = WeightedAutomaton("abc", [1, -2.5], [[[1, 0], [0, 1]]] * 3, [0, 1])
    fidelity = compare(box, wa, words)
    assert set(fidelity) & MEASURED == WORD_METRICS
    with pytest.raises(ArgumentError, match=r"no metric 'kl' \(it makes no sense for this box\)"):
        fidelity["kl"]


def test_a_target_that_is_zero_everywhere_leaves_out_perplexities(box, words):
    nothing = black_box(lambda batch: [0] * len(batch), "abc")
    assert not PERPLEXITIES & set(compare(box, box, words, target=nothing))


def test_words_that_overflow_an_automaton_still_compare(box):
    wild = WeightedAutomaton("abc", [1.0], [[[1e3]]] * 3, [1.0])
    fidelity = compare(box, wild, ["a" * 300, "b"])
    assert all(np.isfinite(value) for value in fidelity.as_dict().values())


def test_a_prefix_without_weight_is_read_as_uniform():
    box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    dead = WeightedAutomaton("ab", [1], [[[0.0]], [[0.5]]], [0.5])
    fidelity = compare(box, dead, ["aa"])
    tree = PrefixTree.of(box.alphabet.words(["aa"]))
    p, q = box.next_symbol(tree.words()), dead.next_symbol(tree.words())
    assert fidelity["kl_per_symbol"] == pytest.approx(
        next_symbol_metrics.kl_per_symbol(p, q, np.ones(3))
    )


def test_a_language_model_is_compared_by_its_next_symbols(words):
    box = language_model(lambda prefixes: [[0.4, 0.3, 0.2, 0.1]] * len(prefixes), "abc")
    same = WeightedAutomaton("abc", [1], [[[0.4]], [[0.3]], [[0.2]]], [0.1])
    assert compare(box, same, words)["kl_per_symbol"] == pytest.approx(0, abs=1e-12)


def test_a_box_whose_next_symbols_are_no_numbers_is_named_with_the_prefix(box, words):
    class Broken(Steps):
        def state_next_symbol(self, states):
            return np.full((len(states.rows), 4), np.nan)

    with pytest.raises(BlackBoxError, match="Broken returned nan for the word 'λ'"):
        compare(Broken(box), box, words)


def test_alphabets_beyond_sixteen_bits_keep_their_symbols_apart():
    n = 2**16 + 2
    wa = WeightedAutomaton(range(n), [1.0], np.linspace(0, 1 / n, n)[:, None, None], [0.5])
    words = [[0], [2**16], [2**16 + 1], [1]]
    fidelity = compare(Steps(wa), wa, words)
    assert fidelity["kl_per_symbol"] == pytest.approx(0, abs=1e-9)
    assert fidelity["max_error"] == pytest.approx(0, abs=1e-15)


def test_other_alphabets_and_no_words_are_refused(box, words):
    with pytest.raises(ArgumentError, match="same symbols in the same order"):
        compare(box, WeightedAutomaton("ab", [1], [[[0.5]], [[0.1]]], [1]), words)
    with pytest.raises(ArgumentError, match="at least one word"):
        compare(box, box, [])
