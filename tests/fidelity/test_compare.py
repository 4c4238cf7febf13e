"""Comparing a box with automata: every way to the same numbers, and what is left out when."""

import numpy as np
import pytest

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.sampling import sample
from seqray.automata.tree import PrefixTree
from seqray.blackbox.native.function import black_box, language_model
from seqray.fidelity import metrics
from seqray.fidelity.compare import (
    MEANINGS,
    Fidelity,
    FidelityTable,
    Reference,
    compare,
    compare_ranks,
)
from seqray.util.errors import ArgumentError, BlackBoxError, RankError

WORD_METRICS = {
    *("relative_error", "max_error", "correlation", "sign_agreement", "weight_agreement"),
}
PERPLEXITIES = {"perplexity", "perplexity_box", "perplexity_ratio", "kl", "zeros"}
DISTRIBUTIONS = PERPLEXITIES | {"log_error"}

MEASURED = [name for name in MEANINGS if name not in ("apart", "elsewhere")]


def stochastic(n_states: int, seed: int) -> WeightedAutomaton:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(3 * n_states + 1, 0.5), size=n_states)
    transitions = rows[:, :-1].reshape(n_states, 3, n_states).transpose(1, 0, 2)
    return WeightedAutomaton("abc", rng.dirichlet(np.ones(n_states)), transitions, rows[:, -1])


@pytest.fixture
def box() -> WeightedAutomaton:
    return stochastic(4, seed=0)


@pytest.fixture
def words(box):
    return box.sample(300, seed=np.random.default_rng(1), max_length=30).words


class OnlyWeights:
    """A box that hides everything but the weights of words, and counts the questions."""

    def __init__(self, inner):
        self.inner, self.alphabet, self.n_asked = inner, inner.alphabet, 0

    def weights(self, words):
        self.n_asked += len(words)
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
    assert list(fidelity) == MEASURED
    for name in ("perplexity_ratio", "ndcg1", "ndcg5", "correlation", "sign_agreement"):
        assert fidelity[name] == pytest.approx(1)
    for name in ("kl", "zeros", "relative_error", "max_error", "disagreement", "kl_per_symbol"):
        assert fidelity[name] == pytest.approx(0, abs=1e-12)
    assert fidelity["perplexity"] == pytest.approx(fidelity["perplexity_box"])
    assert fidelity["wer"] == fidelity["wer_box"]


def test_every_metric_is_that_of_the_plain_functions(box, words):
    wa = stochastic(3, seed=5)
    fidelity = compare(box, wa, words)
    f, g = box.weights(words), wa.weights(words)
    tree = PrefixTree.of(words)
    counts = tree.counts()
    visits = counts.sum(axis=1)
    p, q = box.next_symbol(tree.words()), wa.next_symbol(tree.words())
    expected = {
        "perplexity": metrics.perplexity(f, g),
        "perplexity_box": metrics.perplexity(f, f),
        "perplexity_ratio": metrics.perplexity(f, f) / metrics.perplexity(f, g),
        "kl": metrics.kl_divergence(f, g),
        "zeros": metrics.zeros(g),
        "log_error": metrics.log_error(f, g),
        "relative_error": metrics.relative_error(f, g),
        "max_error": metrics.max_error(f, g),
        "correlation": metrics.correlation(f, g),
        "sign_agreement": metrics.sign_agreement(f, g),
        "weight_agreement": metrics.weight_agreement(
            f, g, metrics.sizes_by_length(f, words.lengths, words.lengths)
        ),
        "ndcg1": metrics.ndcg(p, q, visits, 1),
        "ndcg5": metrics.ndcg(p, q, visits, 5),
        "wer": metrics.word_error_rate(q, counts),
        "wer_box": metrics.word_error_rate(p, counts),
        "disagreement": metrics.disagreement(p, q, visits),
        "kl_per_symbol": metrics.kl_per_symbol(p, q, visits),
    }
    assert fidelity.as_dict() == pytest.approx(expected)
    assert fidelity.n_words == len(words)
    assert fidelity.n_prefixes == visits.sum()


def test_with_a_target_perplexities_are_against_it_and_the_rest_against_the_box(box, words):
    target, wa = stochastic(5, seed=8), stochastic(3, seed=5)
    plain, aimed = compare(box, wa, words), compare(box, wa, words, target=target)
    t, f, g = (m.weights(words) for m in (target, box, wa))
    assert aimed["perplexity"] == pytest.approx(metrics.perplexity(t, g))
    assert aimed["perplexity_box"] == pytest.approx(metrics.perplexity(t, f))
    assert aimed["kl"] == pytest.approx(metrics.kl_divergence(t, g))
    assert {n: aimed[n] for n in MEASURED if n not in PERPLEXITIES} == pytest.approx(
        {n: plain[n] for n in MEASURED if n not in PERPLEXITIES}
    )


def test_all_ranks_together_equal_each_truncation_by_itself(box, words):
    wa = stochastic(40, seed=3)
    reference = Reference.ask(box, words)
    ranks = [40, 1, 7, 2, 30, 7]
    table = compare_ranks(reference, wa, ranks)
    assert table.ranks == tuple(ranks)
    for rank, row in zip(ranks, table.rows(), strict=True):
        alone = reference.compare(wa.truncate(rank)).as_dict()
        assert row == pytest.approx({"rank": rank, **alone})
        assert table.at(rank).as_dict() == pytest.approx(alone)
        hidden = reference.compare(_Steps(wa.truncate(rank)))
        assert hidden.as_dict() == pytest.approx(alone)
    assert table["ndcg5"].shape == (6,)
    assert len(table) == 6
    assert repr(table) == "FidelityTable(ranks 40 … 7, 17 metrics)"


class _Steps(OnlySteps):
    """A predicting stepper that is no WeightedAutomaton."""

    def state_next_symbol(self, states):
        return self.inner.state_next_symbol(states)


def test_a_table_of_no_ranks_is_empty_and_knows_no_rank(box, words):
    table = compare_ranks(Reference.ask(box, words), box, [])
    assert repr(table) == "FidelityTable(no ranks, 0 metrics)"
    with pytest.raises(RankError, match="rank 3 was not compared"):
        table.at(3)


def test_a_reference_asks_the_box_about_each_word_once(box, words):
    asked = OnlyWeights(box)
    reference = Reference.ask(asked, words)
    for rank in (1, 2):
        reference.compare(box.truncate(rank))
    assert asked.n_asked == len(set(words)) < len(words)
    np.testing.assert_allclose(reference.weights, box.weights(words), rtol=1e-12)
    assert repr(reference) == f"Reference(300 words, {reference.n_prefixes} prefixes)"


@pytest.mark.parametrize("hide", [OnlyWeights, OnlySteps])
def test_a_side_that_does_not_predict_leaves_out_the_next_symbols(box, words, hide):
    expected = WORD_METRICS | DISTRIBUTIONS
    assert set(compare(hide(box), box, words)) == expected
    fidelity = compare(box, hide(box), words)
    assert set(fidelity) == expected
    assert fidelity["max_error"] == pytest.approx(0, abs=1e-15)


def test_a_box_that_is_no_distribution_leaves_out_the_next_symbols(box, words):
    doubled = WeightedAutomaton("abc", 2 * box.initial, box.transitions, box.final)
    fidelity = compare(doubled, box, words)
    assert set(fidelity) == WORD_METRICS | DISTRIBUTIONS
    assert fidelity["relative_error"] == pytest.approx(0.5)
    assert fidelity["perplexity_ratio"] == pytest.approx(1)
    assert Reference.ask(doubled, words).next_symbol is None
    with pytest.raises(ArgumentError, match="no metric 'ndcg5'"):
        fidelity["ndcg5"]


def test_an_automaton_that_is_no_distribution_is_still_compared_by_its_next_symbols(box, words):
    doubled = WeightedAutomaton("abc", 2 * box.initial, box.transitions, box.final)
    fidelity = compare(box, doubled, words)
    assert set(fidelity) == set(MEASURED)
    assert fidelity["kl_per_symbol"] == pytest.approx(0, abs=1e-12)
    assert fidelity["relative_error"] == pytest.approx(1)


def test_a_box_with_negative_answers_has_no_perplexity(words):
    box = black_box(lambda batch: [len(word) - 2.5 for word in batch], "abc")
    wa = WeightedAutomaton("abc", [1, -2.5], [[[1, 0], [0, 1]]] * 3, [0, 1])
    fidelity = compare(box, wa, words)
    assert set(fidelity) == WORD_METRICS
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
    assert fidelity["kl_per_symbol"] == pytest.approx(metrics.kl_per_symbol(p, q, np.ones(3)))


def test_a_language_model_is_compared_by_its_next_symbols(words):
    box = language_model(lambda prefixes: [[0.4, 0.3, 0.2, 0.1]] * len(prefixes), "abc")
    same = WeightedAutomaton("abc", [1], [[[0.4]], [[0.3]], [[0.2]]], [0.1])
    assert compare(box, same, words)["kl_per_symbol"] == pytest.approx(0, abs=1e-12)


def test_a_box_whose_next_symbols_are_no_numbers_is_named_with_the_prefix(box, words):
    class Broken(_Steps):
        def state_next_symbol(self, states):
            return np.full((len(states.rows), 4), np.nan)

    with pytest.raises(BlackBoxError, match="Broken returned nan for the word 'λ'"):
        compare(Broken(box), box, words)


def test_alphabets_beyond_sixteen_bits_keep_their_symbols_apart():
    n = 2**16 + 2
    wa = WeightedAutomaton(range(n), [1.0], np.linspace(0, 1 / n, n)[:, None, None], [0.5])
    words = [[0], [2**16], [2**16 + 1], [1]]
    fidelity = compare(_Steps(wa), wa, words)
    assert fidelity["kl_per_symbol"] == pytest.approx(0, abs=1e-9)
    assert fidelity["max_error"] == pytest.approx(0, abs=1e-15)


def test_other_alphabets_and_no_words_are_refused(box, words):
    with pytest.raises(ArgumentError, match="same symbols in the same order"):
        compare(box, WeightedAutomaton("ab", [1], [[[0.5]], [[0.1]]], [1]), words)
    with pytest.raises(ArgumentError, match="at least one word"):
        compare(box, box, [])


def test_an_unknown_metric_lists_near_ones():
    fidelity = Fidelity({"ndcg1": 0.5, "ndcg5": 0.25, "wer": 1.0}, 1, 2)
    with pytest.raises(ArgumentError, match="no metric 'ndgc5'; there are: ndcg5, ndcg1"):
        fidelity["ndgc5"]
    with pytest.raises(ArgumentError, match="there are: ndcg1, ndcg5, wer"):
        fidelity["?"]
    assert "wer" in fidelity
    assert "kl" not in fidelity


def test_a_fidelity_prints_as_an_aligned_table(box, words):
    lines = str(compare(box, box, words)).splitlines()
    assert len(lines) == len(MEASURED) + 1
    at = {line.index(MEANINGS[name]) for name, line in zip(MEASURED, lines, strict=False)}
    assert len(at) == 1
    assert lines[-1].startswith("300 words, ")
    assert str(Fidelity({}, 0, 0)) == "0 words, 0 prefixes"


# Words drawn from the box -------------------------------------------------------------------------


class Counted:
    """A box with states that counts its steps, and may take few at a time."""

    def __init__(self, box, max_states=None):
        self.box, self.alphabet, self.n_steps = box, box.alphabet, 0
        self.max_states = max_states
        self.start, self.weights = box.start, box.weights
        self.state_weights, self.state_next_symbol = box.state_weights, box.state_next_symbol

    def step(self, states, parents, symbols):
        self.n_steps += len(parents)
        return self.box.step(states, parents, symbols)


@pytest.mark.parametrize("max_length", [1, 3, 100])
def test_what_is_said_while_words_are_drawn_is_what_is_said_of_them(max_length):
    machine = stochastic(4, seed=1)
    box = Counted(machine)
    drawn = Reference.draw(box, 200, seed=np.random.default_rng(2), max_length=max_length)
    words, _ = sample(machine, 200, seed=np.random.default_rng(2), max_length=max_length)
    assert drawn.words == words
    assert box.n_steps == len(drawn.tree) - 1
    asked = Reference.ask(machine, words)
    np.testing.assert_allclose(drawn.weights, asked.weights, rtol=1e-12)
    np.testing.assert_allclose(drawn.next_symbol, asked.next_symbol, rtol=1e-12)


def test_words_are_drawn_as_many_at_a_time_as_a_box_takes():
    machine = stochastic(4, seed=1)
    few = Reference.draw(Counted(machine, 7), 50, seed=np.random.default_rng(2), max_length=9)
    asked = Reference.ask(machine, few.words)
    assert len(few.weights) == 50
    np.testing.assert_allclose(few.next_symbol, asked.next_symbol, rtol=1e-12)


def test_references_are_joined_in_their_order():
    machine = stochastic(4, seed=1)
    words = machine.sample(60, seed=np.random.default_rng(3)).words
    parts = [Reference.ask(machine, words[begin : begin + 20]) for begin in (0, 20, 40)]
    joined, whole = Reference.joined(parts), Reference.ask(machine, words)
    assert joined.words == words
    np.testing.assert_allclose(joined.weights, whole.weights, rtol=1e-12)
    np.testing.assert_allclose(joined.next_symbol, whole.next_symbol, rtol=1e-12)
    assert Reference.joined(parts[:1]) is parts[0]


def test_a_box_that_says_nonsense_while_words_are_drawn_is_named():
    box = Counted(stochastic(4, seed=1))
    real = box.state_next_symbol
    box.state_next_symbol = lambda states: np.where(real(states) > 0.3, np.nan, real(states))
    with pytest.raises(BlackBoxError, match="the Counted returned nan for the word"):
        Reference.draw(box, 50, seed=np.random.default_rng(0), max_length=5)


# As mappings --------------------------------------------------------------------------------------


def test_a_fidelity_is_a_mapping_from_metrics():
    fidelity = Fidelity({"ndcg5": 0.5, "wer": 0.25}, 2, 9)
    assert dict(fidelity) == {**fidelity} == fidelity.as_dict() == {"ndcg5": 0.5, "wer": 0.25}
    assert list(fidelity) == list(fidelity.keys()) == ["ndcg5", "wer"]
    assert list(fidelity.values()) == [0.5, 0.25]
    assert list(fidelity.items()) == [("ndcg5", 0.5), ("wer", 0.25)]
    assert (len(fidelity), fidelity.get("wer"), fidelity.get("zeros", 7)) == (2, 0.25, 7)
    assert "wer" in fidelity
    assert "zeros" not in fidelity
    assert fidelity == {"ndcg5": 0.5, "wer": 0.25}


def test_a_table_is_a_mapping_from_ranks():
    rows = [Fidelity({"wer": value}, 2, 9) for value in (0.5, 0.25)]
    table = FidelityTable((3, 5), tuple(rows))
    assert table[5] is table.at(5) is rows[1]
    assert table[np.int64(3)] is rows[0]
    assert list(table) == [3, 5]
    assert dict(table) == {3: rows[0], 5: rows[1]}
    assert [fidelity["wer"] for fidelity in table.values()] == table["wer"].tolist() == [0.5, 0.25]
    assert 3 in table
    assert 4 not in table
    assert table.get(4) is None


@pytest.mark.parametrize("key", [4, 0, -1, "wrr", 2.5, None])
def test_a_rank_or_metric_that_is_not_there_is_an_error_of_both_kinds(key):
    table = FidelityTable((3, 5), (Fidelity({"wer": 0.5}, 2, 9),) * 2)
    for kind in (KeyError, ArgumentError):
        with pytest.raises(
            kind, match=r"^(rank .* was not compared: expected|no metric 'wrr'; there)"
        ):
            table[key]
    with pytest.raises(KeyError, match=r"^no metric"):
        table[3][key]
