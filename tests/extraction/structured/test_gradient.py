import numpy as np
import pytest

from seqray.automata.tree_batches import Corpus
from seqray.extraction.structured import batches
from seqray.extraction.structured.batches import GroupedCorpus
from seqray.extraction.structured.gradient import (
    FitNumbers,
    gradient,
    predictions,
    tables,
)
from structured_fits import random_layout, random_numbers, random_words, slow_predictions

STEP = 1e-5

# seed, position classes, whether the box leaks, the share of pairs that remember
CASES = [(0, 1, False, 0.6), (1, 2, True, 0.5), (2, 2, False, 1.0), (3, 3, True, 0.0)]


class Case:
    """A batch of words, a layout, logarithms, and what follows each node of the tree."""

    def __init__(self, seed, n_classes, leaks, remembered):
        words = random_words(30, seed=seed, max_length=5)
        self.layout = random_layout(
            seed, words=words, n_classes=n_classes, leaks=leaks, remembered=remembered
        )
        self.logarithms = random_numbers(self.layout, seed)
        self.grouped = GroupedCorpus(self.layout, Corpus(words))
        self.columns = self.grouped.table.columns(self.layout)
        self.words = np.arange(8)
        self.batch = self.grouped.batch(self.words)
        n_nodes = len(self.grouped.corpus.tree)
        rows = np.random.default_rng(seed).dirichlet(np.ones(self.layout.n_outcomes), n_nodes)
        self.rows = rows.astype(np.float32)

    def gradient(self):
        known = tables(self.logarithms, self.columns)
        return gradient(self.layout, known, self.batch, self.rows)

    def slow_loss(self, logarithms):
        """Return the mean cross-entropy over all prefixes of all words, one by one."""
        losses = []
        tree = self.grouped.corpus.tree
        for at in self.words.tolist():
            path = [int(tree.node_of_word[at])]
            while path[0]:
                path.insert(0, int(tree.parent[path[0]]))
            predicted = slow_predictions(self.layout, logarithms, tree.symbol[path[1:]].tolist())
            losses += list(-(self.rows[path] * np.log(predicted)).sum(axis=1))
        return np.mean(losses)


@pytest.fixture(params=CASES)
def case(request):
    return Case(*request.param)


def test_cases_have_all_that_a_layout_can_have():
    layouts = [Case(*each).layout for each in CASES]
    assert {layout.n_classes for layout in layouts} == {1, 2, 3}
    assert all(len(layout.contexts) > 3 and layout.max_size > 1 for layout in layouts)
    some = layouts[1]
    assert some.remembers.any()
    assert not some.remembers.all()
    assert some.n_outcomes == some.n_symbols + 2


def test_predictions_are_those_of_reading_symbol_after_symbol(case):
    known = tables(case.logarithms, case.columns)
    predicted = predictions(case.layout, known, case.batch)
    words = case.grouped.corpus.tree.words(case.batch.nodes)
    for row, word in zip(predicted, words, strict=True):
        slow = slow_predictions(case.layout, case.logarithms, list(word))[-1]
        np.testing.assert_allclose(row, slow, rtol=2e-5)


def test_the_loss_is_that_of_a_loop_over_words(case):
    assert case.gradient()[0] == pytest.approx(case.slow_loss(case.logarithms), rel=1e-5)


@pytest.mark.parametrize("name", FitNumbers._fields)
def test_the_gradient_is_that_of_finite_differences(case, name):
    slopes = getattr(case.gradient()[1], name)
    logarithms = FitNumbers(*(each.astype(np.float64) for each in case.logarithms))
    numbers = getattr(logarithms, name)
    rng = np.random.default_rng(0)
    for _ in range(8):
        direction = rng.normal(size=numbers.shape)
        losses = [
            case.slow_loss(logarithms._replace(**{name: numbers + step * direction}))
            for step in (STEP, -STEP)
        ]
        expected = (losses[0] - losses[1]) / (2 * STEP)
        assert (slopes * direction).sum() == pytest.approx(expected, rel=2e-4, abs=2e-6)


def test_the_gradient_is_that_of_finite_differences_number_by_number():
    case = Case(*CASES[1])
    logarithms = FitNumbers(*(each.astype(np.float64) for each in case.logarithms))
    rng = np.random.default_rng(1)
    for numbers, slopes in zip(logarithms, case.gradient()[1], strict=True):
        flat, slope = numbers.reshape(-1), slopes.reshape(-1)
        for at in rng.permutation(len(flat))[:30]:
            losses = []
            for step in (STEP, -2 * STEP):
                flat[at] += step
                losses.append(case.slow_loss(logarithms))
            flat[at] += STEP
            expected = (losses[0] - losses[1]) / (2 * STEP)
            assert slope[at] == pytest.approx(expected, rel=2e-4, abs=1e-6)


def test_a_gradient_by_logarithms_sums_to_0_over_what_sums_to_1(case):
    slopes = case.gradient()[1]
    np.testing.assert_allclose(slopes.emission.sum(axis=1), 0, atol=1e-6)
    assert slopes.begin.sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(slopes.moves.sum(axis=2), 0, atol=1e-6)
    np.testing.assert_allclose(slopes.entry.sum(axis=1), 0, atol=1e-6)


def test_what_is_beyond_the_states_of_a_context_stays_as_it_is(case):
    _, slopes = case.gradient()
    for numbers, slope in zip(case.logarithms, slopes, strict=True):
        assert not slope[np.isneginf(numbers)].any()


def test_few_and_many_nodes_of_a_matrix_are_multiplied_alike(monkeypatch):
    results = []
    for max_copied in (0, 10**9):
        monkeypatch.setattr(batches, "MAX_COPIED_NUMBERS", max_copied)
        case = Case(*CASES[0])
        case.batch = case.grouped.batch(np.arange(30))
        assert any(level.runs for level in case.batch.levels) == (max_copied == 0)
        results.append(case.gradient())
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    for one, other in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_all_words_together_have_the_mean_gradient_of_their_batches():
    case = Case(*CASES[1])
    whole = case.gradient()
    parts = []
    for some in (case.words[:3], case.words[3:]):
        case.batch = case.grouped.batch(some)
        lengths = [len(case.grouped.corpus.words[int(at)]) + 1 for at in some]
        parts.append((sum(lengths), *case.gradient()))
    total = sum(n for n, _, _ in parts)
    assert whole[0] == pytest.approx(sum(n * loss for n, loss, _ in parts) / total, rel=1e-5)
    for i, slopes in enumerate(whole[1]):
        mean = sum(n * each[i] for n, _, each in parts) / total
        np.testing.assert_allclose(slopes, mean, atol=1e-6)


def test_what_is_impossible_for_the_automaton_keeps_the_gradient_finite():
    case = Case(*CASES[0])
    case.logarithms.emission[:, 0] = -200
    loss, slopes = case.gradient()
    assert np.isfinite(loss)
    assert all(np.isfinite(each).all() for each in slopes)
